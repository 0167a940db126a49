import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "./MandateStore.ts"

/**
 * Where a history was recorded: a cluster (its system identifier) and its timeline, which a promotion changes. Absent is
 * what the server does not tell; a replica tells neither.
 */
export interface DatabaseIdentity {
  readonly cluster: string | undefined
  readonly timeline: string | undefined
}

/** The history that goes on, and whether the database is still the one that it was recorded on. */
export interface HistoryState {
  readonly history: string
  readonly isAcknowledged: boolean
  /** Whether the store has had the history that was asked about. */
  readonly hasKnown: boolean
  readonly known: DatabaseIdentity
  readonly found: DatabaseIdentity
}

/** What an operator says of a change. */
export interface Acknowledgement {
  /** Nothing that was acknowledged is lost: cursors of the history before stay good. */
  readonly isLossless: boolean
  /** The database was put back, though it is the same cluster on the same timeline, as after a disk snapshot. */
  readonly isRestored: boolean
}

export interface Acknowledged {
  /**
   * `unchanged`: there is nothing to acknowledge. `positions_ahead`: the events were loaded from another server and have
   * the numbers of its transactions, which this one has not come to; nothing was done.
   */
  readonly outcome: "begun" | "unchanged" | "positions_ahead"
  /** The history that goes on now. */
  readonly history: string
}

/** The identity of the store's history. It shows when a database was replaced or lost its latest records. */
export class StoreHistory extends Context.Service<
  StoreHistory,
  {
    /** `known`: a history that the caller has seen go on, to learn whether the store has had it. */
    readonly state: (known?: string) => Effect.Effect<HistoryState, StoreUnavailable>
    /** Begins a history on the database as it is now; by several at once, one does. */
    readonly acknowledge: (how: Acknowledgement) => Effect.Effect<Acknowledged, StoreUnavailable>
  }
>()("@svc/domain/ports/StoreHistory") {}
