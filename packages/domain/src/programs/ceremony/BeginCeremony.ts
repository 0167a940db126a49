import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { approvalChallenge } from "@svc/protocol/evidence/ApprovalChallenge"
import type { JsonObject, JsonValue } from "@svc/protocol/json/Json"
import { type Instant, NANOS_PER_MILLISECOND, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect, type Redacted } from "effect"
import type { ApprovalSessionState, OpenChallenge } from "../../approval/ApprovalSessionState.ts"
import type { ApprovalStatement } from "../../approval/ApprovalStatement.ts"
import { secretHash, secretOfBytes } from "../../approval/BearerSecret.ts"
import { creationOptions, requestOptions } from "../../approval/PasskeyOptions.ts"
import { approvalStatement } from "../../approval/SignedStatement.ts"
import { displayLines } from "../../approval/StatementDisplay.ts"
import type { Language } from "../../approval/StatementLanguage.ts"
import { candidatePasskeys, wayToApprove } from "../../approval/SubjectPasskeys.ts"
import { Deployment } from "../../ports/Deployment.ts"
import type { MandateStore, StoreUnavailable } from "../../ports/MandateStore.ts"
import type { Organizations } from "../../ports/Organizations.ts"
import { Randomness } from "../../ports/Randomness.ts"
import {
  type ApprovalSessionBound,
  type ApprovalSessionClosed,
  EnrolmentNotAllowed,
  type ValidationFailed
} from "../../Refusals.ts"
import {
  type Bearer,
  bearerOf,
  languageOf,
  loadBearerSession,
  organizationNameOf,
  recordSession,
  untilSessionRecorded
} from "./CeremonySession.ts"

/**
 * How long a browser keeps its cookie after the session's end, in seconds: so long the page of the closed link tells it what
 * it did, and leads it back.
 */
const COOKIE_AFTER_END_SECONDS = 3600
/** Random bytes of a WebAuthn challenge, a nonce, a user handle and a session cookie. */
const CEREMONY_RANDOM_BYTES = 32

/** What the browser needs for its next step. */
export interface CeremonyStep {
  readonly step: "register" | "approve"
  readonly options: JsonObject
  readonly statement?: ApprovalStatement
  /** Set when this request bound the session to its browser: the cookie to give it. */
  readonly bind?: {
    readonly sessionId: string
    readonly cookie: Redacted.Redacted<string>
    readonly maxAgeSeconds: number
  }
}

const challengeOf = (statement: ApprovalStatement): string =>
  encodeBase64Url(approvalChallenge(statement as unknown as JsonValue))

const millisecondsLeft = (session: ApprovalSessionState, now: Instant): number =>
  Number((session.expiresAt - now) / NANOS_PER_MILLISECOND)

const cookieSeconds = (session: ApprovalSessionState, now: Instant): number =>
  Number((session.expiresAt - now) / NANOS_PER_SECOND) + COOKIE_AFTER_END_SECONDS

/**
 * Opens a challenge for the next step and binds the session to the browser. A new ceremony replaces the open challenge
 * (part 6, POST /approve/{token}/ceremony).
 */
export const beginCeremony = Effect.fn("beginCeremony")(function* (
  request: Bearer & { readonly language: Language }
): Effect.fn.Return<
  CeremonyStep,
  ApprovalSessionClosed | ApprovalSessionBound | EnrolmentNotAllowed | ValidationFailed | StoreUnavailable,
  MandateStore | Randomness | Organizations | Deployment
> {
  const bearer = yield* bearerOf(request)
  const language = yield* languageOf(request)
  const { rpId } = yield* Deployment
  const randomness = yield* Randomness
  const drawBytes = () => randomness.bytes(CEREMONY_RANDOM_BYTES)
  const draw = () => encodeBase64Url(drawBytes())
  const attempt = Effect.gen(function* () {
    const { current, session } = yield* loadBearerSession(bearer, "may_bind")
    const { now } = current
    const { terms } = current.state.mandate
    const organizationName = yield* organizationNameOf(current.organization)
    const way = wayToApprove(session, current.subject)
    if (way === "none") return yield* new EnrolmentNotAllowed()
    const subject = current.subject ?? { revision: 1, userHandle: draw(), passkeys: [] }
    const statement =
      way === "register"
        ? undefined
        : approvalStatement({
            sessionId: session.id,
            terms,
            organizationName,
            display: displayLines(terms, organizationName, now, language),
            nonce: draw()
          })
    const challenge: OpenChallenge =
      statement === undefined
        ? { step: "register", challenge: draw() }
        : { step: "approve", challenge: challengeOf(statement), statement }
    const cookie = secretOfBytes(drawBytes(), "approval_cookie")
    yield* recordSession(
      current,
      { ...session, boundTo: session.boundTo ?? secretHash(cookie), challenge },
      current.subject === undefined ? { expected: "absent", next: subject } : undefined
    )
    const asked = { rpId, challenge: challenge.challenge, timeout: millisecondsLeft(session, now) }
    const passkeys = candidatePasskeys(session, current.subject)
    const bind = { sessionId: session.id, cookie, maxAgeSeconds: cookieSeconds(session, now) }
    return {
      step: challenge.step,
      ...(statement === undefined
        ? { options: creationOptions({ ...asked, organizationName, userHandle: subject.userHandle }) }
        : { options: requestOptions({ ...asked, passkeys }), statement }),
      ...(session.boundTo === undefined ? { bind } : {})
    }
  })
  return yield* untilSessionRecorded(bearer.token, attempt)
})
