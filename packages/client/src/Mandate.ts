/** `SINGLE`: good for one committed execution. `RECURRING`: good for many within its periods. */
export type MandateKind = "SINGLE" | "RECURRING"

/** The last four are terminal. */
export type MandateState =
  | "PENDING_APPROVAL"
  | "SCHEDULED"
  | "ACTIVE"
  | "CONSUMED"
  | "REVOKED"
  | "REJECTED"
  | "EXPIRED"

/** The unit that a budget period is counted in, in its time zone. */
export type PeriodUnit = "DAY" | "WEEK" | "MONTH" | "YEAR"

/** `CALENDAR`: periods begin where the calendar's units do. `MANDATE`: they are counted from `window.starts_at`. */
export type PeriodAlignment = "CALENDAR" | "MANDATE"

/** Whether a first period that has begun already has its whole budget, or the part that its remaining time is. */
export type FirstPeriod = "FULL" | "PRORATED"

/** A budget that begins anew with each period. At least one of `max_amount` and `max_executions` is required. */
export interface PeriodInput {
  readonly unit: PeriodUnit
  /** Units in a period. Default 1; others need `alignment` `MANDATE`. */
  readonly interval?: number
  readonly alignment?: PeriodAlignment
  /** Name in the tz database, such as `Europe/Berlin`. Default `UTC`. */
  readonly time_zone?: string
  readonly first_period?: FirstPeriod
  /** Minor units of the policy's currency. */
  readonly max_amount?: number
  readonly max_executions?: number
}

/** A budget period with its defaults filled. */
export interface Period {
  readonly unit: PeriodUnit
  readonly interval: number
  readonly alignment: PeriodAlignment
  readonly time_zone: string
  readonly first_period: FirstPeriod
  readonly max_amount?: number
  readonly max_executions?: number
}

/** Values of an attribute that are allowed, compared exactly. */
export interface AttributeRule {
  readonly name: string
  readonly in: ReadonlyArray<string>
}

interface PolicyRules {
  /** ISO 4217 code, in upper case. */
  readonly currency: string
  /** Most that one action may cost, in minor units of `currency`: 5000 is EUR 50.00. */
  readonly max_amount: number
  readonly allowed_actions: ReadonlyArray<string>
  readonly allowed_merchants?: ReadonlyArray<string>
  readonly attribute_rules?: ReadonlyArray<AttributeRule>
  /** Minor units over the life of the mandate. `RECURRING` only. */
  readonly max_total_amount?: number
  /** `RECURRING` only. */
  readonly max_executions?: number
}

/** What the end user is asked to allow. */
export interface PolicyInput extends PolicyRules {
  readonly min_amount?: number
  /** `RECURRING` needs 1 to 5, `SINGLE` has none. */
  readonly periods?: ReadonlyArray<PeriodInput>
}

/** What the end user is asked to allow, with defaults filled. It never changes. */
export interface Policy extends PolicyRules {
  readonly min_amount: number
  readonly periods?: ReadonlyArray<Period>
}

/** When actions can be authorized: half-open, `[starts_at, ends_at)`. Timestamps are RFC 3339 in UTC. */
export interface WindowInput {
  /** Default: now. */
  readonly starts_at?: string
  readonly ends_at: string
}

/** The window of a mandate, with its beginning filled in. Timestamps are RFC 3339 in UTC. */
export interface Window {
  readonly starts_at: string
  readonly ends_at: string
}

/** What a mandate is made of. It never changes; to change something, revoke it and have another approved. */
export interface MandateInput {
  readonly kind: MandateKind
  /** Your stable identifier of the end user. It goes into evidence, so no personal data. */
  readonly subject_reference: string
  readonly policy: PolicyInput
  readonly window: WindowInput
  /** When an unapproved mandate expires. Default: the earlier of 24 hours from now and `window.ends_at`. */
  readonly approval_deadline?: string
  /** Shown to the end user on the approval page. */
  readonly description?: string
}

/** Six counters of a budget; amounts in minor units. The room of a cap is the cap less committed, reserved and late. */
interface UsageCounters {
  readonly committed_amount: number
  readonly reserved_amount: number
  readonly late_amount: number
  readonly committed_executions: number
  readonly reserved_executions: number
  readonly late_executions: number
}

/** Bounds of one budget period, and its caps as prorated. */
export interface BudgetPeriod {
  /** Index in `policy.periods`. */
  readonly period: number
  readonly starts_at: string
  readonly ends_at: string
  readonly max_amount?: number
  readonly max_executions?: number
}

/** What is used of one budget period. Amounts are in minor units. */
export interface PeriodUsage extends BudgetPeriod, UsageCounters {}

/** What is used of a mandate, over its life and in its current periods. Amounts are in minor units. */
export interface Usage extends UsageCounters {
  /** The current period of each entry of `policy.periods`. Empty for `SINGLE`. */
  readonly periods: ReadonlyArray<PeriodUsage>
}

/** What an end user is asked to allow, its state, and what is used of it. */
export interface Mandate {
  readonly id: string
  readonly kind: MandateKind
  readonly subject_reference: string
  readonly state: MandateState
  /** 1 at creation, one more with each change of state. */
  readonly version: number
  readonly policy: Policy
  readonly policy_digest: string
  readonly window: Window
  readonly approval_deadline: string
  readonly description?: string
  readonly created_at: string
  readonly updated_at: string
  readonly approved_at?: string
  readonly ended_at?: string
  /** In the state `EXPIRED` only. */
  readonly end_reason?: "APPROVAL_DEADLINE_PASSED" | "WINDOW_ENDED"
  /** In the state `REVOKED` only. */
  readonly revocation?: RevocationInput
  readonly usage: Usage
}

/** Which mandates are listed. */
export interface MandateListQuery {
  /** Entries of a page, 1 to 100. Default 25. */
  readonly limit?: number | undefined
  /** `next_cursor` of the page before, under the same filters. */
  readonly cursor?: string | undefined
  readonly state?: MandateState | undefined
  readonly subject_reference?: string | undefined
}

/** Why a mandate is taken back. */
export interface RevocationInput {
  /** 1 to 500 characters. It goes into evidence, so no personal data. */
  readonly reason: string
}

/** Which budget periods are shown. */
export interface PeriodsQuery {
  /** The first period of each entry contains this instant. Default: now. */
  readonly from?: string | undefined
  /** Entries for each period of the policy, 1 to 100. Default 12. */
  readonly limit?: number | undefined
}

/** Budget periods of a mandate, earliest first. */
export interface BudgetPeriods {
  readonly data: ReadonlyArray<BudgetPeriod>
}

/** All but `OPEN` are terminal. */
export type ApprovalSessionState = "OPEN" | "COMPLETED" | "REJECTED" | "EXPIRED" | "SUPERSEDED"

/** Who the end user is, and where the browser goes after the approval page. */
export interface ApprovalSessionInput {
  /** A compact JWS that names the end user, under a key of the organization. */
  readonly identity_assertion: string
  /** Where the browser goes afterwards: an address of a registered origin. */
  readonly return_url: string
  /** 16 to 512 characters, drawn anew for each session. Compare it when the browser comes back. */
  readonly return_state: string
}

/** One opportunity to approve a mandate, in the browser of its subject. */
export interface ApprovalSession {
  readonly id: string
  readonly mandate_id: string
  readonly state: ApprovalSessionState
  readonly created_at: string
  readonly expires_at: string
  /** A bearer secret, good once, present only while `OPEN`: redirect the user's browser to it and keep it out of logs. */
  readonly approval_url?: string
}
