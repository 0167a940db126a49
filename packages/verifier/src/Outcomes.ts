import type { AuthorizationState, StreamState } from "@svc/domain/mandate/MandateState"
import { instantIn, type JournalEntry } from "./Replay.ts"
import type { OutcomeSum, Proved, Warning } from "./Report.ts"

const OUTCOMES = ["COMMITTED", "RESERVED", "CANCELLED", "EXPIRED", "DENIED", "INDETERMINATE"] as const

const amountOf = ({ proposedAction }: AuthorizationState): bigint => BigInt(proposedAction.payment.amount)

const sumOf = (authorizations: ReadonlyArray<AuthorizationState>): string =>
  authorizations.reduce((sum, authorization) => sum + amountOf(authorization), 0n).toString()

/** How the authorizations ended, and their amounts. Late usage is counted beside the outcome that it contradicts. */
export const outcomesOf = (state: StreamState): ReadonlyArray<OutcomeSum> => {
  const all = [...state.authorizations.values()]
  const sums = OUTCOMES.map((outcome): OutcomeSum => {
    const those = all.filter((authorization) => authorization.state === outcome)
    const reserved = outcome !== "DENIED" && outcome !== "INDETERMINATE"
    return { outcome, count: those.length, ...(reserved ? { amount: sumOf(those) } : {}) }
  })
  const late = all.filter((authorization) => authorization.late)
  return [...sums, { outcome: "LATE", count: late.length, amount: sumOf(late) }]
}

export const refundedIn = (state: StreamState): Proved["refunded"] => {
  const refunds = [...state.authorizations.values()].flatMap((authorization) => authorization.refunds)
  const amount = refunds.reduce((sum, refund) => sum + BigInt(refund.amount), 0n)
  return { count: refunds.length, amount: amount.toString() }
}

/** Whether an execution that the caller reported was outside of the time that its decision granted (part 5). */
const isOutsideAuthority = (
  reportedAt: string,
  { createdAt, executeBefore }: AuthorizationState
): boolean => {
  const at = instantIn(reportedAt)
  return at < instantIn(createdAt) || (executeBefore !== undefined && at >= instantIn(executeBefore))
}

/** What a reader should know of an event that is in order; `state` is as the event leaves it. */
export const warningsOf = (event: JournalEntry, state: StreamState): ReadonlyArray<Warning> => {
  if (event.type !== "authorization.committed" && event.type !== "authorization.outcome_conflict") return []
  const { authorization_id, seq } = event
  const authorization = state.authorizations.get(authorization_id)
  if (authorization === undefined) return []
  const warn = (code: Warning["code"], detail: string): Warning => ({ code, seq, authorization_id, detail })
  const warnings: Array<Warning> = []
  const commit =
    event.type === "authorization.committed"
      ? event.data
      : event.data.reported === "COMMITTED"
        ? event.data.content
        : undefined
  if (commit !== undefined && isOutsideAuthority(commit.reported_accepted_at, authorization)) {
    const until = authorization.executeBefore
    warnings.push(
      warn(
        "executed_outside_authority",
        `reported as executed at ${commit.reported_accepted_at}, granted from ${authorization.createdAt} until before ${until}`
      )
    )
  }
  if (event.type === "authorization.outcome_conflict") {
    const { late, reported } = event.data
    warnings.push(
      late
        ? warn("late_usage", `reported as executed after it was ${authorization.state}: it counts as used`)
        : warn("outcome_conflict", `reported as ${reported}, and it is ${authorization.state}`)
    )
  }
  return warnings
}
