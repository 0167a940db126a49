import { Effect } from "effect"
import type { MandateStore, StoreUnavailable } from "../../ports/MandateStore.ts"
import type { Randomness } from "../../ports/Randomness.ts"
import type { ApprovalSessionBound, ApprovalSessionClosed } from "../../Refusals.ts"
import {
  type Bearer,
  bearerOf,
  loadBearerSession,
  recordDecision,
  untilSessionRecorded
} from "./CeremonySession.ts"

/** Declines the mandate (part 6, POST /approve/{token}/decline). */
export const declineMandate = Effect.fn("declineMandate")(function* (
  request: Bearer
): Effect.fn.Return<
  { readonly redirect_to: string },
  ApprovalSessionClosed | ApprovalSessionBound | StoreUnavailable,
  MandateStore | Randomness
> {
  const bearer = yield* bearerOf(request)
  const attempt = Effect.gen(function* () {
    const open = yield* loadBearerSession(bearer, "must_be_bound")
    return yield* recordDecision(open, {
      state: "REJECTED",
      command: { _tag: "Reject", approvalSessionId: open.session.id }
    })
  })
  return yield* untilSessionRecorded(bearer.token, attempt)
})
