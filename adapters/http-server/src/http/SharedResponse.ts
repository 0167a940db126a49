import type { Stream } from "effect"
import { HttpServerResponse } from "effect/http"

type Options = {
  readonly status?: number
  readonly contentType: string
  readonly headers?: Readonly<Record<string, string>>
}

/** What a streamed response holds for a slow reader, in bytes: what is read, encoded, compressed and buffered at a time. */
const STREAMED_BYTES = 2 * 1024 * 1024

/** A response that is the same for everybody. All connections share its bytes, whereas a text is encoded for each of them. */
export const sharedResponse = (text: string, options: Options): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.uint8Array(new TextEncoder().encode(text), options)

/** Bodies of bytes that exist for one request alone. */
const unsharedBodies = new WeakSet<object>()

/** A response whose bytes exist for one request alone. */
export const unsharedResponse = (
  bytes: Uint8Array,
  options: Options
): HttpServerResponse.HttpServerResponse => {
  const response = HttpServerResponse.uint8Array(bytes, options)
  unsharedBodies.add(response.body)
  return response
}

/** A response that is made while it is sent. */
export const streamedResponse = (
  stream: Stream.Stream<Uint8Array, unknown>,
  options: Options
): HttpServerResponse.HttpServerResponse => HttpServerResponse.stream(stream, options)

/** The bytes of a response that exist for one request alone, and until it has been read. */
export const unsharedBytes = ({ body }: HttpServerResponse.HttpServerResponse): number => {
  if (body._tag === "Stream") return STREAMED_BYTES
  if (body._tag !== "Uint8Array") return 0
  return body.text !== undefined || unsharedBodies.has(body) ? body.contentLength : 0
}
