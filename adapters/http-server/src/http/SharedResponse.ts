import { HttpServerResponse } from "effect/http"

/** A response that is the same for everybody. All connections share its bytes, whereas a text is encoded for each of them. */
export const sharedResponse = (
  text: string,
  options: { readonly contentType: string; readonly headers?: Readonly<Record<string, string>> }
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.uint8Array(new TextEncoder().encode(text), options)

/** The bytes of a response that exist for one request alone, and until it has been read. */
export const unsharedBytes = ({ body }: HttpServerResponse.HttpServerResponse): number =>
  body._tag === "Uint8Array" && body.text !== undefined ? body.contentLength : 0
