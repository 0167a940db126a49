import type { WriteResult } from "@svc/domain/engine/WriteRequest"

/** JSON text that is sent byte for byte. */
export class JsonText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** The response of a route. Status and media type follow from the endpoint's declaration. */
export interface Answer<A> {
  readonly body: A | JsonText
  /** Response headers, in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** The caller has this representation: 304, without the body. */
  readonly notModified?: boolean
}

export const answer = <A>(body: A | JsonText): Answer<A> => ({ body })

/** The response to a lifecycle write; a replay is marked in the headers (part 3). */
export const writeAnswer = <A>(
  { replayed, resource }: WriteResult<A>,
  headers: Readonly<Record<string, string>> = {}
): Answer<A> => ({
  body: resource,
  headers: replayed ? { ...headers, "idempotency-replayed": "true" } : headers
})
