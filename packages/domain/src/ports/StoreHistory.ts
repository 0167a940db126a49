import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "./MandateStore.ts"

/**
 * Where a history was recorded: a cluster (its system identifier) and its timeline, which a promotion changes. A value that
 * the server does not report is absent; a replica reports neither.
 */
export interface DatabaseIdentity {
  readonly cluster: string | undefined
  readonly timeline: string | undefined
}

/** The current history, and whether the database is still the one that it was recorded on. */
export interface HistoryState {
  readonly history: string
  readonly isAcknowledged: boolean
  /** Whether the store has had the history in question. */
  readonly hasKnown: boolean
  readonly known: DatabaseIdentity
  readonly found: DatabaseIdentity
}

/** An operator's statement about a change of history. */
export interface Acknowledgement {
  /** No acknowledged write is lost, so cursors of the previous history stay valid. */
  readonly isLossless: boolean
  /** The database was restored although it is the same cluster on the same timeline, as from a disk snapshot. */
  readonly isRestored: boolean
}

export interface Acknowledged {
  /**
   * `unchanged`: there is nothing to acknowledge. `positions_ahead`: the events were loaded from another server and carry
   * transaction numbers that this one has not reached; nothing was done.
   */
  readonly outcome: "begun" | "unchanged" | "positions_ahead"
  /** The current history. */
  readonly history: string
}

/** The identity of the store's history. It shows when a database was replaced or lost its latest records. */
export class StoreHistory extends Context.Service<
  StoreHistory,
  {
    /** `known`: a history that the caller has seen as current, to learn whether the store has had it. */
    readonly state: (known?: string) => Effect.Effect<HistoryState, StoreUnavailable>
    /** Begins a history on the present database. Of concurrent calls one does so. */
    readonly acknowledge: (how: Acknowledgement) => Effect.Effect<Acknowledged, StoreUnavailable>
  }
>()("@svc/domain/ports/StoreHistory") {}
