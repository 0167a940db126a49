import { type EventFeedPage, type EventFeedQuery, FEED_START } from "@svc/domain/ports/EventFeed"
import type { MemoryState } from "./MemoryState.ts"

/** Number of events before a position. */
const NUMBER = /^[1-9][0-9]{0,14}$/u

const encoder = new TextEncoder()

const numberIn = (state: MemoryState, position: string): number | undefined => {
  if (position === FEED_START) return 0
  const [mark, number = "", ...rest] = position.split(".")
  return mark === state.feedMark && NUMBER.test(number) && rest.length === 0 ? Number(number) : undefined
}

/** Appends are done one after another, so the order in which they were recorded is the feed's. */
export const readFeed = (
  state: MemoryState,
  { after, bytes, limit, organization }: EventFeedQuery
): EventFeedPage | undefined => {
  const feed = state.tenant(organization)?.feed ?? []
  const start = numberIn(state, after)
  if (start === undefined || start > feed.length) return undefined
  let end = start
  let taken = 0
  while (end < feed.length && end - start < limit && taken < bytes) {
    taken += encoder.encode(feed[end]!.text).length
    end += 1
  }
  return {
    events: feed.slice(start, end),
    position: end === start ? after : `${state.feedMark}.${end}`,
    hasMore: end < feed.length
  }
}
