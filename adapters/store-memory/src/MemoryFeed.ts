import {
  type EventFeedPage,
  type EventFeedQuery,
  FEED_START,
  PositionRefused
} from "@svc/domain/ports/EventFeed"
import { utf8Length } from "@svc/protocol/Utf8"
import { Result } from "effect"
import type { MemoryState } from "./MemoryState.ts"

/** The mark of a store (a UUID), and the number of events before the position. */
const POSITION = /^([0-9a-f-]{36})\.([1-9][0-9]{0,14})$/u

const refused = (reason: PositionRefused["reason"]) => Result.fail(new PositionRefused({ reason }))

/** Each new store has its own history. */
const numberIn = (state: MemoryState, position: string): Result.Result<number, PositionRefused> => {
  if (position === FEED_START) return Result.succeed(0)
  const [, mark, number] = POSITION.exec(position) ?? []
  if (number === undefined) return refused("not_given")
  return mark === state.feedMark ? Result.succeed(Number(number)) : refused("history_changed")
}

/** Appends are done one after another, so the order in which they were recorded is the feed's. */
export const readFeed = (
  state: MemoryState,
  { after, bytes, limit, organization }: EventFeedQuery
): Result.Result<EventFeedPage, PositionRefused> => {
  const feed = state.tenant(organization)?.feed ?? []
  const found = numberIn(state, after)
  if (Result.isFailure(found)) return Result.fail(found.failure)
  const start = found.success
  if (start > feed.length) return refused("not_given")
  let end = start
  let taken = 0
  while (end < feed.length && end - start < limit && taken < bytes) {
    taken += utf8Length(feed[end]!.text)
    end += 1
  }
  return Result.succeed({
    events: feed.slice(start, end),
    position: end === start ? after : `${state.feedMark}.${end}`,
    hasMore: end < feed.length
  })
}
