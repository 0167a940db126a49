import { Schema } from "effect"
import { BASE64URL_OF_32_BYTES } from "./Base64Url.ts"
import { CALLER_DUTIES } from "./CallerDuties.ts"
import { described } from "./Described.ts"
import { MandateId } from "./Identifier.ts"
import { Text, textBetween } from "./Text.ts"
import { callerTimestamp, requestTimestamp, serviceTimestamp } from "./TimestampSchema.ts"

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

/** An integer of `minimum` to `maximum`, which says its unit where it has one. */
export const integerBetween = (minimum: number, maximum: number, unit = "") =>
  Schema.Finite.check(
    Schema.makeFilter((n: number) => Number.isSafeInteger(n) && n >= minimum && n <= maximum, {
      message: `must be an integer of ${minimum} to ${maximum}${unit}`,
      toJsonSchema: () => ({ type: "integer", minimum, maximum })
    })
  )

/** An amount of money: an integer of 1 to 2^53-1 in the currency's minor unit (part 1). */
export const Amount = integerBetween(1, MAX_SAFE_INTEGER, " in the currency's minor unit")

/** A count: an integer of 1 to 2^53-1. */
export const PositiveInteger = integerBetween(1, MAX_SAFE_INTEGER)

/** A counter: an integer of 0 to 2^53-1. */
export const Counter = integerBetween(0, MAX_SAFE_INTEGER)

/** The form of an ISO 4217 code; whether a mandate may use it is the domain's rule. */
export const CurrencyCode = Schema.String.check(
  Schema.makeFilter(
    (code: string) =>
      /^[A-Z]{3}$/.test(code) ? undefined : "must be an upper-case ISO 4217 code of three letters",
    { toJsonSchema: () => ({ pattern: "^[A-Z]{3}$" }) }
  )
)

/** A list of `minimum` to `maximum` entries; that a repeated one is refused is the domain's rule (part 4). */
export const listBetween = <S extends Schema.Top>(item: S, minimum: number, maximum: number) =>
  Schema.Array(item).check(
    Schema.makeFilter(
      (list: ReadonlyArray<unknown>) =>
        list.length >= minimum && list.length <= maximum
          ? undefined
          : `must have ${minimum} to ${maximum} entries`,
      { toJsonSchema: () => ({ minItems: minimum, maxItems: maximum, uniqueItems: true }) }
    )
  )

export const MandateKind = described(
  Schema.Literals(["SINGLE", "RECURRING"]),
  "SINGLE: good for one committed execution; periods, max_total_amount and max_executions are refused. RECURRING: good for many within its periods, of which it needs 1 to 5; it stays ACTIVE until max_total_amount or max_executions is fully committed.",
  "RECURRING"
)
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

const STATE =
  "PENDING_APPROVAL: waits for its subject. SCHEDULED: approved, its window has not begun. ACTIVE: actions can be authorized. Terminal: CONSUMED (used up), REVOKED (by the caller), REJECTED (declined by its subject), EXPIRED (end_reason says why)."

export const EndReason = described(
  Schema.Literals(["APPROVAL_DEADLINE_PASSED", "WINDOW_ENDED"]),
  "Why it is EXPIRED; present in that state only.",
  "WINDOW_ENDED"
)
export type EndReason = typeof EndReason.Type

export const PeriodUnit = described(
  Schema.Literals(["DAY", "WEEK", "MONTH", "YEAR"]),
  "Calendar unit of the period, in its time_zone. Calendar weeks begin on Monday.",
  "MONTH"
)
export const PeriodAlignment = described(
  Schema.Literals(["CALENDAR", "MANDATE"]),
  "CALENDAR (default): periods begin where the calendar's units do; needs interval 1. MANDATE: they are counted from the local date of window.starts_at, and months and years clamp to the end of a shorter month.",
  "CALENDAR"
)
export const FirstPeriod = described(
  Schema.Literals(["FULL", "PRORATED"]),
  "FULL (default): the first period has the whole budget however late in it the mandate starts. PRORATED: floor(cap x remaining time / time of the whole period), of both caps.",
  "FULL"
)

const PeriodInterval = described(
  integerBetween(1, MAX_PERIOD_INTERVAL),
  "Units in a period. Default 1; others need alignment MANDATE.",
  1
)

const TimeZone = described(
  Text,
  "Name of a zone or link in the tz database, in its exact case; offsets are refused. Default UTC. Its rules are fixed when the mandate is created: a later change of law moves no boundary.",
  "Europe/Berlin"
)

const PeriodMaxAmount = described(
  Amount,
  "Most that can be authorized in each period, in minor units of the policy's currency. A period has max_amount, max_executions, or both.",
  20000
)
const PeriodMaxExecutions = described(
  PositiveInteger,
  "Most executions that can be authorized in each period. A period has max_amount, max_executions, or both.",
  5
)

/** A budget period as a request may give it. */
export const PeriodInput = described(
  Schema.Struct({
    unit: PeriodUnit,
    interval: Schema.optionalKey(PeriodInterval),
    alignment: Schema.optionalKey(PeriodAlignment),
    time_zone: Schema.optionalKey(TimeZone),
    first_period: Schema.optionalKey(FirstPeriod),
    max_amount: Schema.optionalKey(PeriodMaxAmount),
    max_executions: Schema.optionalKey(PeriodMaxExecutions)
  }),
  "A budget that begins anew with each period; nothing unused carries over. At least one of max_amount and max_executions is required.",
  { unit: "MONTH", time_zone: "Europe/Berlin", max_amount: 20000 }
)
export type PeriodInput = typeof PeriodInput.Type

/** A budget period as stored, with its defaults filled. */
export const Period = Schema.Struct({
  unit: PeriodUnit,
  interval: PeriodInterval,
  alignment: PeriodAlignment,
  time_zone: TimeZone,
  first_period: FirstPeriod,
  max_amount: Schema.optionalKey(PeriodMaxAmount),
  max_executions: Schema.optionalKey(PeriodMaxExecutions)
})
export type Period = typeof Period.Type

/** An attribute name: 1 to 64 code points. */
export const AttributeName = textBetween(1, ATTRIBUTE_NAME_MAX_CODE_POINTS)

export const AttributeRule = described(
  Schema.Struct({
    name: described(
      AttributeName,
      "Name of the attribute of the proposed action. No two rules have the same.",
      "category"
    ),
    in: described(
      listBetween(Text, 1, MAX_ATTRIBUTE_RULE_VALUES),
      "Values that are allowed, compared exactly. A repeated one is refused.",
      ["books", "music"]
    )
  }),
  "The attribute must be there and have one of the values. Without it in the proposed action the decision is INDETERMINATE.",
  { name: "category", in: ["books", "music"] }
)
export type AttributeRule = typeof AttributeRule.Type

const policyRules = {
  currency: described(
    CurrencyCode,
    "Current ISO 4217 code of a currency with a minor unit: no metals, no funds, no withdrawn codes. An action in another currency is denied.",
    "EUR"
  ),
  max_amount: described(
    Amount,
    "Most that one action may cost, in minor units of currency (5000 is EUR 50.00, JPY 5000). Not below min_amount.",
    5000
  ),
  allowed_actions: described(
    listBetween(Text, 1, MAX_ALLOWED_ACTIONS),
    "Values of proposed_action.action that are allowed, compared exactly. A repeated one is refused.",
    ["card.create"]
  ),
  allowed_merchants: Schema.optionalKey(
    described(
      listBetween(Text, 1, MAX_ALLOWED_MERCHANTS),
      "Values of proposed_action.attributes.merchant that are allowed, compared exactly; absent: any. A repeated one is refused. Without that attribute in the action the decision is INDETERMINATE.",
      ["mrc_42"]
    )
  ),
  attribute_rules: Schema.optionalKey(
    described(
      listBetween(AttributeRule, 0, MAX_ATTRIBUTE_RULES),
      "Rules about attributes of the proposed action, all of which must hold. Their names are distinct.",
      [{ name: "category", in: ["books", "music"] }]
    )
  ),
  max_total_amount: Schema.optionalKey(
    described(
      Amount,
      `Most that can be authorized over the life of the mandate, in minor units of currency. RECURRING only. Left out, it is ${MAX_SAFE_INTEGER}, the largest amount there is: the periods alone limit the mandate.`,
      60000
    )
  ),
  max_executions: Schema.optionalKey(
    described(
      PositiveInteger,
      "Most executions over the life of the mandate; absent: the periods alone limit them. RECURRING only.",
      24
    )
  )
}

const MinimumAmount = described(
  Amount,
  "Least that one action may cost, in minor units of currency. Default 1; not above max_amount.",
  1
)

/** The policy as a request may give it (part 4). */
export const PolicyInput = described(
  Schema.Struct({
    ...policyRules,
    min_amount: Schema.optionalKey(MinimumAmount),
    periods: Schema.optionalKey(
      described(
        listBetween(PeriodInput, 1, MAX_PERIODS),
        "Budgets by period, all of which must have room. RECURRING needs 1 to 5, SINGLE has none. A repeated one is refused, compared with defaults filled.",
        [{ unit: "MONTH", time_zone: "Europe/Berlin", max_amount: 20000 }]
      )
    )
  }),
  "What the end user is asked to allow. Immutable once created, and covered by policy_digest. SINGLE has no periods, max_total_amount or max_executions."
)
export type PolicyInput = typeof PolicyInput.Type

/** The policy as stored: immutable, defaults filled, covered by `policy_digest`. */
export const Policy = described(
  Schema.Struct({
    ...policyRules,
    min_amount: MinimumAmount,
    periods: Schema.optionalKey(
      described(
        Schema.Array(Period),
        "Budgets by period, all of which must have room, with defaults filled. RECURRING only."
      )
    )
  }),
  "What the end user is asked to allow: as given, with defaults filled. It never changes, and policy_digest covers it."
)
export type Policy = typeof Policy.Type

const SUBJECT_REFERENCE = `Your stable identifier of the end user, equal to sub of the identity assertion with which the mandate is approved. ${CALLER_DUTIES.opaqueSubject}`

const subjectReference = described(Text, SUBJECT_REFERENCE, "user_8f2")
const mandateDescription = described(
  Text,
  "Shown to the end user on the approval page, as text.",
  "Monthly books"
)

/** Body of POST /v1/mandates. */
export const CreateMandateBody = Schema.Struct({
  kind: MandateKind,
  subject_reference: subjectReference,
  policy: PolicyInput,
  window: described(
    Schema.Struct({
      starts_at: Schema.optionalKey(
        requestTimestamp(
          "First instant at which actions can be authorized; default now. At most 24 hours past and 10 years ahead.",
          "2026-12-01T00:00:00Z"
        )
      ),
      ends_at: requestTimestamp(
        "Instant from which on nothing can be authorized. After starts_at and after now, at most 10 years after starts_at.",
        "2030-01-01T00:00:00Z"
      )
    }),
    "When actions can be authorized: half-open, [starts_at, ends_at).",
    { ends_at: "2030-01-01T00:00:00Z" as never }
  ),
  approval_deadline: Schema.optionalKey(
    requestTimestamp(
      "Instant at which an unapproved mandate expires. After now and not after window.ends_at; default the earlier of 24 hours from now and window.ends_at.",
      "2029-12-31T00:00:00Z"
    )
  ),
  description: Schema.optionalKey(mandateDescription)
})
export type CreateMandateBody = typeof CreateMandateBody.Type

/** Body of PUT /v1/mandates/{mandate_id}/revocation. */
export const RevokeMandateBody = Schema.Struct({
  reason: described(
    textBetween(1, REVOCATION_REASON_MAX_CODE_POINTS),
    "Why, in your words. Kept in the journal and in evidence, so without personal data. The same reason again is the same revocation; another is a state conflict.",
    "The user closed the account."
  )
})
export type RevokeMandateBody = typeof RevokeMandateBody.Type

/** Half-open validity window [starts_at, ends_at). */
export const Window = described(
  Schema.Struct({
    starts_at: callerTimestamp(
      "First instant at which actions can be authorized. The instant of creation if none was given."
    ),
    ends_at: callerTimestamp("Instant from which on nothing can be authorized.")
  }),
  "When actions can be authorized: half-open, [starts_at, ends_at)."
)
export type Window = typeof Window.Type

/** The six counters of a budget; amounts in minor units. */
export const usageCounters = {
  committed_amount: described(Counter, "Sum of the committed authorizations, in minor units.", 4200),
  reserved_amount: described(Counter, "Sum of the open reservations, in minor units.", 0),
  late_amount: described(
    Counter,
    "Sum of what was reported as executed after its authorization had expired or been cancelled, in minor units. It takes room like what is committed.",
    0
  ),
  committed_executions: described(Counter, "Committed authorizations.", 1),
  reserved_executions: described(Counter, "Open reservations.", 0),
  late_executions: described(Counter, "Executions reported too late.", 0)
}

const PeriodIndex = described(Counter, "Index of the period in policy.periods, from 0.", 0)
const periodBounds = {
  period: PeriodIndex,
  starts_at: serviceTimestamp("First instant of the period."),
  ends_at: serviceTimestamp("First instant after the period."),
  max_amount: Schema.optionalKey(
    described(Counter, "Cap of this period in minor units, prorated where the policy says so.", 20000)
  ),
  max_executions: Schema.optionalKey(
    described(Counter, "Cap of this period in executions, prorated where the policy says so.", 5)
  )
}

/** Usage within one period of the policy, with its bounds and its caps as prorated. */
export const PeriodUsage = Schema.Struct({ ...periodBounds, ...usageCounters })
export type PeriodUsage = typeof PeriodUsage.Type

/** Usage of a mandate: its totals and its current periods. */
export const Usage = described(
  Schema.Struct({
    ...usageCounters,
    periods: described(
      Schema.Array(PeriodUsage),
      "The current period of each entry of policy.periods; before the window the first, after it the last. Empty for SINGLE."
    )
  }),
  "What is used of the budgets. The room of a cap is the cap less committed, reserved and late."
)
export type Usage = typeof Usage.Type

const mandateMembers = {
  id: described(MandateId, "Identifier of the mandate.", "mnd_01kbcd2e3f4g5h6j7k8m9npqrs" as never),
  kind: MandateKind,
  subject_reference: subjectReference,
  state: described(MandateStateName, STATE, "ACTIVE"),
  version: described(PositiveInteger, "1 at creation, one more with each change of state.", 2),
  policy: Policy,
  policy_digest: described(
    Schema.String.check(Schema.isPattern(BASE64URL_OF_32_BYTES)),
    'base64url(SHA-256("svc:mandate:policy:v1" || LF || JCS(policy))), JCS being RFC 8785: 43 characters.',
    "3J8bYqk0o1tVf4b0VYyX8k1mT2rX3sZc6dQ9wE5uHnA"
  ),
  window: Window,
  approval_deadline: callerTimestamp(
    "Instant at which the mandate expires unless it was approved. Set by the service, with nine digits, if none was given."
  ),
  description: Schema.optionalKey(mandateDescription),
  created_at: serviceTimestamp("When it was created."),
  updated_at: serviceTimestamp("When its last event occurred."),
  approved_at: Schema.optionalKey(serviceTimestamp("When its subject approved it; absent before.")),
  ended_at: Schema.optionalKey(serviceTimestamp("When it came to its terminal state; absent before.")),
  end_reason: Schema.optionalKey(EndReason),
  revocation: Schema.optionalKey(
    described(
      Schema.Struct({
        reason: described(Schema.String, "The reason as given.", "The user closed the account.")
      }),
      "Present in the state REVOKED only."
    )
  )
}

/** The mandate as evidence carries it: the resource without `usage`. */
export const MandateRecord = Schema.Struct(mandateMembers)
export type MandateRecord = typeof MandateRecord.Type

/** The mandate resource (part 4). */
export const Mandate = Schema.Struct({ ...mandateMembers, usage: Usage })
export type Mandate = typeof Mandate.Type

/** One entry of GET /v1/mandates/{mandate_id}/periods. */
export const PeriodEntry = Schema.Struct(periodBounds)
export type PeriodEntry = typeof PeriodEntry.Type
