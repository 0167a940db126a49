import type { Instant, Nanos } from "@svc/protocol/Timestamp"
import { Context, type Effect } from "effect"
import type { StoreUnavailable } from "./MandateStore.ts"

/** How long each kind of row is kept. */
export interface KeptFor {
  /**
   * Webhook deliveries, after they were delivered or exhausted: from the store's clock when `recordAttempts` recorded that, which
   * a delivery does not show. The instants of its attempts are those of a worker.
   */
  readonly deliveries: Nanos
  /** Claims, after they expired and could be taken again. */
  readonly claims: Nanos
}

/**
 * Removes what nobody needs any more, so that the store does not grow with every delivery and assertion that there ever was.
 *
 * What the interface shows or evidence rests on stays: journals, authorizations, approval sessions, claims without expiry,
 * deliveries that have not ended, and all deliveries of a deleted endpoint, which keeps its history (part 8). The
 * idempotency key of a redelivery or a test goes with its delivery, since a binding lives as long as its resource (part 3).
 */
export class StoreCleaning extends Context.Service<
  StoreCleaning,
  {
    /**
     * One small step: looks at the next organizations after `after` in the order of their identifiers, or from the first on
     * if it is absent, and removes at most `limit` rows. Returns how many were removed, and the organization to continue
     * after; absent once the last has been looked at. Where `limit` rows were removed there may be more of the same
     * organization, so that `next` is there and comes before it; it need not be an organization.
     *
     * A row must be too old both by the store's clock and by `now`, the caller's: one clock that is ahead removes nothing.
     * Any number of callers may clean at once: none waits for another, and repeating a step does no harm.
     */
    readonly clean: (step: {
      readonly after?: string
      readonly organizations: number
      readonly limit: number
      readonly now: Instant
      readonly keptFor: KeptFor
    }) => Effect.Effect<{ readonly removed: number; readonly next?: string }, StoreUnavailable>
  }
>()("@svc/domain/ports/StoreCleaning") {}
