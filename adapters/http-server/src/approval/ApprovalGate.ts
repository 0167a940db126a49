import { readSecret } from "@svc/domain/approval/BearerSecret"
import { Deployment } from "@svc/domain/ports/Deployment"
import { admitBearer } from "@svc/domain/programs/ceremony/AdmitBearer"
import type { LoggedContext } from "@svc/domain/programs/ceremony/CeremonySession"
import { Effect, Redacted } from "effect"
import type { Headers } from "effect/http"
import { FailedCredentials } from "../gate/FailedCredentials.ts"
import { parseEmptyBody, readCheckedBody, refuseQuery, requireAcceptable } from "../gate/RequestSteps.ts"
import { parseBody } from "../gate/StrictBody.ts"
import { CurrentRequest } from "../http/CurrentRequest.ts"
import type { RoutedRequest } from "../http/HttpRoute.ts"
import { Refused, refusing } from "../http/ProblemResponse.ts"
import type { PathParameters } from "../http/RouteTable.ts"
import { approvalCookieName, readApprovalCookie } from "./ApprovalCookie.ts"

const closed = new Refused({ code: "approval_session_closed" })

/** The token in the path; `undefined` for a malformed one, which is treated like an unknown one. */
export const pathToken = ({ token = "" }: PathParameters) =>
  readSecret(Redacted.make(token, { label: "approval_token" }))

/** Looks up the token in the path; a token that opens no session counts against the client's address. */
export const lookUpToken = Effect.fnUntraced(function* <A, R>(
  params: PathParameters,
  look: (token: Redacted.Redacted) => Effect.Effect<A, Refused, R>
) {
  const token = pathToken(params)
  const failures = yield* FailedCredentials
  const found = token === undefined ? Effect.fail(closed) : look(token)
  const credential = token === undefined ? "" : Redacted.value(token)
  return yield* failures.lookUp(credential, found, ({ code }) => code === closed.code)
})

/** Reads the request's cookie of a session. */
export const approvalCookie = ({ cookie }: Headers.Headers) =>
  Effect.map(
    Deployment,
    ({ approvalOrigin }) =>
      (sessionId: string) =>
        readApprovalCookie(cookie, approvalCookieName(sessionId, approvalOrigin))
  )

/** Adds the request's session, mandate and organization to its log line. */
export const noteContext = (about: LoggedContext) =>
  Effect.map(CurrentRequest, (facts) => {
    facts.organizationId = about.organizationId
    facts.mandateId = about.mandateId
    facts.approvalSessionId = about.sessionId
  })

export interface ActionRule {
  /** Whether a browser that the session is not bound to may make the request, since it is the one that binds. */
  readonly ceremony: boolean
  /** `empty`: the body has no members and may be left out. `response`: it holds a WebAuthn response. */
  readonly body: "empty" | "response"
}

const MEDIA_TYPE_CHECK = { empty: "with-body", response: "always" } as const

/**
 * The gate of every POST of the approval origin: `Origin`, token, cookie, query, `Accept`, media type and encoding, size,
 * JSON, in this order (part 6). It changes nothing.
 */
export const approvalGate = Effect.fnUntraced(function* (
  { params, request }: RoutedRequest,
  rule: ActionRule
) {
  const { approvalOrigin } = yield* Deployment
  if (request.headers.origin !== approvalOrigin) return yield* new Refused({ code: "origin_not_allowed" })
  const cookieOf = yield* approvalCookie(request.headers)
  const { bearer, about } = yield* lookUpToken(params, (token) =>
    refusing(admitBearer({ token, cookieOf, ceremony: rule.ceremony }))
  )
  yield* noteContext(about)
  yield* refuseQuery(request)
  yield* requireAcceptable(request, "application/json")
  const bytes = yield* readCheckedBody(request, MEDIA_TYPE_CHECK[rule.body])
  const body = yield* Effect.fromResult(rule.body === "empty" ? parseEmptyBody(bytes) : parseBody(bytes))
  return { bearer, body }
})
