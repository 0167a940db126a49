import { IncomingMessage } from "node:http"
import { MAX_BODY_BYTES } from "@svc/protocol/request/MaxBodyBytes"
import { parseRequestBody, type RequestBody } from "@svc/protocol/request/RequestBody"
import { ByteSize, Effect, Result } from "effect"
import { type Headers, HttpIncomingMessage, type HttpServerError, type HttpServerRequest } from "effect/http"
import { Refused } from "../http/ProblemResponse.ts"

/** Whether a request has a body: by its headers or, for one that came over no socket and needs none, by itself. */
export const hasBody = ({ headers, source }: HttpServerRequest.HttpServerRequest): boolean =>
  headers["transfer-encoding"] !== undefined ||
  Number(headers["content-length"] ?? 0) > 0 ||
  (source instanceof Request && source.body !== null)

const JSON_MEDIA_TYPE = /^application\/json\s*(?:;|$)/iu
const CHARSET = /;\s*charset\s*=\s*"?([^\s";]*)/iu

/**
 * The refusal (415) of a body that is not announced as uncompressed `application/json` in UTF-8, or `undefined` (part 1).
 * Other parameters of the media type are ignored.
 */
export const checkMediaType = (headers: Headers.Headers): Refused | undefined => {
  const contentType = headers["content-type"]
  if (contentType === undefined || !JSON_MEDIA_TYPE.test(contentType)) {
    return new Refused({ code: "unsupported_media_type" })
  }
  const charset = CHARSET.exec(contentType)?.[1]
  if (charset !== undefined && !/^utf-?8$/iu.test(charset)) {
    return new Refused({ code: "unsupported_media_type", detail: "The charset of a body must be utf-8." })
  }
  return checkEncoding(headers)
}

const checkEncoding = (headers: Headers.Headers): Refused | undefined => {
  const contentEncoding = headers["content-encoding"] ?? ""
  const transferEncoding = headers["transfer-encoding"] ?? "chunked"
  if (/^(?:identity)?$/iu.test(contentEncoding.trim()) && /^chunked$/iu.test(transferEncoding.trim())) {
    return undefined
  }
  return new Refused({ code: "unsupported_media_type", detail: "A body must not be compressed." })
}

/** The connection is closed, since the rest of the body will not be read. */
const tooLarge = new Refused({ code: "payload_too_large", headers: { connection: "close" } })

/** Reads a body of at most `MAX_BODY_BYTES`; a longer one is refused (413) as soon as that is known. */
export const readBody = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<Uint8Array, Refused> => {
  if (Number(request.headers["content-length"] ?? 0) > MAX_BODY_BYTES) return Effect.fail(tooLarge)
  if (isReadAlready(request.source))
    return Effect.andThen(Effect.logError(BODY_READ_BEFORE), Effect.fail(readBefore))
  // A client that expects 100 Continue is sent it by the general way of reading.
  return request.source instanceof IncomingMessage && request.headers.expect === undefined
    ? readIncoming(request.source)
    : request.arrayBuffer.pipe(
        Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(MAX_BODY_BYTES)),
        Effect.mapBoth({ onSuccess: (buffer) => new Uint8Array(buffer), onFailure: bodyRefusal })
      )
}

/** Reads the body of a Node request. What is not read of it any more is discarded, for the sake of the connection. */
const readIncoming = (message: IncomingMessage): Effect.Effect<Uint8Array, Refused> =>
  Effect.callback((resume) => {
    if (message.destroyed) return resume(Effect.fail(brokenOff))
    const { socket } = message
    const chunks: Array<Buffer> = []
    let bytes = 0
    const stop = () => {
      message.off("data", onData).off("end", onEnd).off("error", onBreak).off("close", onBreak)
      socket.off("close", onBreak)
    }
    const discard = () => {
      stop()
      message.on("error", () => undefined).resume()
    }
    const onData = (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes <= MAX_BODY_BYTES) return
      discard()
      resume(Effect.fail(tooLarge))
    }
    const onEnd = () => {
      stop()
      resume(Effect.succeed(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    }
    const onBreak = () => {
      stop()
      resume(Effect.fail(brokenOff))
    }
    message.on("data", onData).on("end", onEnd).on("error", onBreak).on("close", onBreak)
    // A message whose response was sent meanwhile, because it does not parse, does not close with its socket.
    socket.on("close", onBreak)
    return Effect.sync(discard)
  })

/** Whether something in front of the service, such as a body parser of its host, has read the body. */
const isReadAlready = (source: object): boolean =>
  source instanceof IncomingMessage ? source.readableEnded : source instanceof Request && source.bodyUsed

const BODY_READ_BEFORE =
  "The body was read before the request came to this service: mount it in front of every body parser of its host."

/** Not an internal error, which callers repeat: until the host is changed, every repetition fails the same way. */
const readBefore = new Refused({ code: "malformed_request", detail: BODY_READ_BEFORE })

const brokenOff = new Refused({
  code: "malformed_request",
  detail: "The body broke off or is not framed correctly.",
  headers: { connection: "close" }
})

const bodyRefusal = (error: HttpServerError.HttpServerError): Refused => {
  const reason = error.reason
  if (reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge") return tooLarge
  return brokenOff
}

/**
 * Parses a body (part 1): 400 `malformed_json` for anything but the accepted JSON, also for no bytes at all, and 422
 * `validation_failed` for strings that are not well-formed Unicode.
 */
export const parseBody = (bytes: Uint8Array): Result.Result<RequestBody, Refused> =>
  Result.mapError(parseRequestBody(bytes), (fault) =>
    fault._tag === "MalformedJson"
      ? new Refused({ code: "malformed_json", detail: fault.detail })
      : new Refused({ code: "validation_failed", errors: fault.errors })
  )
