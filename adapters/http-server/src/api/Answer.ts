import type { WriteResult } from "@svc/domain/engine/WriteRequest"
import type { Stream } from "effect"

/** JSON text that is sent byte for byte. */
export class JsonText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Bytes that are sent as they are. */
export class BodyBytes {
  readonly bytes: Uint8Array
  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
}

/** A body that is made while it is sent, at the pace of its reader. A failure closes the connection. */
export class BodyStream {
  readonly stream: Stream.Stream<Uint8Array, unknown>
  constructor(stream: Stream.Stream<Uint8Array, unknown>) {
    this.stream = stream
  }
}

/** The body of a response: a resource, or what is sent without any further encoding. */
export type AnswerBody<A> = A | JsonText | BodyBytes | BodyStream

/** The response of a route. Status and media type follow from the endpoint's declaration. */
export interface Answer<A> {
  readonly body: AnswerBody<A>
  /** Response headers, in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** The caller has this representation: 304, without the body. */
  readonly notModified?: boolean
}

export const answer = <A>(body: AnswerBody<A>): Answer<A> => ({ body })

/** The response to a lifecycle write; a replay is marked in the headers (part 3). */
export const writeAnswer = <A>(
  { replayed, resource }: WriteResult<A>,
  headers: Readonly<Record<string, string>> = {}
): Answer<A> => ({
  body: resource,
  headers: replayed ? { ...headers, "idempotency-replayed": "true" } : headers
})
