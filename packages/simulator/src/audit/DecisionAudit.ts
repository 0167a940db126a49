/** Works out a decision again from the recount, by rules of its own. */
import type { CountedMandate, Recorded } from "@svc/testkit/JournalRecount"
import { nanosOf } from "@svc/testkit/RecountCalendar"

const DECISIONS = new Set(["authorization.reserved", "authorization.denied", "authorization.indeterminate"])

export const isDecision = (event: Recorded): boolean => DECISIONS.has(event.type)

/** Whether the budget has room for one more execution of an amount. */
const hasRoom = ({ budget }: CountedMandate, amount: bigint, at: bigint): boolean => {
  const periods = budget.periodsAt(at)
  budget.spend("reserved", amount, periods)
  const isOver = budget.overspent(["committed", "reserved", "late"], periods).length > 0
  budget.spend("reserved", amount, periods, -1)
  return !isOver
}

const expectedOf = (mandate: CountedMandate, event: Recorded): string => {
  const { policy } = mandate.terms
  const { proposed_action: action } = event.data
  if (mandate.state !== "ACTIVE") return "DENY"
  const isSingle = mandate.terms.kind === "SINGLE"
  const isLate = isSingle && [...mandate.authorizations.values()].some(({ late }) => late)
  const merchant = action.attributes?.merchant
  const { amount, currency } = action.payment
  const isUndecidable = isLate || (policy.allowed_merchants !== undefined && merchant === undefined)
  const isDenied =
    (isSingle && mandate.open.size > 0) ||
    currency !== policy.currency ||
    amount > policy.max_amount ||
    amount < policy.min_amount ||
    !policy.allowed_actions.includes(action.action) ||
    (policy.allowed_merchants !== undefined &&
      merchant !== undefined &&
      !policy.allowed_merchants.includes(merchant)) ||
    (!isSingle && !hasRoom(mandate, BigInt(amount), nanosOf(event.occurred_at)))
  if (isDenied) return "DENY"
  return isUndecidable ? "INDETERMINATE" : "ALLOW"
}

/** Whether a decision is what the policy says on everything that was recorded before it. */
export const isDecisionRight = (mandate: CountedMandate, event: Recorded): boolean =>
  event.data.decision === expectedOf(mandate, event)
