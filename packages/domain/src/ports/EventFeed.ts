import { Context, type Effect } from "effect"
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

/**
 * Everything that is recorded of an organization, in one order for all readers (part 8). Events of a mandate come in the
 * order of its journal; those of different mandates in about the order in which they were recorded. No event ever appears
 * before a position that was given already, however late its append is done: whoever goes on from position to position
 * meets each event once.
 */
export class EventFeed extends Context.Service<
  EventFeed,
  {
    /** `undefined`: `after` is no position that this store gives. */
    readonly read: (query: EventFeedQuery) => Effect.Effect<EventFeedPage | undefined, StoreUnavailable>
  }
>()("@svc/domain/ports/EventFeed") {}
