/** Whatever is not `ALLOW` is a no. */
export type Decision = "ALLOW" | "DENY" | "INDETERMINATE"

/** All but `RESERVED` are terminal. */
export type AuthorizationState =
  | "RESERVED"
  | "COMMITTED"
  | "CANCELLED"
  | "EXPIRED"
  | "DENIED"
  | "INDETERMINATE"

/** The action to be decided on. Immutable: execute this one and no other. */
export interface ProposedAction {
  readonly action: string
  readonly attributes?: { readonly [name: string]: string }
  readonly payment: {
    /** Minor units of `currency`: 4200 is EUR 42.00. */
    readonly amount: number
    /** ISO 4217 code, in upper case. */
    readonly currency: string
  }
}

/** An action that you ask about before you execute it. */
export interface ProposalInput {
  /** Your reference of the operation. It need not be unique; no personal data. */
  readonly external_reference: string
  readonly proposed_action: ProposedAction
  /** For how long the amount is reserved, 30 to 86,400 seconds. */
  readonly execution_window_seconds: number
  /** Binds the proposal to an opening that you keep until the commit: see `createCommitment`. */
  readonly commitment: string
}

/** The rule that a reason is about. New codes may be added. */
export type ReasonCode =
  | "MANDATE_NOT_APPROVED"
  | "MANDATE_NOT_STARTED"
  | "MANDATE_EXPIRED"
  | "MANDATE_REVOKED"
  | "MANDATE_REJECTED"
  | "MANDATE_CONSUMED"
  | "MANDATE_RESERVED"
  | "ACTION_NOT_ALLOWED"
  | "MERCHANT_NOT_ALLOWED"
  | "ATTRIBUTE_NOT_ALLOWED"
  | "CURRENCY_NOT_ALLOWED"
  | "AMOUNT_ABOVE_MAXIMUM"
  | "AMOUNT_BELOW_MINIMUM"
  | "PERIOD_AMOUNT_EXCEEDED"
  | "PERIOD_EXECUTIONS_EXCEEDED"
  | "TOTAL_AMOUNT_EXCEEDED"
  | "TOTAL_EXECUTIONS_EXCEEDED"
  | "ATTRIBUTE_MISSING"
  | "CAPACITY_UNRESOLVED"

/** One rule that is broken or cannot be decided. Amounts are in minor units. */
export interface Reason {
  readonly code: ReasonCode
  /** RFC 6901 pointer into the request or the mandate's policy; empty where it is the mandate itself. */
  readonly pointer: string
  readonly detail: string
  readonly limit?: number
  readonly requested?: number
  readonly used?: number
  readonly reserved?: number
  readonly period?: number
  readonly resets_at?: string
  /** Names of the attributes that a new proposal must have. */
  readonly resolve_with?: ReadonlyArray<string>
  readonly conflicting_authorizations?: ReadonlyArray<string>
}

/** What a commit reported. */
export interface CommitReport {
  readonly external_action_reference: string
  readonly provider_transaction_reference: string
  readonly reported_accepted_at: string
}

/** The report that your provider definitely accepted the action, with the opening that proves whose report it is. */
export interface CommitInput extends CommitReport {
  /** What the commitment of the proposal was made from. */
  readonly commitment_opening: string
}

/** Why the action did not happen. */
export type CancellationReason =
  | "EXECUTION_FAILED"
  | "EXECUTOR_REJECTED"
  | "EXECUTOR_UNAVAILABLE"
  | "USER_WITHDREW"
  | "CALLER_ABORTED"
  | "DUPLICATE"

/**
 * `NO_LONGER_POSSIBLE`: every external capability is disabled, and `external_credential_reference` names it.
 * `NEVER_BECAME_POSSIBLE`: none ever became usable.
 */
export type ExecutionDisposition = "NO_LONGER_POSSIBLE" | "NEVER_BECAME_POSSIBLE"

/** The report that the action definitely did not happen and no longer can. */
export interface CancellationInput {
  readonly reason: CancellationReason
  readonly execution_disposition: ExecutionDisposition
  /** Required with `NO_LONGER_POSSIBLE`. */
  readonly external_credential_reference?: string
}

/** The report of a refund of a committed authorization. It gives no room back to the budget. */
export interface RefundInput {
  /** Minor units of `currency`. The sum of all refunds is not above the committed amount. */
  readonly amount: number
  readonly currency: string
  readonly provider_refund_reference: string
  readonly reported_refunded_at: string
}

/** A proposed action, the decision on it, and what became of it. */
export interface Authorization {
  readonly id: string
  readonly mandate_id: string
  readonly external_reference: string
  readonly decision: Decision
  /** Empty on `ALLOW`. */
  readonly reasons: ReadonlyArray<Reason>
  readonly state: AuthorizationState
  /** One of the conditions for executing; see `execute`. */
  readonly can_execute: boolean
  /** Only when `decision` is `ALLOW`. */
  readonly execute_before?: string
  readonly proposed_action: ProposedAction
  readonly commitment: string
  readonly created_at: string
  readonly closed_at?: string
  readonly commit?: CommitReport
  readonly cancellation?: CancellationInput
  readonly refunds?: ReadonlyArray<RefundInput>
}

/** Which authorizations of a mandate are listed. */
export interface AuthorizationListQuery {
  /** Entries of a page, 1 to 100. Default 25. */
  readonly limit?: number | undefined
  /** `next_cursor` of the page before, under the same filters. */
  readonly cursor?: string | undefined
  readonly state?: AuthorizationState | undefined
}
