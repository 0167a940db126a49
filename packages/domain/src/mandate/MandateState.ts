import type {
  AuthorizationStateName,
  CancellationReport,
  CommitReport,
  Decision,
  ProposedAction,
  Reason,
  RefundReport
} from "@svc/protocol/Authorization"
import type { EndReason, MandateStateName } from "@svc/protocol/Mandate"
import type { Instant } from "@svc/protocol/Timestamp"
import type { MandateTerms } from "./JournalFact.ts"

/** Committed, reserved and late use of a budget; amounts in minor units, sums never leave the integers. */
export interface Counters {
  readonly committedAmount: bigint
  readonly reservedAmount: bigint
  readonly lateAmount: bigint
  readonly committedExecutions: number
  readonly reservedExecutions: number
  readonly lateExecutions: number
}

/** A period of the policy with its bounds: [startsAt, endsAt). */
export interface PinnedPeriod {
  /** Index in `policy.periods`. */
  readonly period: number
  readonly startsAt: Instant
  readonly endsAt: Instant
}

/** Use of one period. Kept while the period is current or a reservation is open in it. */
export interface PeriodCounters extends PinnedPeriod {
  readonly counters: Counters
}

/** The snapshot of a mandate: what its journal folds to, less its authorizations. */
export interface MandateState {
  readonly terms: MandateTerms
  readonly state: MandateStateName
  readonly version: number
  readonly createdAt: string
  /** `occurred_at` of the last event. */
  readonly updatedAt: string
  readonly approvedAt?: string
  readonly endedAt?: string
  readonly endReason?: EndReason
  readonly revocationReason?: string
  readonly totals: Counters
  readonly periods: ReadonlyArray<PeriodCounters>
  /** Every proposal ever decided, whatever the decision. */
  readonly authorizationCount: number
  /** On a SINGLE mandate: the authorizations whose commit came too late to count (part 5). */
  readonly lateAuthorizations: ReadonlyArray<string>
}

/** What an open reservation holds, and until when. */
export interface OpenReservation {
  readonly id: string
  /** Order of creation within the mandate, from 1. */
  readonly order: number
  readonly amount: bigint
  readonly expiresAt: Instant
  readonly periods: ReadonlyArray<PinnedPeriod>
}

/** An authorization as its events fold. */
export interface AuthorizationState {
  readonly id: string
  readonly order: number
  readonly externalReference: string
  readonly decision: Decision
  readonly reasons: ReadonlyArray<Reason>
  readonly state: AuthorizationStateName
  readonly executeBefore?: string
  readonly expiresAt?: string
  readonly proposedAction: ProposedAction
  readonly commitment: string
  readonly createdAt: string
  readonly closedAt?: string
  readonly commit?: CommitReport
  readonly cancellation?: CancellationReport
  readonly refunds: ReadonlyArray<RefundReport>
  readonly periods: ReadonlyArray<PinnedPeriod>
  /** Digests of the conflicting reports on record (part 5). */
  readonly conflicts: ReadonlyArray<string>
  /** Whether a late commit report was counted. */
  readonly late: boolean
}

/**
 * One consistency boundary: the mandate, its open reservations in order of creation, and those
 * authorizations in full that a command needs (all of them when folded from the journal).
 */
export interface StreamState {
  readonly mandate: MandateState
  readonly open: ReadonlyArray<OpenReservation>
  readonly authorizations: ReadonlyMap<string, AuthorizationState>
}

/** The end of a stream: where the next event goes. */
export interface StreamHead {
  readonly seq: number
  readonly hash: string
  readonly occurredAt: Instant
  /** Length of the whole journal in bytes of its canonical texts. */
  readonly bytes: number
}
