import type { WriteResult } from "@svc/domain/engine/WriteRequest"

/** JSON that is sent as it is, byte for byte. */
export class JsonText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** What a route answers; its status and media type are those of the endpoint's declaration. */
export interface Answer<A> {
  readonly body: A | JsonText
  /** Response headers, in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** The caller has this representation already: 304, without the body. */
  readonly notModified?: boolean
}

/** A plain success. */
export const answer = <A>(body: A | JsonText): Answer<A> => ({ body })

/** The answer to a lifecycle write: a replay says so (part 3). */
export const written = <A>(
  { replayed, resource }: WriteResult<A>,
  headers: Readonly<Record<string, string>> = {}
): Answer<A> => ({
  body: resource,
  headers: replayed ? { ...headers, "idempotency-replayed": "true" } : headers
})
