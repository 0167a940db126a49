import { Effect } from "effect"
import type { MandateStore, StoreUnavailable } from "../../ports/MandateStore.ts"
import type { Randomness } from "../../ports/Randomness.ts"
import type { ApprovalSessionBound, ApprovalSessionClosed } from "../../Refusals.ts"
import { type Bearer, loadBearerSession, recordDecision, untilSessionRecorded } from "./CeremonySession.ts"

/** Declines the mandate (part 6, POST /approve/{token}/decline). */
export const declineMandate = Effect.fn("declineMandate")(function* (
  bearer: Bearer
): Effect.fn.Return<
  { readonly redirect_to: string },
  ApprovalSessionClosed | ApprovalSessionBound | StoreUnavailable,
  MandateStore | Randomness
> {
  const attempt = Effect.gen(function* () {
    const open = yield* loadBearerSession(bearer, "must_be_bound")
    return yield* recordDecision(open, {
      state: "REJECTED",
      command: { _tag: "Reject", approvalSessionId: open.session.id }
    })
  })
  return yield* untilSessionRecorded(bearer.token, attempt)
})
