import type { ListPage } from "@svc/protocol/request/ListPage"
import { Effect } from "effect"
import { encodeCursor, textCursor } from "../engine/Cursor.ts"
import { givenMembers } from "../engine/GivenMembers.ts"
import { listReader, pageLimit, type QueryRefusal } from "../engine/ProgramQuery.ts"
import { EventFeed, FEED_START, type FeedEvent } from "../ports/EventFeed.ts"
import type { StoreUnavailable } from "../ports/MandateStore.ts"
import { HistoryChanged, InvalidCursor } from "../Refusals.ts"

/** A page ends once its events reach this many bytes, whatever limit was asked for. */
export const FEED_PAGE_BYTES = 1_048_576

/** A page whose `next_cursor` is never null: at the end of the feed it waits for the next event. */
export interface FeedPage extends ListPage<string> {
  readonly next_cursor: string
}

/** An event as the feed shows it: its hashed text with `mandate_id`, which the text lacks, put first. */
const shown = ({ mandate, text }: FeedEvent): string =>
  `{"mandate_id":${JSON.stringify(mandate)},${text.slice(1)}`

const readFeedQuery = listReader({ limit: pageLimit })

/**
 * The recorded events of an organization, oldest first (part 8, GET /v1/events), as JSON texts. Without `after` it begins
 * with the first event. A due transition appears once it is recorded; reading the feed does not record it.
 */
export const readEventFeed = Effect.fn("readEventFeed")(function* (query: {
  readonly organization: string
  readonly after?: string
  readonly limit: number
}): Effect.fn.Return<FeedPage, QueryRefusal | InvalidCursor | HistoryChanged | StoreUnavailable, EventFeed> {
  const { limit, organization } = yield* readFeedQuery(query)
  const { after: cursor } = givenMembers(query, ["after"])
  const feed = yield* EventFeed
  const scope = { list: "feed", organization }
  const after = (yield* textCursor(scope, cursor)) ?? FEED_START
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
