import { Schema } from "effect"
import { MandateId } from "./Identifier.ts"
import { Text, textBetween } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"

/** Largest amount and largest count the interface can carry: 2^53-1. */
export const MAX_SAFE_INTEGER = 9007199254740991
/** Most entries of `policy.allowed_actions`. */
export const MAX_ALLOWED_ACTIONS = 50
/** Most entries of `policy.allowed_merchants`. */
export const MAX_ALLOWED_MERCHANTS = 100
/** Most entries of `policy.attribute_rules`. */
export const MAX_ATTRIBUTE_RULES = 20
/** Most values of one attribute rule. */
export const MAX_ATTRIBUTE_RULE_VALUES = 100
/** Most entries of `policy.periods`. */
export const MAX_PERIODS = 5
/** Longest interval of a period, in its unit. */
export const MAX_PERIOD_INTERVAL = 366
/** Longest name of an attribute, in code points. */
export const ATTRIBUTE_NAME_MAX_CODE_POINTS = 64
/** Longest reason of a revocation, in code points. */
export const REVOCATION_REASON_MAX_CODE_POINTS = 500

/** An amount in the currency's minor unit, or a count: an integer of 1 to 2^53-1 (part 1). */
export const PositiveInteger = Schema.Number.check(
  Schema.makeFilter((n: number) =>
    Number.isSafeInteger(n) && n >= 1 ? undefined : `must be an integer of 1 to ${MAX_SAFE_INTEGER}`
  )
)

/** A counter: an integer of 0 to 2^53-1. */
export const Counter = Schema.Number.check(
  Schema.makeFilter((n: number) =>
    Number.isSafeInteger(n) && n >= 0 ? undefined : `must be an integer of 0 to ${MAX_SAFE_INTEGER}`
  )
)

/** The form of an ISO 4217 code; whether a mandate may use it is the domain's rule. */
export const CurrencyCode = Schema.String.check(
  Schema.makeFilter((code: string) =>
    /^[A-Z]{3}$/.test(code) ? undefined : "must be an upper-case ISO 4217 code of three letters"
  )
)

/** A list of `minimum` to `maximum` entries. */
export const listBetween = <S extends Schema.Top>(item: S, minimum: number, maximum: number) =>
  Schema.Array(item).check(
    Schema.makeFilter((list: ReadonlyArray<unknown>) =>
      list.length >= minimum && list.length <= maximum
        ? undefined
        : `must have ${minimum} to ${maximum} entries`
    )
  )

export const MandateKind = Schema.Literals(["SINGLE", "RECURRING"])
export type MandateKind = typeof MandateKind.Type

/** States of a mandate (part 4); the last four are terminal. */
export const MandateStateName = Schema.Literals([
  "PENDING_APPROVAL",
  "SCHEDULED",
  "ACTIVE",
  "CONSUMED",
  "REVOKED",
  "REJECTED",
  "EXPIRED"
])
export type MandateStateName = typeof MandateStateName.Type

export const EndReason = Schema.Literals(["APPROVAL_DEADLINE_PASSED", "WINDOW_ENDED"])
export type EndReason = typeof EndReason.Type

export const PeriodUnit = Schema.Literals(["DAY", "WEEK", "MONTH", "YEAR"])
export const PeriodAlignment = Schema.Literals(["CALENDAR", "MANDATE"])
export const FirstPeriod = Schema.Literals(["FULL", "PRORATED"])

const PeriodInterval = Schema.Number.check(
  Schema.makeFilter((n: number) =>
    Number.isInteger(n) && n >= 1 && n <= MAX_PERIOD_INTERVAL
      ? undefined
      : `must be an integer of 1 to ${MAX_PERIOD_INTERVAL}`
  )
)

/** A budget period as a request may give it. */
export const PeriodInput = Schema.Struct({
  unit: PeriodUnit,
  interval: Schema.optionalKey(PeriodInterval),
  alignment: Schema.optionalKey(PeriodAlignment),
  time_zone: Schema.optionalKey(Text),
  first_period: Schema.optionalKey(FirstPeriod),
  max_amount: Schema.optionalKey(PositiveInteger),
  max_executions: Schema.optionalKey(PositiveInteger)
})
export type PeriodInput = typeof PeriodInput.Type

/** A budget period as stored, with its defaults filled. */
export const Period = Schema.Struct({
  unit: PeriodUnit,
  interval: PeriodInterval,
  alignment: PeriodAlignment,
  time_zone: Text,
  first_period: FirstPeriod,
  max_amount: Schema.optionalKey(PositiveInteger),
  max_executions: Schema.optionalKey(PositiveInteger)
})
export type Period = typeof Period.Type

/** An attribute name: 1 to 64 code points. */
export const AttributeName = textBetween(1, ATTRIBUTE_NAME_MAX_CODE_POINTS)

export const AttributeRule = Schema.Struct({
  name: AttributeName,
  in: listBetween(Text, 1, MAX_ATTRIBUTE_RULE_VALUES)
})
export type AttributeRule = typeof AttributeRule.Type

const policyRules = {
  currency: CurrencyCode,
  max_amount: PositiveInteger,
  allowed_actions: listBetween(Text, 1, MAX_ALLOWED_ACTIONS),
  allowed_merchants: Schema.optionalKey(listBetween(Text, 1, MAX_ALLOWED_MERCHANTS)),
  attribute_rules: Schema.optionalKey(listBetween(AttributeRule, 0, MAX_ATTRIBUTE_RULES)),
  max_total_amount: Schema.optionalKey(PositiveInteger),
  max_executions: Schema.optionalKey(PositiveInteger)
}

/** The policy as a request may give it (part 4). */
export const PolicyInput = Schema.Struct({
  ...policyRules,
  min_amount: Schema.optionalKey(PositiveInteger),
  periods: Schema.optionalKey(listBetween(PeriodInput, 1, MAX_PERIODS))
})
export type PolicyInput = typeof PolicyInput.Type

/** The policy as stored: immutable, defaults filled, covered by `policy_digest`. */
export const Policy = Schema.Struct({
  ...policyRules,
  min_amount: PositiveInteger,
  periods: Schema.optionalKey(Schema.Array(Period))
})
export type Policy = typeof Policy.Type

/** Body of POST /v1/mandates. */
export const CreateMandateBody = Schema.Struct({
  kind: MandateKind,
  subject_reference: Text,
  policy: PolicyInput,
  window: Schema.Struct({ starts_at: Schema.optionalKey(Timestamp), ends_at: Timestamp }),
  approval_deadline: Schema.optionalKey(Timestamp),
  description: Schema.optionalKey(Text)
})
export type CreateMandateBody = typeof CreateMandateBody.Type

/** Body of PUT /v1/mandates/{mandate_id}/revocation. */
export const RevokeMandateBody = Schema.Struct({
  reason: textBetween(1, REVOCATION_REASON_MAX_CODE_POINTS)
})
export type RevokeMandateBody = typeof RevokeMandateBody.Type

/** Half-open validity window [starts_at, ends_at). */
export const Window = Schema.Struct({ starts_at: Schema.String, ends_at: Schema.String })
export type Window = typeof Window.Type

/** The six counters of a budget; amounts in minor units. */
export const usageCounters = {
  committed_amount: Counter,
  reserved_amount: Counter,
  late_amount: Counter,
  committed_executions: Counter,
  reserved_executions: Counter,
  late_executions: Counter
}

/** Usage within one period of the policy, with its bounds and its caps as prorated. */
export const PeriodUsage = Schema.Struct({
  period: Counter,
  starts_at: Schema.String,
  ends_at: Schema.String,
  max_amount: Schema.optionalKey(Counter),
  max_executions: Schema.optionalKey(Counter),
  ...usageCounters
})
export type PeriodUsage = typeof PeriodUsage.Type

/** Usage of a mandate: its totals and its current periods. */
export const Usage = Schema.Struct({ ...usageCounters, periods: Schema.Array(PeriodUsage) })
export type Usage = typeof Usage.Type

const mandateMembers = {
  id: MandateId,
  kind: MandateKind,
  subject_reference: Schema.String,
  state: MandateStateName,
  version: PositiveInteger,
  policy: Policy,
  policy_digest: Schema.String,
  window: Window,
  approval_deadline: Schema.String,
  description: Schema.optionalKey(Schema.String),
  created_at: Schema.String,
  updated_at: Schema.String,
  approved_at: Schema.optionalKey(Schema.String),
  ended_at: Schema.optionalKey(Schema.String),
  end_reason: Schema.optionalKey(EndReason),
  revocation: Schema.optionalKey(Schema.Struct({ reason: Schema.String }))
}

/** The mandate as evidence carries it: the resource without `usage`. */
export const MandateRecord = Schema.Struct(mandateMembers)
export type MandateRecord = typeof MandateRecord.Type

/** The mandate resource (part 4). */
export const Mandate = Schema.Struct({ ...mandateMembers, usage: Usage })
export type Mandate = typeof Mandate.Type

/** One entry of GET /v1/mandates/{mandate_id}/periods. */
export const PeriodEntry = Schema.Struct({
  period: Counter,
  starts_at: Schema.String,
  ends_at: Schema.String,
  max_amount: Schema.optionalKey(Counter),
  max_executions: Schema.optionalKey(Counter)
})
export type PeriodEntry = typeof PeriodEntry.Type
