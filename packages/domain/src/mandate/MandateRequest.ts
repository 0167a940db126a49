import { minorUnit } from "@svc/protocol/Currency"
import { canonicalJson } from "@svc/protocol/json/CanonicalJson"
import type { JsonValue } from "@svc/protocol/json/Json"
import { jsonPointer } from "@svc/protocol/json/JsonPointer"
import type { CreateMandateBody, Period, Policy } from "@svc/protocol/Mandate"
import type { MemberFault } from "@svc/protocol/Problem"
import { repeatedEntries } from "@svc/protocol/request/RepeatedEntries"
import {
  formatInstant,
  formatNanos,
  type Instant,
  NANOS_PER_SECOND,
  normalizeTimestamp
} from "@svc/protocol/Timestamp"
import { Result } from "effect"
import type { MandateTerms } from "./JournalFact.ts"
import { instantOf } from "./PreparedTerms.ts"

/** How far `window.starts_at` may lie in the past, in seconds (part 4). */
export const WINDOW_START_PAST_SECONDS = 86_400
/** How far ahead `window.starts_at` may lie, and how long a window may be, in years (part 4). */
export const WINDOW_MAX_YEARS = 10
/** How long a mandate waits for its approval unless it says otherwise, in seconds (part 4). */
export const APPROVAL_DEADLINE_DEFAULT_SECONDS = 86_400

/** The terms of a mandate as a request leads to them; the time zone tables are still to be fixed. */
export type ProposedTerms = Pick<
  MandateTerms,
  "kind" | "subject_reference" | "policy" | "window" | "approval_deadline" | "description"
>

const fault = (path: ReadonlyArray<PropertyKey>, code: string, detail: string): MemberFault => ({
  pointer: jsonPointer(path),
  code,
  detail
})

const filledPeriods = (body: CreateMandateBody): ReadonlyArray<Period> | undefined =>
  body.policy.periods?.map((period) => ({
    interval: 1,
    alignment: "CALENDAR",
    time_zone: "UTC",
    first_period: "FULL",
    ...period
  }))

/** The policy as it is stored: given members and the defaults of the others (part 4). */
const filledPolicy = (body: CreateMandateBody): Policy => {
  const periods = filledPeriods(body)
  return {
    ...body.policy,
    min_amount: body.policy.min_amount ?? 1,
    ...(body.kind === "RECURRING"
      ? { max_total_amount: body.policy.max_total_amount ?? Number.MAX_SAFE_INTEGER }
      : {}),
    ...(periods === undefined ? {} : { periods })
  } as Policy
}

const kindFaults = ({ kind, policy }: CreateMandateBody): ReadonlyArray<MemberFault> => {
  if (kind === "RECURRING") {
    return policy.periods === undefined
      ? [fault(["policy", "periods"], "required", "is required for a RECURRING mandate")]
      : []
  }
  return (["periods", "max_total_amount", "max_executions"] as const)
    .filter((member) => policy[member] !== undefined)
    .map((member) => fault(["policy", member], "not_allowed", "is not allowed for a SINGLE mandate"))
}

const periodFaults = (
  periods: ReadonlyArray<Period>,
  isKnownZone: (name: string) => boolean
): ReadonlyArray<MemberFault> => [
  ...periods.flatMap((period, index) => {
    const at = ["policy", "periods", index]
    const faults: Array<MemberFault> = []
    if (period.alignment === "CALENDAR" && period.interval !== 1) {
      faults.push(fault([...at, "interval"], "invalid_value", "must be 1 with CALENDAR alignment"))
    }
    if (!isKnownZone(period.time_zone)) {
      faults.push(
        fault(
          [...at, "time_zone"],
          "invalid_value",
          "must be a name of the tz database in its exact case, such as Europe/Berlin"
        )
      )
    }
    if (period.max_amount === undefined && period.max_executions === undefined) {
      faults.push(fault(at, "required", "needs max_amount, max_executions or both"))
    }
    return faults
  }),
  ...repeatedEntries(
    periods.map((period) => canonicalJson(period as unknown as JsonValue)),
    ["policy", "periods"]
  )
]

const policyFaults = (policy: Policy, isKnownZone: (name: string) => boolean): ReadonlyArray<MemberFault> => {
  const faults: Array<MemberFault> = []
  if (minorUnit(policy.currency) === undefined) {
    faults.push(
      fault(
        ["policy", "currency"],
        "invalid_value",
        "must be a current ISO 4217 currency that has a minor unit"
      )
    )
  }
  if (policy.min_amount > policy.max_amount) {
    faults.push(fault(["policy", "min_amount"], "invalid_value", "must not be above max_amount"))
  }
  const rules = policy.attribute_rules ?? []
  faults.push(
    ...repeatedEntries(policy.allowed_actions, ["policy", "allowed_actions"]),
    ...repeatedEntries(policy.allowed_merchants ?? [], ["policy", "allowed_merchants"])
  )
  const names = new Set<string>()
  for (const [index, rule] of rules.entries()) {
    if (names.has(rule.name)) {
      faults.push(fault(["policy", "attribute_rules", index, "name"], "duplicate", "repeats an earlier name"))
    }
    names.add(rule.name)
    faults.push(...repeatedEntries(rule.in, ["policy", "attribute_rules", index, "in"]))
  }
  return [...faults, ...periodFaults(policy.periods ?? [], isKnownZone)]
}

const LAST_YEAR = 9999
/** Last instant that a request can name. */
const LAST_INSTANT = instantOf("9999-12-31T23:59:59.999999999Z")

/**
 * The same date and time {@link WINDOW_MAX_YEARS} calendar years later, or the last instant there is where that comes first.
 * 29 February becomes 28: ten years after a leap year there is none.
 */
const longestAfter = (instant: Instant): Instant => {
  const text = formatInstant(instant)
  const year = Number(text.slice(0, 4)) + WINDOW_MAX_YEARS
  if (year > LAST_YEAR) return LAST_INSTANT
  return instantOf(`${year}${text.slice(4).replace(/^-02-29/u, "-02-28")}`)
}

const windowFaults = (
  terms: ProposedTerms,
  now: Instant,
  deadlineGiven: boolean
): ReadonlyArray<MemberFault> => {
  const startsAt = instantOf(terms.window.starts_at)
  const endsAt = instantOf(terms.window.ends_at)
  const deadline = instantOf(terms.approval_deadline)
  const faults: Array<MemberFault> = []
  if (startsAt < now - BigInt(WINDOW_START_PAST_SECONDS) * NANOS_PER_SECOND) {
    faults.push(fault(["window", "starts_at"], "invalid_value", "must not be more than 24 hours in the past"))
  }
  if (startsAt > longestAfter(now)) {
    faults.push(fault(["window", "starts_at"], "invalid_value", "must not be more than 10 years ahead"))
  }
  if (endsAt <= startsAt || endsAt <= now) {
    faults.push(fault(["window", "ends_at"], "invalid_value", "must be after starts_at and in the future"))
  } else if (endsAt > longestAfter(startsAt)) {
    faults.push(fault(["window", "ends_at"], "invalid_value", "must be at most 10 years after starts_at"))
  }
  // A deadline that was filled in is wrong only where the window is, which is said already.
  if (!deadlineGiven) return faults
  if (deadline <= now) faults.push(fault(["approval_deadline"], "invalid_value", "must be in the future"))
  else if (deadline > endsAt && endsAt > now) {
    faults.push(fault(["approval_deadline"], "invalid_value", "must not be after window.ends_at"))
  }
  return faults
}

const defaultDeadline = (endsAt: string, now: Instant): string => {
  const usual = now + BigInt(APPROVAL_DEADLINE_DEFAULT_SECONDS) * NANOS_PER_SECOND
  return instantOf(endsAt) <= usual ? endsAt : formatNanos(usual)
}

/**
 * Turns a request that fits its schema into the terms of a mandate, defaults filled, or names every rule that it
 * breaks (part 4).
 */
export const proposeTerms = (
  body: CreateMandateBody,
  now: Instant,
  isKnownZone: (name: string) => boolean
): Result.Result<ProposedTerms, ReadonlyArray<MemberFault>> => {
  const ends_at = normalizeTimestamp(body.window.ends_at)
  const terms: ProposedTerms = {
    kind: body.kind,
    subject_reference: body.subject_reference,
    policy: filledPolicy(body),
    window: {
      starts_at:
        body.window.starts_at === undefined ? formatNanos(now) : normalizeTimestamp(body.window.starts_at),
      ends_at
    },
    approval_deadline:
      body.approval_deadline === undefined
        ? defaultDeadline(ends_at, now)
        : normalizeTimestamp(body.approval_deadline),
    ...(body.description === undefined ? {} : { description: body.description })
  }
  const faults = [
    ...kindFaults(body),
    ...policyFaults(terms.policy, isKnownZone),
    ...windowFaults(terms, now, body.approval_deadline !== undefined)
  ]
  return faults.length === 0 ? Result.succeed(terms) : Result.fail(faults)
}
