import { Schema } from "effect"
import { CALLER_DUTIES } from "./CallerDuties.ts"
import { described } from "./Described.ts"
import { Commitment, CommitmentOpening } from "./evidence/CommitmentSchema.ts"
import { AuthorizationId, MandateId } from "./Identifier.ts"
import { Amount, AttributeName, Counter, CurrencyCode, integerBetween } from "./Mandate.ts"
import { Text } from "./Text.ts"
import { callerTimestamp, requestTimestamp, serviceTimestamp } from "./TimestampSchema.ts"

/** Most attributes of a proposed action. */
export const MAX_ATTRIBUTES = 50
/** Shortest and longest `execution_window_seconds`. */
export const EXECUTION_WINDOW_MIN_SECONDS = 30
export const EXECUTION_WINDOW_MAX_SECONDS = 86_400

export const Decision = described(
  Schema.Literals(["ALLOW", "DENY", "INDETERMINATE"]),
  `ALLOW: every rule holds, and the amount is reserved. DENY: at least one rule does not. INDETERMINATE: none is broken, and at least one cannot be decided; nothing may be executed. ${CALLER_DUTIES.executionGate}`,
  "ALLOW"
)
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
  Schema.makeFilter(
    (attributes: Readonly<Record<string, string>>) =>
      Object.keys(attributes).length <= MAX_ATTRIBUTES
        ? undefined
        : `must have at most ${MAX_ATTRIBUTES} members`,
    { toJsonSchema: () => ({ maxProperties: MAX_ATTRIBUTES }) }
  )
)

/** The immutable action that a caller proposes. */
export const ProposedAction = described(
  Schema.Struct({
    action: described(
      Text,
      "What is to be done; compared exactly with policy.allowed_actions.",
      "card.create"
    ),
    attributes: Schema.optionalKey(
      described(
        Attributes,
        "What else there is to say of the action, under names of 1 to 64 characters. policy.allowed_merchants is compared with merchant, each of policy.attribute_rules with the attribute that it names. No personal data: it goes into evidence.",
        { merchant: "mrc_42", category: "books" }
      )
    ),
    payment: described(
      Schema.Struct({
        amount: described(Amount, "In minor units of currency: 4200 is EUR 42.00.", 4200),
        currency: described(
          CurrencyCode,
          "ISO 4217 code. Only its form is checked here; one other than the policy's is denied.",
          "EUR"
        )
      }),
      "What the action costs. Ask your provider for this same amount and currency.",
      { amount: 4200, currency: "EUR" }
    )
  }),
  "The action to be decided on. Immutable: execute this one and no other.",
  {
    action: "card.create",
    attributes: { merchant: "mrc_42", category: "books" },
    payment: { amount: 4200, currency: "EUR" }
  }
)
export type ProposedAction = typeof ProposedAction.Type

const externalReference = described(
  Text,
  "Your reference of the operation, such as an order number. It need not be unique; no personal data.",
  "order-1"
)
const EXAMPLE_COMMITMENT = "cvQ2P1OuvyGVpcvdHWh2G-djv_bzsPy64Z3JMOLPY3E"
const commitment = described(
  Commitment,
  'base64url(SHA-256("svc:authorization:commitment:v1" || LF || opening)), the opening being 32 random bytes that you keep: 43 characters. Good for one authorization of the organization, whatever its decision.',
  EXAMPLE_COMMITMENT as never
)
const externalActionReference = described(
  Text,
  "Your idempotency reference of the call to your provider.",
  "order-1"
)
const providerTransactionReference = described(
  Text,
  "Your provider's identifier of the transaction.",
  "txn_7001"
)
const externalCredentialReference = described(
  Text,
  "Your reference of the card, token or other capability that was made for the action and is disabled now. Required with NO_LONGER_POSSIBLE, optional with NEVER_BECAME_POSSIBLE.",
  "card_311"
)
const providerRefundReference = described(Text, "Your provider's identifier of the refund.", "rfd_90")

/** Body of POST /v1/mandates/{mandate_id}/authorizations. */
export const CreateAuthorizationBody = Schema.Struct({
  external_reference: externalReference,
  proposed_action: ProposedAction,
  execution_window_seconds: described(
    integerBetween(EXECUTION_WINDOW_MIN_SECONDS, EXECUTION_WINDOW_MAX_SECONDS, " (seconds)"),
    "For how long the amount is reserved, in seconds. execute_before is that much after the decision, and never after window.ends_at.",
    900
  ),
  commitment
})
export type CreateAuthorizationBody = typeof CreateAuthorizationBody.Type

/** Body of PUT /v1/authorizations/{authorization_id}/commit. */
export const CommitBody = Schema.Struct({
  external_action_reference: externalActionReference,
  provider_transaction_reference: providerTransactionReference,
  reported_accepted_at: requestTimestamp(
    "When your provider accepted the action. At most 300 s in the future; one before created_at, or not before execute_before, is recorded and shows in verification as executed outside of its authority.",
    "2026-12-01T09:05:00Z"
  ),
  commitment_opening: described(
    CommitmentOpening,
    "The 32 bytes that commitment was made from, base64url: 43 characters. Secret until now.",
    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8" as never
  )
})
export type CommitBody = typeof CommitBody.Type

export const CancellationReason = described(
  Schema.Literals([
    "EXECUTION_FAILED",
    "EXECUTOR_REJECTED",
    "EXECUTOR_UNAVAILABLE",
    "USER_WITHDREW",
    "CALLER_ABORTED",
    "DUPLICATE"
  ]),
  "Why nothing is executed. EXECUTOR_REJECTED: your provider refused outright.",
  "EXECUTOR_REJECTED"
)
export const ExecutionDisposition = described(
  Schema.Literals(["NO_LONGER_POSSIBLE", "NEVER_BECAME_POSSIBLE"]),
  "NO_LONGER_POSSIBLE: you have disabled every external capability, and external_credential_reference names it. NEVER_BECAME_POSSIBLE: none ever became usable. If you cannot say either, do not cancel yet.",
  "NEVER_BECAME_POSSIBLE"
)

/** Body of PUT /v1/authorizations/{authorization_id}/cancellation. */
export const CancellationBody = Schema.Struct({
  reason: CancellationReason,
  execution_disposition: ExecutionDisposition,
  external_credential_reference: Schema.optionalKey(externalCredentialReference)
})
export type CancellationBody = typeof CancellationBody.Type

/** Body of POST /v1/authorizations/{authorization_id}/refunds. */
export const RefundBody = Schema.Struct({
  amount: described(
    Amount,
    "What was refunded, in minor units of currency. The sum of all refunds is not above the committed amount.",
    1200
  ),
  currency: described(CurrencyCode, "ISO 4217 code; that of the authorization.", "EUR"),
  provider_refund_reference: providerRefundReference,
  reported_refunded_at: requestTimestamp(
    "When your provider refunded it. At most 300 s in the future.",
    "2026-12-02T10:00:00Z"
  )
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
export const Reason = described(
  Schema.Struct({
    code: described(
      Schema.Union([DenyCode, IndeterminateCode]),
      "Which rule. ATTRIBUTE_MISSING and CAPACITY_UNRESOLVED could not be decided, the others are broken.",
      "PERIOD_AMOUNT_EXCEEDED"
    ),
    pointer: described(
      Schema.String,
      "RFC 6901 pointer to what the rule is about, in the request or in the mandate's policy; empty where it is the mandate itself.",
      "/policy/periods/0/max_amount"
    ),
    detail: described(
      Schema.String,
      "The same in words, for people.",
      "The period has no room for this amount."
    ),
    limit: Schema.optionalKey(
      described(
        Counter,
        "The cap: minor units or executions, as the rule. With amount, total and period rules.",
        20000
      )
    ),
    requested: Schema.optionalKey(
      described(Counter, "What was asked for: minor units, or 1 where executions are counted.", 4200)
    ),
    used: Schema.optionalKey(
      described(Counter, "Committed and late, in the unit of limit. With total and period rules.", 16800)
    ),
    reserved: Schema.optionalKey(
      described(Counter, "Reserved, in the unit of limit; the room is limit - used - reserved.", 0)
    ),
    period: Schema.optionalKey(described(Counter, "Index in policy.periods. With period rules.", 0)),
    resets_at: Schema.optionalKey(
      serviceTimestamp("End of the period, even beyond window.ends_at. With period rules.")
    ),
    resolve_with: Schema.optionalKey(
      described(
        Schema.Array(Schema.String),
        "Names of the attributes that a new proposal must have. Only on INDETERMINATE; empty with CAPACITY_UNRESOLVED.",
        ["merchant"]
      )
    ),
    conflicting_authorizations: Schema.optionalKey(
      described(
        Schema.Array(Schema.String),
        "Authorizations with a late report. With CAPACITY_UNRESOLVED: revoke the mandate and create another.",
        ["aut_01kbcd2e3f4g5h6j7k8m9npqrs"]
      )
    )
  }),
  "One rule that is broken or cannot be decided."
)
export type Reason = typeof Reason.Type

/** What a commit reported, as the resource shows it: without the opening. */
export const CommitReport = described(
  Schema.Struct({
    external_action_reference: externalActionReference,
    provider_transaction_reference: providerTransactionReference,
    reported_accepted_at: callerTimestamp("When the provider accepted the action, as reported.")
  }),
  "What the commit reported. Present in the state COMMITTED only."
)
export type CommitReport = typeof CommitReport.Type

export const CancellationReport = described(
  Schema.Struct({
    reason: CancellationReason,
    execution_disposition: ExecutionDisposition,
    external_credential_reference: Schema.optionalKey(externalCredentialReference)
  }),
  "What the cancellation reported. Present in the state CANCELLED only."
)
export type CancellationReport = typeof CancellationReport.Type

export const RefundReport = Schema.Struct({
  amount: described(Amount, "What was refunded, in minor units of currency.", 1200),
  currency: described(Schema.String, "ISO 4217 code; that of the authorization.", "EUR"),
  provider_refund_reference: providerRefundReference,
  reported_refunded_at: callerTimestamp("When the provider refunded it, as reported.")
})
export type RefundReport = typeof RefundReport.Type

/** The authorization resource (part 5). */
export const Authorization = Schema.Struct({
  id: described(
    AuthorizationId,
    "Identifier of the authorization.",
    "aut_01kbcd2e3f4g5h6j7k8m9npqrs" as never
  ),
  mandate_id: described(MandateId, "Its mandate.", "mnd_01kbcd2e3f4g5h6j7k8m9npqrs" as never),
  external_reference: externalReference,
  decision: Decision,
  reasons: described(
    Schema.Array(Reason),
    "Every rule that is broken or cannot be decided, in a fixed order; empty on ALLOW."
  ),
  state: described(
    AuthorizationStateName,
    "RESERVED: open for execution. COMMITTED, CANCELLED: as reported. EXPIRED: neither was reported in time. DENIED, INDETERMINATE: never open. All but RESERVED are terminal.",
    "RESERVED"
  ),
  can_execute: described(
    Schema.Boolean,
    `true exactly while state is RESERVED, the mandate is ACTIVE, and it is before execute_before. ${CALLER_DUTIES.executionGate}`,
    true
  ),
  execute_before: Schema.optionalKey(
    serviceTimestamp(
      `Deadline of the execution; only when decision is ALLOW. ${CALLER_DUTIES.executionDeadline}`
    )
  ),
  proposed_action: ProposedAction,
  commitment: described(Schema.String, "The commitment as proposed.", EXAMPLE_COMMITMENT),
  created_at: serviceTimestamp("When it was decided."),
  closed_at: Schema.optionalKey(
    serviceTimestamp(
      "When it was committed or cancelled, or expired. Absent while RESERVED, and on DENIED and INDETERMINATE."
    )
  ),
  commit: Schema.optionalKey(CommitReport),
  cancellation: Schema.optionalKey(CancellationReport),
  refunds: Schema.optionalKey(
    described(
      Schema.Array(RefundReport),
      "Refunds that were reported, oldest first; absent when there is none."
    )
  )
})
export type Authorization = typeof Authorization.Type
