import { HttpServerResponse } from "effect/http"

/**
 * An answer that is the same for everybody. Its bytes are kept once and sent without a copy, however many connections wait
 * for them; a text would be encoded anew for each.
 */
export const keptResponse = (
  text: string,
  options: { readonly contentType: string; readonly headers?: Readonly<Record<string, string>> }
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.uint8Array(new TextEncoder().encode(text), options)

/** Bytes that an answer holds until it is read, beyond what is kept anyway: a text is made for one request. */
export const bytesMadeForOne = ({ body }: HttpServerResponse.HttpServerResponse): number =>
  body._tag === "Uint8Array" && body.text !== undefined ? body.contentLength : 0
