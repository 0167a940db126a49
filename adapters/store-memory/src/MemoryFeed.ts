import { type EventFeedPage, type EventFeedQuery, FEED_START } from "@svc/domain/ports/EventFeed"
import type { MemoryState } from "./MemoryState.ts"

/** A position is the number of events before it. */
const POSITION = /^(?:0|[1-9][0-9]{0,14})$/u

const encoder = new TextEncoder()

/** Appends are done one after another, so the order in which they were recorded is the feed's. */
export const readFeed = (
  state: MemoryState,
  { after, bytes, limit, organization }: EventFeedQuery
): EventFeedPage | undefined => {
  const feed = state.tenant(organization)?.feed ?? []
  const start = after === FEED_START ? 0 : POSITION.test(after) ? Number(after) : undefined
  if (start === undefined || start > feed.length) return undefined
  let end = start
  let taken = 0
  while (end < feed.length && end - start < limit && taken < bytes) {
    taken += encoder.encode(feed[end]!.text).length
    end += 1
  }
  return {
    events: feed.slice(start, end),
    position: end === start ? after : String(end),
    hasMore: end < feed.length
  }
}
