import type { MandateStateName } from "@svc/protocol/Mandate"
import type { MandateFactType } from "./JournalFact.ts"
import { instantOf } from "./PreparedTerms.ts"

const STATES: Readonly<Record<Exclude<MandateFactType, "mandate.approved">, MandateStateName>> = {
  "mandate.created": "PENDING_APPROVAL",
  "mandate.rejected": "REJECTED",
  "mandate.activated": "ACTIVE",
  "mandate.consumed": "CONSUMED",
  "mandate.revoked": "REVOKED",
  "mandate.expired": "EXPIRED"
}

/**
 * The state of a mandate after an event of its own, `mandate.*` (part 4). An approved mandate is active once its window,
 * which starts at `startsAt`, has begun. Events of authorizations change no state.
 */
export const stateAfter = (
  event: { readonly type: MandateFactType; readonly occurred_at: string },
  startsAt: string
): MandateStateName => {
  if (event.type !== "mandate.approved") return STATES[event.type]
  return instantOf(event.occurred_at) < instantOf(startsAt) ? "SCHEDULED" : "ACTIVE"
}
