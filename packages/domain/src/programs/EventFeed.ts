import type { ListPage } from "@svc/protocol/ListPage"
import { Effect } from "effect"
import { encodeCursor, textCursor } from "../engine/Cursor.ts"
import { EventFeed, FEED_START, type FeedEvent } from "../ports/EventFeed.ts"
import type { StoreUnavailable } from "../ports/MandateStore.ts"
import { HistoryChanged, InvalidCursor } from "../Refusals.ts"

/** Bytes of events from which on a page ends, however many were asked for. */
export const FEED_PAGE_BYTES = 1_048_576

/** A page that can always be gone on from: at its end `next_cursor` waits for what is recorded next. */
export interface FeedPage extends ListPage<string> {
  readonly next_cursor: string
}

/** An event as the feed shows it: as it was hashed, and before all the mandate, which its own text does not name. */
const shown = ({ mandate, text }: FeedEvent): string =>
  `{"mandate_id":${JSON.stringify(mandate)},${text.slice(1)}`

/**
 * What was recorded of an organization, oldest first (part 8, GET /v1/events), as JSON texts. Without `after` it begins
 * with the first event. It tells of what is recorded: a transition that came due unseen is in it once it is.
 */
export const readEventFeed = Effect.fn("readEventFeed")(function* (query: {
  readonly organization: string
  readonly after?: string
  readonly limit: number
}): Effect.fn.Return<FeedPage, InvalidCursor | HistoryChanged | StoreUnavailable, EventFeed> {
  const { limit, organization } = query
  const feed = yield* EventFeed
  const scope = { list: "feed", organization }
  const after = (yield* textCursor(scope, query.after)) ?? FEED_START
  const page = yield* Effect.catchTag(
    feed.read({ organization, after, limit, bytes: FEED_PAGE_BYTES }),
    "PositionRefused",
    ({ reason }) => Effect.fail(reason === "history_changed" ? new HistoryChanged() : new InvalidCursor())
  )
  return {
    data: page.events.map(shown),
    has_more: page.hasMore,
    next_cursor: encodeCursor(scope, page.position)
  }
})
