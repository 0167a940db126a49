import type {
  CancellationBody,
  CommitBody,
  Decision,
  ProposedAction,
  Reason,
  RefundBody
} from "@svc/protocol/Authorization"
import type { EndReason, MandateKind, Policy, Usage, Window } from "@svc/protocol/Mandate"
import type { ApprovalRecord } from "../approval/ApprovalStatement.ts"
import type { TimeZoneTable } from "../calendar/TimeZoneTable.ts"

/** One deployment serves one environment (part 9). */
export type Environment = "test" | "live"

/**
 * Data of `mandate.created` (part 7): every immutable field with its defaults, and the time zone
 * tables that fix each period boundary for the mandate's life.
 */
export interface MandateTerms {
  readonly organization_id: string
  readonly environment: Environment
  readonly mandate_id: string
  readonly kind: MandateKind
  readonly subject_reference: string
  readonly policy: Policy
  readonly policy_digest: string
  readonly window: Window
  readonly approval_deadline: string
  readonly description?: string
  readonly time_zones: ReadonlyArray<TimeZoneTable>
}

/** Version of the rules that `decision` events were decided under. */
export const RULES_VERSION = 1

/** Data of the three decision events (part 7). */
export interface DecisionData {
  readonly rules_version: number
  readonly external_reference: string
  readonly proposed_action: ProposedAction
  readonly commitment: string
  readonly execution_window_seconds: number
  readonly decision: Decision
  readonly reasons: ReadonlyArray<Reason>
  readonly execute_before?: string
  readonly expires_at?: string
  /** The organization's, as it was then; with `execute_before` and `expires_at` on ALLOW alone. */
  readonly report_grace_seconds?: number
  /** The mandate's usage as it stood before the decision. */
  readonly usage: Usage
}

/** Data of `authorization.outcome_conflict`: a report that contradicts the outcome on record. */
export type OutcomeConflictData =
  | { readonly reported: "COMMITTED"; readonly content: CommitBody; readonly late: boolean }
  | { readonly reported: "CANCELLED"; readonly content: CancellationBody; readonly late: boolean }

interface FactData {
  readonly "mandate.created": MandateTerms
  readonly "mandate.approved": { readonly approval: ApprovalRecord }
  readonly "mandate.rejected": { readonly approval_session_id: string }
  readonly "mandate.activated": Record<never, never>
  readonly "mandate.consumed": { readonly authorization_id: string }
  readonly "mandate.revoked": { readonly reason: string }
  readonly "mandate.expired": { readonly end_reason: EndReason }
  readonly "authorization.reserved": DecisionData
  readonly "authorization.denied": DecisionData
  readonly "authorization.indeterminate": DecisionData
  readonly "authorization.committed": CommitBody
  readonly "authorization.cancelled": CancellationBody
  readonly "authorization.expired": Record<never, never>
  readonly "authorization.outcome_conflict": OutcomeConflictData
  readonly "authorization.refund_reported": RefundBody
}

export type MandateFactType = Extract<keyof FactData, `mandate.${string}`>
type AuthorizationFactType = Extract<keyof FactData, `authorization.${string}`>

/**
 * A change before it has a place in the stream: what a decider yields and what `evolve` folds.
 * Shaped as on the wire, so that the fold of a journal needs no translation.
 */
export type JournalFact =
  | {
      [T in MandateFactType]: { readonly type: T; readonly occurred_at: string; readonly data: FactData[T] }
    }[MandateFactType]
  | {
      [T in AuthorizationFactType]: {
        readonly type: T
        readonly occurred_at: string
        readonly authorization_id: string
        readonly data: FactData[T]
      }
    }[AuthorizationFactType]
