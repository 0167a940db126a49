import { Deployment } from "@svc/domain/ports/Deployment"
import { admitBearer } from "@svc/domain/programs/ceremony/AdmitBearer"
import type { ApprovalSubject } from "@svc/domain/programs/ceremony/CeremonySession"
import { emptyBodyFaults } from "@svc/protocol/DecodeBody"
import type { JsonValue } from "@svc/protocol/Json"
import { Effect, Redacted } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import { accepts } from "../api/Acceptance.ts"
import { refusing } from "../api/RefusalProblem.ts"
import { CurrentRequest } from "../http/CurrentRequest.ts"
import { FailedCredentials } from "../http/FailedCredentials.ts"
import { Refused } from "../http/ProblemResponse.ts"
import { checkMediaType, hasBody, parseBody, readBody } from "../http/StrictBody.ts"
import { approvalCookieName, readApprovalCookie } from "./ApprovalCookie.ts"

/** base64url of 32 random bytes. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/u

const closed = new Refused({ code: "approval_session_closed" })

/** The token of the path, and of nowhere else. Absent: one of another form, unknown like any other. */
export const tokenOfPath = Effect.map(HttpRouter.params, ({ token = "" }) =>
  TOKEN.test(token) ? Redacted.make(token, { label: "approval_token" }) : undefined
)

/** Looks the token of the path up. Those that open nothing are counted against the address that sends them. */
export const withToken = Effect.fnUntraced(function* <A, R>(
  look: (token: Redacted.Redacted) => Effect.Effect<A, Refused, R>
) {
  const token = yield* tokenOfPath
  const failures = yield* FailedCredentials
  const found = token === undefined ? Effect.fail(closed) : look(token)
  const credential = token === undefined ? "" : Redacted.value(token)
  return yield* failures.lookUp(credential, found, ({ code }) => code === closed.code)
})

/** Picks the cookie of a session out of the request. */
export const approvalCookie = Effect.gen(function* () {
  const { headers } = yield* HttpServerRequest.HttpServerRequest
  const { approvalOrigin } = yield* Deployment
  return (sessionId: string) =>
    readApprovalCookie(headers.cookie, approvalCookieName(sessionId, approvalOrigin))
})

/** Tells the request's log line what the request is about. */
export const tellLog = (about: ApprovalSubject) =>
  Effect.map(CurrentRequest, (facts) => {
    facts.organizationId = about.organizationId
    facts.mandateId = about.mandateId
    facts.approvalSessionId = about.sessionId
  })

export interface ActionRule {
  /** Whether an unbound browser may make the request: it is the one that binds. */
  readonly ceremony: boolean
  /** `empty`: the body has no members, so it may be left out. */
  readonly body: "empty" | "response"
}

/**
 * What stands before every POST of the approval origin: Origin, token, cookie, then query and Accept, media type, size
 * and JSON, in this order (part 6). Nothing is spent here.
 */
export const approvalGate = Effect.fnUntraced(function* (rule: ActionRule) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const { approvalOrigin } = yield* Deployment
  if (request.headers.origin !== approvalOrigin) return yield* new Refused({ code: "origin_not_allowed" })
  const cookieOf = yield* approvalCookie
  const { bearer, about } = yield* withToken((token) =>
    refusing(admitBearer({ token, cookieOf, ceremony: rule.ceremony }))
  )
  yield* tellLog(about)
  if (request.url.includes("?")) {
    return yield* new Refused({ code: "malformed_request", detail: "This route takes no query." })
  }
  if (!accepts(request.headers.accept, "application/json")) {
    return yield* new Refused({ code: "not_acceptable" })
  }
  return { bearer, body: yield* actionBody(request, rule.body) }
})

const actionBody = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  kind: ActionRule["body"]
): Effect.fn.Return<JsonValue, Refused> {
  const sent = hasBody(request.headers)
  if (!sent && kind === "empty") return {}
  const refused = checkMediaType(request.headers)
  if (refused !== undefined) return yield* refused
  const bytes = yield* readBody(request)
  if (bytes.length === 0 && kind === "empty") return {}
  const body = yield* Effect.fromResult(parseBody(bytes))
  const errors = kind === "empty" ? emptyBodyFaults(body) : []
  return errors.length === 0 ? body : yield* new Refused({ code: "validation_failed", errors })
})
