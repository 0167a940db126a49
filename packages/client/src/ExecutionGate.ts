import type { Authorization } from "./Authorization.ts"
import { SvcError } from "./SvcError.ts"

/** The instant of an RFC 3339 timestamp in milliseconds, `NaN` for anything else. Not every runtime reads nine digits. */
const millisecondsOf = (timestamp: unknown): number =>
  typeof timestamp === "string" ? Date.parse(timestamp.replace(/(\.\d{3})\d+/, "$1")) : Number.NaN

/** What the gate is asked about. */
export interface GateQuestion {
  /** Which authorization is to be executed. */
  readonly id: string
  /** The commitment to the opening that the commit will reveal. */
  readonly commitment: string
  /** The caller's clock, in Unix milliseconds. */
  readonly now: number
}

/** Each condition that does not hold, in words. Compared with `=== true` and the like: what cannot be read is a no. */
const unmetConditions = (current: Authorization, question: GateQuestion): ReadonlyArray<string> => {
  const reasons = Array.isArray(current.reasons) ? current.reasons.map(({ code }) => code).join(", ") : ""
  const deadline = millisecondsOf(current.execute_before)
  const conditions: ReadonlyArray<readonly [boolean, string]> = [
    [current.id === question.id, `the answer is about ${current.id}`],
    [current.decision === "ALLOW", `decision is ${current.decision}${reasons === "" ? "" : ` (${reasons})`}`],
    [current.state === "RESERVED", `state is ${current.state}`],
    [current.can_execute === true, `can_execute is ${current.can_execute}`],
    [question.now < deadline, `execute_before is ${current.execute_before}, which is not ahead`],
    [current.commitment === question.commitment, "the opening does not fit its commitment"]
  ]
  return conditions.filter(([holds]) => !holds).map(([, words]) => words)
}

/**
 * The execution gate (part 5): the deadline in Unix milliseconds if the action may be executed. Throws
 * `execution_not_allowed` unless every condition holds.
 */
export const passGate = (current: Authorization, question: GateQuestion): number => {
  const unmet = unmetConditions(current, question)
  if (unmet.length === 0) return millisecondsOf(current.execute_before)
  throw new SvcError({
    code: "execution_not_allowed",
    message: `${question.id} may not be executed: ${unmet.join("; ")}`,
    currentState: current.state,
    resourceId: question.id
  })
}
