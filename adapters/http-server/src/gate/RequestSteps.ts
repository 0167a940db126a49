import { emptyBodyFaults } from "@svc/protocol/request/DecodeBody"
import { EMPTY_BODY, type RequestBody } from "@svc/protocol/request/RequestBody"
import { Effect, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { Refused } from "../http/ProblemResponse.ts"
import { accepts } from "./Accept.ts"
import { parseQuery } from "./QueryString.ts"
import { checkMediaType, hasBody, parseBody, readBody } from "./StrictBody.ts"

/*
 * The checks that the gates of the API, the approval pages and the documents are composed of. Each gate decides their order,
 * which is the precedence of problems (part 2).
 */

type Request = HttpServerRequest.HttpServerRequest

/** `malformed_request`, about the query. */
export const malformedQuery = (detail: string): Refused => new Refused({ code: "malformed_request", detail })

/** The detail of a query that is sent where none is taken. */
export const NO_QUERY_DETAIL = "This route takes no query."

/** Refuses a query with any parameter, or a malformed one; a lone question mark passes. */
export const refuseParameters = (request: Request): Effect.Effect<void, Refused> => {
  const query = parseQuery(request.url)
  return query !== undefined && Object.keys(query).length === 0
    ? Effect.void
    : Effect.fail(malformedQuery(NO_QUERY_DETAIL))
}

/** Refuses any query, even a lone question mark. */
export const refuseQuery = (request: Request): Effect.Effect<void, Refused> =>
  request.url.includes("?") ? Effect.fail(malformedQuery(NO_QUERY_DETAIL)) : Effect.void

/** Refuses a request whose `Accept` header excludes the route's media type. */
export const requireAcceptable = (request: Request, mediaType: string): Effect.Effect<void, Refused> =>
  accepts(request.headers.accept, mediaType)
    ? Effect.void
    : Effect.fail(new Refused({ code: "not_acceptable" }))

const NO_BYTES = new Uint8Array(0)

/** When the media type is checked: for a body alone, for a `Content-Type` without a body too, or always. */
export type MediaTypeCheck = "with-body" | "if-named" | "always"

const isMediaTypeChecked = (request: Request, check: MediaTypeCheck): boolean =>
  check === "always" ||
  hasBody(request) ||
  (check === "if-named" && request.headers["content-type"] !== undefined)

/** Checks media type and encoding, then reads the body within its size limit. A request without a body gives no bytes. */
export const readCheckedBody = (
  request: Request,
  check: MediaTypeCheck
): Effect.Effect<Uint8Array, Refused> => {
  const refused = isMediaTypeChecked(request, check) ? checkMediaType(request.headers) : undefined
  if (refused !== undefined) return Effect.fail(refused)
  return hasBody(request) ? readBody(request) : Effect.succeed(NO_BYTES)
}

/** Parses a body that has no members: no bytes and `{}` are the same input (part 1). */
export const parseEmptyBody = (bytes: Uint8Array): Result.Result<RequestBody, Refused> => {
  if (bytes.length === 0) return Result.succeed(EMPTY_BODY)
  const parsed = parseBody(bytes)
  if (Result.isFailure(parsed)) return parsed
  const errors = emptyBodyFaults(parsed.success.value)
  return errors.length === 0 ? parsed : Result.fail(new Refused({ code: "validation_failed", errors }))
}
