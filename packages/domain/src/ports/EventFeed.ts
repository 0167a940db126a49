import { Context, Data, type Effect } from "effect"
import type { StoreUnavailable } from "./MandateStore.ts"

/** The position before an organization's first event. Every other one is a store's own, and of no meaning elsewhere. */
export const FEED_START = ""

export interface EventFeedQuery {
  readonly organization: string
  /** Exclusive. */
  readonly after: string
  /** Most events, from 1. */
  readonly limit: number
  /** UTF-8 bytes of texts from which on no further event is given. The first is given whatever its length. */
  readonly bytes: number
}

export interface FeedEvent {
  readonly mandate: string
  /** Its canonical text, byte for byte as it was appended. */
  readonly text: string
}

export interface EventFeedPage {
  readonly events: ReadonlyArray<FeedEvent>
  /** That of the last event given; of none: `after`. */
  readonly position: string
  /** Whether more of what can be read now comes after it. */
  readonly hasMore: boolean
}

/** A position cannot be read on from, now or ever. */
export class PositionRefused extends Data.TaggedError("PositionRefused")<{
  /**
   * `not_given`: it is no position that this store gives. `history_changed`: it is of a history that has not become this
   * store's, as of a database that was since put back to an earlier state; events before it may be others, or gone.
   */
  readonly reason: "not_given" | "history_changed"
}> {}

/**
 * Everything that is recorded of an organization, in one order for all readers (part 8). Events of a mandate come in the
 * order of its journal; those of different mandates in about the order in which they were recorded. No event ever appears
 * before a position that was given already, however late its append is done: whoever goes on from position to position
 * meets each event once. A position names the history that it was given in, and one whose own event is gone is refused for
 * good: a store that lost the end of its history must not go on from there with other events in its place.
 */
export class EventFeed extends Context.Service<
  EventFeed,
  {
    readonly read: (query: EventFeedQuery) => Effect.Effect<EventFeedPage, PositionRefused | StoreUnavailable>
  }
>()("@svc/domain/ports/EventFeed") {}
