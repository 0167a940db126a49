import type { JsonValue } from "@svc/protocol/json/Json"
import type { RequestBody } from "@svc/protocol/request/RequestBody"
import { formatNanos } from "@svc/protocol/Timestamp"
import { Effect, Result } from "effect"
import { readAuthenticationResponse } from "../../approval/PasskeyResponse.ts"
import { approvalRecord } from "../../approval/SignedStatement.ts"
import { afterApprovalWith, candidatePasskeys } from "../../approval/SubjectPasskeys.ts"
import { givenMembers } from "../../engine/GivenMembers.ts"
import { checkJson, validBody } from "../../engine/WriteRequest.ts"
import { Deployment } from "../../ports/Deployment.ts"
import type { MandateStore, StoreUnavailable } from "../../ports/MandateStore.ts"
import { PasskeyVerifier } from "../../ports/PasskeyVerifier.ts"
import type { Randomness } from "../../ports/Randomness.ts"
import {
  type ApprovalSessionBound,
  type ApprovalSessionClosed,
  PasskeyVerificationFailed,
  type ValidationFailed
} from "../../Refusals.ts"
import {
  type Bearer,
  bearerOf,
  loadBearerSession,
  recordDecision,
  refusePasskey,
  untilSessionRecorded
} from "./CeremonySession.ts"

/** Approves the mandate with a passkey (part 6, POST /approve/{token}/approval). */
export const approveMandate = Effect.fn("approveMandate")(function* (
  request: Bearer & { readonly body: JsonValue | RequestBody }
): Effect.fn.Return<
  { readonly redirect_to: string },
  | ValidationFailed
  | ApprovalSessionClosed
  | ApprovalSessionBound
  | PasskeyVerificationFailed
  | StoreUnavailable,
  MandateStore | Randomness | Deployment | PasskeyVerifier
> {
  const bearer = yield* bearerOf(request)
  // Copied now; what is wrong with it is told only to who may act.
  const body = checkJson(givenMembers(request, ["body"]).body)
  const { rpId, approvalOrigin: origin } = yield* Deployment
  const verifier = yield* PasskeyVerifier
  const attempt = Effect.gen(function* () {
    const open = yield* loadBearerSession(bearer, "must_be_bound")
    const { current, session } = open
    const response = yield* validBody(readAuthenticationResponse(yield* Effect.fromResult(body)))
    const { challenge } = session
    if (challenge?.step !== "approve") return yield* new PasskeyVerificationFailed()
    const { subject } = current
    const passkey = candidatePasskeys(session, subject).find((entry) => entry.credentialId === response.id)
    if (passkey === undefined || subject === undefined) {
      return yield* refusePasskey(open, "credential_unknown")
    }
    const verified = yield* Effect.result(
      verifier.verifyAssertion({
        response,
        challenge: challenge.challenge,
        relyingParty: { rpId, origin },
        credential: passkey,
        userHandle: subject.userHandle
      })
    )
    if (Result.isFailure(verified)) return yield* refusePasskey(open, verified.failure.reason)
    const { statement } = challenge
    const approval = approvalRecord({ statement, response, passkey, session, rpId, origin })
    const used = { ...passkey, counter: verified.success.counter, lastUsedAt: formatNanos(current.now) }
    return yield* recordDecision(open, {
      state: "COMPLETED",
      command: { _tag: "Approve", approval },
      subject: { expected: subject.revision, next: afterApprovalWith(subject, used) }
    })
  })
  return yield* untilSessionRecorded(bearer.token, attempt)
})
