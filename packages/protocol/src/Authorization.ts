import { Schema } from "effect"
import { Commitment, CommitmentOpening } from "./Commitment.ts"
import { AuthorizationId, MandateId } from "./Identifier.ts"
import { AttributeName, Counter, CurrencyCode, PositiveInteger } from "./Mandate.ts"
import { Text } from "./Text.ts"
import { Timestamp } from "./Timestamp.ts"

/** Most attributes of a proposed action. */
export const MAX_ATTRIBUTES = 50
/** Shortest and longest `execution_window_seconds`. */
export const EXECUTION_WINDOW_MIN_SECONDS = 30
export const EXECUTION_WINDOW_MAX_SECONDS = 86_400

export const Decision = Schema.Literals(["ALLOW", "DENY", "INDETERMINATE"])
export type Decision = typeof Decision.Type

/** States of an authorization (part 5). */
export const AuthorizationStateName = Schema.Literals([
  "RESERVED",
  "COMMITTED",
  "CANCELLED",
  "EXPIRED",
  "DENIED",
  "INDETERMINATE"
])
export type AuthorizationStateName = typeof AuthorizationStateName.Type

/** `attributes`: up to 50 string values under names of 1 to 64 code points. */
export const Attributes = Schema.Record(AttributeName, Text).check(
  Schema.makeFilter((attributes: Readonly<Record<string, string>>) =>
    Object.keys(attributes).length <= MAX_ATTRIBUTES
      ? undefined
      : `must have at most ${MAX_ATTRIBUTES} members`
  )
)

/** The immutable action that a caller proposes. */
export const ProposedAction = Schema.Struct({
  action: Text,
  attributes: Schema.optionalKey(Attributes),
  payment: Schema.Struct({ amount: PositiveInteger, currency: CurrencyCode })
})
export type ProposedAction = typeof ProposedAction.Type

/** Body of POST /v1/mandates/{mandate_id}/authorizations. */
export const CreateAuthorizationBody = Schema.Struct({
  external_reference: Text,
  proposed_action: ProposedAction,
  execution_window_seconds: Schema.Number.check(
    Schema.makeFilter((n: number) =>
      Number.isInteger(n) && n >= EXECUTION_WINDOW_MIN_SECONDS && n <= EXECUTION_WINDOW_MAX_SECONDS
        ? undefined
        : `must be an integer of ${EXECUTION_WINDOW_MIN_SECONDS} to ${EXECUTION_WINDOW_MAX_SECONDS} (seconds)`
    )
  ),
  commitment: Commitment
})
export type CreateAuthorizationBody = typeof CreateAuthorizationBody.Type

/** Body of PUT /v1/authorizations/{authorization_id}/commit. */
export const CommitBody = Schema.Struct({
  external_action_reference: Text,
  provider_transaction_reference: Text,
  reported_accepted_at: Timestamp,
  commitment_opening: CommitmentOpening
})
export type CommitBody = typeof CommitBody.Type

export const CancellationReason = Schema.Literals([
  "EXECUTION_FAILED",
  "EXECUTOR_REJECTED",
  "EXECUTOR_UNAVAILABLE",
  "USER_WITHDREW",
  "CALLER_ABORTED",
  "DUPLICATE"
])
export const ExecutionDisposition = Schema.Literals(["NO_LONGER_POSSIBLE", "NEVER_BECAME_POSSIBLE"])

/** Body of PUT /v1/authorizations/{authorization_id}/cancellation. */
export const CancellationBody = Schema.Struct({
  reason: CancellationReason,
  execution_disposition: ExecutionDisposition,
  external_credential_reference: Schema.optionalKey(Text)
})
export type CancellationBody = typeof CancellationBody.Type

/** Body of POST /v1/authorizations/{authorization_id}/refunds. */
export const RefundBody = Schema.Struct({
  amount: PositiveInteger,
  currency: CurrencyCode,
  provider_refund_reference: Text,
  reported_refunded_at: Timestamp
})
export type RefundBody = typeof RefundBody.Type

/** Codes of a definite refusal. */
export const DenyCode = Schema.Literals([
  "MANDATE_NOT_APPROVED",
  "MANDATE_NOT_STARTED",
  "MANDATE_EXPIRED",
  "MANDATE_REVOKED",
  "MANDATE_REJECTED",
  "MANDATE_CONSUMED",
  "MANDATE_RESERVED",
  "ACTION_NOT_ALLOWED",
  "MERCHANT_NOT_ALLOWED",
  "ATTRIBUTE_NOT_ALLOWED",
  "CURRENCY_NOT_ALLOWED",
  "AMOUNT_ABOVE_MAXIMUM",
  "AMOUNT_BELOW_MINIMUM",
  "PERIOD_AMOUNT_EXCEEDED",
  "PERIOD_EXECUTIONS_EXCEEDED",
  "TOTAL_AMOUNT_EXCEEDED",
  "TOTAL_EXECUTIONS_EXCEEDED"
])
export type DenyCode = typeof DenyCode.Type

/** Codes of what could not be decided. */
export const IndeterminateCode = Schema.Literals(["ATTRIBUTE_MISSING", "CAPACITY_UNRESOLVED"])
export type IndeterminateCode = typeof IndeterminateCode.Type

/** One reason of a decision other than ALLOW; amounts in minor units. */
export const Reason = Schema.Struct({
  code: Schema.Union([DenyCode, IndeterminateCode]),
  pointer: Schema.String,
  detail: Schema.String,
  limit: Schema.optionalKey(Counter),
  requested: Schema.optionalKey(Counter),
  used: Schema.optionalKey(Counter),
  reserved: Schema.optionalKey(Counter),
  period: Schema.optionalKey(Counter),
  resets_at: Schema.optionalKey(Schema.String),
  resolve_with: Schema.optionalKey(Schema.Array(Schema.String)),
  conflicting_authorizations: Schema.optionalKey(Schema.Array(Schema.String))
})
export type Reason = typeof Reason.Type

/** What a commit reported, as the resource shows it: without the opening. */
export const CommitReport = Schema.Struct({
  external_action_reference: Schema.String,
  provider_transaction_reference: Schema.String,
  reported_accepted_at: Schema.String
})
export type CommitReport = typeof CommitReport.Type

export const CancellationReport = Schema.Struct({
  reason: CancellationReason,
  execution_disposition: ExecutionDisposition,
  external_credential_reference: Schema.optionalKey(Schema.String)
})
export type CancellationReport = typeof CancellationReport.Type

export const RefundReport = Schema.Struct({
  amount: PositiveInteger,
  currency: Schema.String,
  provider_refund_reference: Schema.String,
  reported_refunded_at: Schema.String
})
export type RefundReport = typeof RefundReport.Type

/** The authorization resource (part 5). */
export const Authorization = Schema.Struct({
  id: AuthorizationId,
  mandate_id: MandateId,
  external_reference: Schema.String,
  decision: Decision,
  reasons: Schema.Array(Reason),
  state: AuthorizationStateName,
  can_execute: Schema.Boolean,
  execute_before: Schema.optionalKey(Schema.String),
  proposed_action: ProposedAction,
  commitment: Schema.String,
  created_at: Schema.String,
  closed_at: Schema.optionalKey(Schema.String),
  commit: Schema.optionalKey(CommitReport),
  cancellation: Schema.optionalKey(CancellationReport),
  refunds: Schema.optionalKey(Schema.Array(RefundReport))
})
export type Authorization = typeof Authorization.Type
