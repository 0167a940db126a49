import type { JsonValue } from "@svc/protocol/json/Json"
import type { RequestBody } from "@svc/protocol/request/RequestBody"
import { formatNanos } from "@svc/protocol/Timestamp"
import { Effect, Result } from "effect"
import { readRegistrationResponse } from "../../approval/PasskeyResponse.ts"
import { withoutChallenge } from "../../approval/SessionLifecycle.ts"
import { isKnownCredential, mayEnrol } from "../../approval/SubjectPasskeys.ts"
import { givenMembers } from "../../engine/GivenMembers.ts"
import { checkJson, validBody } from "../../engine/WriteRequest.ts"
import { makeIdentifier } from "../../Identifiers.ts"
import { Deployment } from "../../ports/Deployment.ts"
import type { MandateStore, StoreUnavailable } from "../../ports/MandateStore.ts"
import { PasskeyVerifier } from "../../ports/PasskeyVerifier.ts"
import type { Randomness } from "../../ports/Randomness.ts"
import {
  type ApprovalSessionBound,
  type ApprovalSessionClosed,
  EnrolmentNotAllowed,
  PasskeyVerificationFailed,
  type ValidationFailed
} from "../../Refusals.ts"
import {
  type Bearer,
  bearerOf,
  loadBearerSession,
  recordSession,
  refusePasskey,
  untilSessionRecorded
} from "./CeremonySession.ts"

/**
 * Takes a new passkey provisionally: it serves this session and its browser, and becomes the subject's with the approval
 * (part 6, POST /approve/{token}/passkey).
 */
export const registerPasskey = Effect.fn("registerPasskey")(function* (
  request: Bearer & { readonly body: JsonValue | RequestBody }
): Effect.fn.Return<
  { readonly passkey_id: string },
  | ValidationFailed
  | ApprovalSessionClosed
  | ApprovalSessionBound
  | EnrolmentNotAllowed
  | PasskeyVerificationFailed
  | StoreUnavailable,
  MandateStore | Randomness | Deployment | PasskeyVerifier
> {
  const bearer = yield* bearerOf(request)
  // Copied now; what is wrong with it is told only to who may act.
  const body = checkJson(givenMembers(request, ["body"]).body)
  const { rpId, approvalOrigin } = yield* Deployment
  const verifier = yield* PasskeyVerifier
  const attempt = Effect.gen(function* () {
    const open = yield* loadBearerSession(bearer, "must_be_bound")
    const { current, session } = open
    const response = yield* validBody(readRegistrationResponse(yield* Effect.fromResult(body)))
    if (!mayEnrol(session.enrolment, current.subject)) return yield* new EnrolmentNotAllowed()
    const { challenge } = session
    if (challenge?.step !== "register") return yield* new PasskeyVerificationFailed()
    const verified = yield* Effect.result(
      verifier.verifyRegistration({
        response,
        challenge: challenge.challenge,
        relyingParty: { rpId, origin: approvalOrigin }
      })
    )
    if (Result.isFailure(verified)) return yield* refusePasskey(open, verified.failure.reason)
    if (isKnownCredential(current.subject, verified.success.credentialId)) {
      return yield* refusePasskey(open, "credential_retired")
    }
    const id = yield* makeIdentifier("psk_", current.now)
    yield* recordSession(current, {
      ...withoutChallenge(session),
      provisionalPasskey: { id, ...verified.success, enrolledAt: formatNanos(current.now) }
    })
    return { passkey_id: id }
  })
  return yield* untilSessionRecorded(bearer.token, attempt)
})
