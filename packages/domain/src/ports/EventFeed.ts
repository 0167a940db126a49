import { Context, Data, type Effect } from "effect"
import type { StoreUnavailable } from "./MandateStore.ts"

/** The position before an organization's first event. Every other one is a store's own, and of no meaning elsewhere. */
export const FEED_START = ""

/** Which events are read on from where. */
export interface EventFeedQuery {
  readonly organization: string
  /** Exclusive. */
  readonly after: string
  /** Most events, from 1. */
  readonly limit: number
  /** Once the texts have this many bytes in UTF-8, no further event is returned. The first is returned whatever its length. */
  readonly bytes: number
}

/** An event of the feed, and whose it is. */
export interface FeedEvent {
  readonly mandate: string
  /** Its canonical text, byte for byte as it was appended. */
  readonly text: string
}

/** Events of an organization that follow a position. */
export interface EventFeedPage {
  readonly events: ReadonlyArray<FeedEvent>
  /** The position of the last event returned; `after` if there is none. */
  readonly position: string
  /** Whether more events can be read now. */
  readonly hasMore: boolean
}

/** Reading can never continue from this position. */
export class PositionRefused extends Data.TaggedError("PositionRefused")<{
  /**
   * `not_given`: this store does not issue such positions. `history_changed`: it belongs to a history that is not part of
   * this store's, for example because the database was restored to an earlier state. Events before it may have changed or
   * be gone.
   */
  readonly reason: "not_given" | "history_changed"
}> {}

/**
 * All events of an organization, in one order for all readers (part 8). Events of a mandate are in the order of its journal,
 * those of different mandates in about the order in which they were recorded. No event ever appears before a position that
 * was already issued, however late its append commits, so a reader that continues from position to position reads each
 * event once. A position names its history. One whose event is gone is refused for good, because a store that has lost its
 * latest events must not continue there with others: the refusal is `history_changed` also where it has as many others.
 */
export class EventFeed extends Context.Service<
  EventFeed,
  {
    readonly read: (query: EventFeedQuery) => Effect.Effect<EventFeedPage, PositionRefused | StoreUnavailable>
  }
>()("@svc/domain/ports/EventFeed") {}
