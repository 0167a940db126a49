import type { Decision, ProposedAction, Reason } from "@svc/protocol/Authorization"
import { jsonPointer } from "@svc/protocol/json/JsonPointer"
import type { MandateStateName, Policy } from "@svc/protocol/Mandate"
import { formatNanos, type Instant } from "@svc/protocol/Timestamp"
import { capsIn } from "../calendar/PeriodGeometry.ts"
import { shownAmount } from "../mandate/Counters.ts"
import type { Counters, PinnedPeriod, StreamState } from "../mandate/MandateState.ts"
import { currentPeriods, prepareTerms } from "../mandate/PreparedTerms.ts"
import { countersIn } from "../mandate/Usage.ts"

/** A decision with its reasons, and the periods it was made in. */
export interface Evaluation {
  readonly decision: Decision
  readonly reasons: ReadonlyArray<Reason>
  readonly periods: ReadonlyArray<PinnedPeriod>
}

const INACTIVE: Readonly<Record<Exclude<MandateStateName, "ACTIVE">, Reason>> = {
  PENDING_APPROVAL: {
    code: "MANDATE_NOT_APPROVED",
    pointer: "",
    detail: "The end user has not approved the mandate."
  },
  SCHEDULED: { code: "MANDATE_NOT_STARTED", pointer: "", detail: "The mandate's window has not started." },
  CONSUMED: { code: "MANDATE_CONSUMED", pointer: "", detail: "The mandate is used up." },
  REVOKED: { code: "MANDATE_REVOKED", pointer: "", detail: "The mandate was revoked." },
  REJECTED: { code: "MANDATE_REJECTED", pointer: "", detail: "The end user declined the mandate." },
  EXPIRED: { code: "MANDATE_EXPIRED", pointer: "", detail: "The mandate has expired." }
}

const AMOUNT_POINTER = "/proposed_action/payment/amount"
/** The attribute that `allowed_merchants` is matched with. */
const MERCHANT_ATTRIBUTE = "merchant"

const attributePointer = (name: string): string => jsonPointer(["proposed_action", "attributes", name])

/** The value of an attribute that the action itself carries; inherited names are none. */
const attributeOf = (action: ProposedAction, name: string): string | undefined =>
  action.attributes !== undefined && Object.hasOwn(action.attributes, name)
    ? action.attributes[name]
    : undefined

const missingAttribute = (name: string): Reason => ({
  code: "ATTRIBUTE_MISSING",
  pointer: attributePointer(name),
  detail: "The policy has a rule for this attribute and the action does not carry it.",
  resolve_with: [name]
})

const attributeReasons = (policy: Policy, action: ProposedAction): ReadonlyArray<Reason> => {
  const reasons: Array<Reason> = []
  if (!policy.allowed_actions.includes(action.action)) {
    reasons.push({
      code: "ACTION_NOT_ALLOWED",
      pointer: "/proposed_action/action",
      detail: "The action is not one of the policy's allowed_actions."
    })
  }
  if (policy.allowed_merchants !== undefined) {
    const merchant = attributeOf(action, MERCHANT_ATTRIBUTE)
    if (merchant === undefined) reasons.push(missingAttribute(MERCHANT_ATTRIBUTE))
    else if (!policy.allowed_merchants.includes(merchant)) {
      reasons.push({
        code: "MERCHANT_NOT_ALLOWED",
        pointer: attributePointer(MERCHANT_ATTRIBUTE),
        detail: "The merchant is not one of the policy's allowed_merchants."
      })
    }
  }
  for (const rule of policy.attribute_rules ?? []) {
    const value = attributeOf(action, rule.name)
    if (value === undefined) reasons.push(missingAttribute(rule.name))
    else if (!rule.in.includes(value)) {
      reasons.push({
        code: "ATTRIBUTE_NOT_ALLOWED",
        pointer: attributePointer(rule.name),
        detail: "The attribute's value is not one that the policy's rule allows."
      })
    }
  }
  return reasons
}

const boundReasons = (policy: Policy, amount: number): ReadonlyArray<Reason> => {
  const reasons: Array<Reason> = []
  if (amount > policy.max_amount) {
    reasons.push({
      code: "AMOUNT_ABOVE_MAXIMUM",
      pointer: AMOUNT_POINTER,
      detail: "The amount is above the policy's max_amount.",
      limit: policy.max_amount,
      requested: amount
    })
  }
  if (amount < policy.min_amount) {
    reasons.push({
      code: "AMOUNT_BELOW_MINIMUM",
      pointer: AMOUNT_POINTER,
      detail: "The amount is below the policy's min_amount.",
      limit: policy.min_amount,
      requested: amount
    })
  }
  return reasons
}

interface Cap {
  readonly counters: Counters
  readonly requested: number
  readonly limit: number | undefined
  readonly pointer: string
}

const amountCap = (
  code: "TOTAL_AMOUNT_EXCEEDED" | "PERIOD_AMOUNT_EXCEEDED",
  cap: Cap
): ReadonlyArray<Reason> => {
  const { counters, limit, requested, pointer } = cap
  const used = counters.committedAmount + counters.lateAmount
  if (limit === undefined || used + counters.reservedAmount + BigInt(requested) <= BigInt(limit)) return []
  return [
    {
      code,
      pointer,
      detail: "Committed, reserved and late amounts leave no room for this amount.",
      limit,
      requested,
      used: shownAmount(used),
      reserved: shownAmount(counters.reservedAmount)
    }
  ]
}

const executionsCap = (
  code: "TOTAL_EXECUTIONS_EXCEEDED" | "PERIOD_EXECUTIONS_EXCEEDED",
  cap: Omit<Cap, "requested">
): ReadonlyArray<Reason> => {
  const { counters, limit, pointer } = cap
  const used = counters.committedExecutions + counters.lateExecutions
  if (limit === undefined || used + counters.reservedExecutions + 1 <= limit) return []
  return [
    {
      code,
      pointer,
      detail: "Committed, reserved and late executions leave no room for another.",
      limit,
      requested: 1,
      used,
      reserved: counters.reservedExecutions
    }
  ]
}

const capacityReasons = (stream: StreamState): ReadonlyArray<Reason> => {
  const { mandate, open } = stream
  if (mandate.terms.kind !== "SINGLE") return []
  const reasons: Array<Reason> = []
  if (mandate.lateAuthorizations.length > 0) {
    reasons.push({
      code: "CAPACITY_UNRESOLVED",
      pointer: "",
      detail:
        "An execution was reported after its authorization had ended: revoke this mandate and create another.",
      resolve_with: [],
      conflicting_authorizations: mandate.lateAuthorizations
    })
  }
  if (open.length > 0) {
    reasons.push({
      code: "MANDATE_RESERVED",
      pointer: "",
      detail: "Another authorization of this single-use mandate is open."
    })
  }
  return reasons
}

const budgetReasons = (
  stream: StreamState,
  periods: ReadonlyArray<PinnedPeriod>,
  action: ProposedAction,
  currencyAllowed: boolean
): ReadonlyArray<Reason> => {
  const { mandate } = stream
  const { policy } = mandate.terms
  const { startsAt, periods: rules } = prepareTerms(mandate.terms)
  const requested = action.payment.amount
  const reasons: Array<Reason> = []
  if (currencyAllowed) {
    reasons.push(
      ...amountCap("TOTAL_AMOUNT_EXCEEDED", {
        counters: mandate.totals,
        limit: policy.max_total_amount,
        requested,
        pointer: "/policy/max_total_amount"
      })
    )
  }
  reasons.push(
    ...executionsCap("TOTAL_EXECUTIONS_EXCEEDED", {
      counters: mandate.totals,
      limit: policy.max_executions,
      pointer: "/policy/max_executions"
    })
  )
  for (const pinned of periods) {
    const rule = rules[pinned.period]?.rule
    if (rule === undefined) continue
    const caps = capsIn(rule, startsAt, pinned)
    const counters = countersIn(mandate, pinned)
    const at = `/policy/periods/${pinned.period}`
    const exceeded = [
      ...(currencyAllowed
        ? amountCap("PERIOD_AMOUNT_EXCEEDED", {
            counters,
            limit: caps.max_amount,
            requested,
            pointer: `${at}/max_amount`
          })
        : []),
      ...executionsCap("PERIOD_EXECUTIONS_EXCEEDED", {
        counters,
        limit: caps.max_executions,
        pointer: `${at}/max_executions`
      })
    ]
    if (exceeded.length === 0) continue
    const resets = { period: pinned.period, resets_at: formatNanos(pinned.endsAt) }
    reasons.push(...exceeded.map((reason) => ({ ...reason, ...resets })))
  }
  return reasons
}

const UNDECIDABLE: ReadonlySet<Reason["code"]> = new Set(["ATTRIBUTE_MISSING", "CAPACITY_UNRESOLVED"])

/**
 * Decides a proposed action at an instant (part 5). Three-valued: every rule is evaluated, any definite failure is
 * DENY, otherwise anything undecidable is INDETERMINATE, and otherwise the decision is ALLOW. Reasons come in the order of
 * the interface.
 */
export const evaluatePolicy = (stream: StreamState, action: ProposedAction, instant: Instant): Evaluation => {
  const { mandate } = stream
  const periods = currentPeriods(mandate.terms, instant)
  if (mandate.state !== "ACTIVE") return { decision: "DENY", reasons: [INACTIVE[mandate.state]], periods }
  const { policy } = mandate.terms
  const currencyAllowed = action.payment.currency === policy.currency
  const reasons: ReadonlyArray<Reason> = [
    ...capacityReasons(stream),
    ...(currencyAllowed
      ? boundReasons(policy, action.payment.amount)
      : [
          {
            code: "CURRENCY_NOT_ALLOWED" as const,
            pointer: "/proposed_action/payment/currency",
            detail: "The currency is not the policy's currency."
          }
        ]),
    ...attributeReasons(policy, action),
    ...budgetReasons(stream, periods, action, currencyAllowed)
  ]
  const decision =
    reasons.length === 0
      ? "ALLOW"
      : reasons.every((reason) => UNDECIDABLE.has(reason.code))
        ? "INDETERMINATE"
        : "DENY"
  return { decision, reasons, periods }
}
