import type { Instant, Nanos } from "@svc/protocol/Timestamp"
import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "./MandateStore.ts"

/** Most due deliveries that are counted: beyond that a backlog is a backlog. */
export const MAX_COUNTED_DELIVERIES = 100_000

/** How far the store is behind, over all organizations. */
export interface StoreState {
  /** The store's clock. */
  readonly now: Instant
  /** For how long the earliest due transition has not been recorded; 0 if none is due. */
  readonly dueLag: Nanos
  /** For how long the oldest due webhook delivery of an active endpoint has been waiting for an attempt; 0 if none is due. */
  readonly webhookLag: Nanos
  /** Due webhook deliveries, at most `MAX_COUNTED_DELIVERIES`. */
  readonly dueDeliveries: number
  readonly disabledEndpoints: number
}

/** What operators watch of a store that several processes share. Nothing is decided by it. */
export class StoreStatistics extends Context.Service<
  StoreStatistics,
  {
    /** One round trip, whose cost does not depend on how many mandates, events and ended deliveries are stored. */
    readonly state: Effect.Effect<StoreState, StoreUnavailable>
  }
>()("@svc/domain/ports/StoreStatistics") {}
