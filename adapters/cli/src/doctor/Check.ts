import { Cause, Data, Duration, Effect, Option } from "effect"
import { databaseFault } from "../start/DatabaseFault.ts"
import { StartFault } from "../start/StartFault.ts"

/** `skipped`: it could not be examined, or does not apply, for the reason that is said. */
export type CheckStatus = "ok" | "warning" | "failed" | "skipped"

/** What a check found. Neither text holds a secret. */
export interface Verdict {
  readonly status: CheckStatus
  readonly found: string
  /** What to do. */
  readonly remedy?: string
}

/** One question about a deployment, and how facts answer it. */
export interface Check<Facts> {
  /** Its group and what it is about, such as `database.fsync`. */
  readonly name: string
  readonly judge: (facts: Facts) => Verdict
}

/** The verdict of a check. */
export interface Finding extends Verdict {
  readonly check: string
}

export const ok = (found: string): Verdict => ({ status: "ok", found })
export const warning = (found: string, remedy: string): Verdict => ({ status: "warning", found, remedy })
export const failed = (found: string, remedy: string): Verdict => ({ status: "failed", found, remedy })
export const skipped = (found: string, remedy?: string): Verdict => ({
  status: "skipped",
  found,
  ...(remedy === undefined ? {} : { remedy })
})

/** Longest that the facts of some checks may take to be had, in seconds, unless they need more. */
const EXAMINATION_SECONDS = 15

/** Facts that cannot be had, for a reason that is not a fault. */
export class NotExamined extends Data.TaggedError("NotExamined")<{ readonly reason: string }> {}

/** What an error says. Those that nobody expected are named alone, since their messages may quote anything. */
const reasonOf = (cause: Cause.Cause<unknown>): string => {
  const fault = Option.getOrElse(Cause.findErrorOption(cause), () => Cause.squash(cause))
  if (fault instanceof StartFault) return fault.line
  if (Cause.isTimeoutError(fault)) return "it takes too long to answer"
  const isOfStore = typeof fault === "object" && fault !== null && "_tag" in fault
  if (isOfStore) return databaseFault(fault, undefined).line
  return `an unexpected ${fault instanceof Error ? fault.name : typeof fault}`
}

const asFindings = (
  checks: ReadonlyArray<{ readonly name: string }>,
  verdict: Verdict
): ReadonlyArray<Finding> => checks.map(({ name }) => ({ check: name, ...verdict }))

/** Has the facts once and asks each check about them. Facts that cannot be had are a failure of each, with the reason. */
export const examine = <Facts, R>(
  facts: Effect.Effect<Facts, unknown, R>,
  checks: ReadonlyArray<Check<Facts>>,
  limitSeconds = EXAMINATION_SECONDS
): Effect.Effect<ReadonlyArray<Finding>, never, R> =>
  facts.pipe(
    Effect.timeout(Duration.seconds(limitSeconds)),
    Effect.map((known) => checks.map(({ judge, name }): Finding => ({ check: name, ...judge(known) }))),
    Effect.catchCause((cause) => {
      const fault = Option.getOrUndefined(Cause.findErrorOption(cause))
      const verdict =
        fault instanceof NotExamined
          ? skipped(fault.reason)
          : failed(`it cannot be examined: ${reasonOf(cause)}`, "remove that reason and run this again")
      return Effect.succeed(asFindings(checks, verdict))
    })
  )

/** The findings of checks that nobody could ask. */
export const skipAll = (
  checks: ReadonlyArray<{ readonly name: string }>,
  reason: string
): ReadonlyArray<Finding> => asFindings(checks, skipped(reason))

/** Some of many things that a text names; the others are counted. */
export const namedList = (names: ReadonlyArray<string>, most = 5): string => {
  const others = names.length - most
  return others > 0 ? `${names.slice(0, most).join(", ")} and ${others} more` : names.join(", ")
}

/** `1 key`, `2 keys`. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : plural}`
