import type { FeedEvent } from "@svc/protocol/Journal"
import { Clock, Console, Effect } from "effect"
import { badSetting, badUsage, type StartFault } from "../start/StartFault.ts"
import { type FeedPage, type FeedServer, readPage } from "./FeedReader.ts"
import { type Forwarded, type ForwardTarget, forward } from "./Forwarding.ts"

export interface ListenOptions {
  readonly server: FeedServer
  readonly target: ForwardTarget
  readonly from: "now" | "start" | { readonly after: string }
  /** Whether lines are JSON. */
  readonly json: boolean
}

/** The server is asked once in so many milliseconds, unless it has more already. */
const POLL_MS = 1000

const MILLISECONDS_PER_SECOND = 1000

const TYPE_WIDTH = "authorization.outcome_conflict".length

const told = ({ attempts, outcome }: Forwarded): string => {
  const result = "status" in outcome ? String(outcome.status) : outcome.error
  return attempts === 1 ? result : `${result} (attempt ${attempts})`
}

const lineOf = (json: boolean, event: FeedEvent, forwarded: Forwarded): string =>
  json
    ? JSON.stringify({
        occurred_at: event.occurred_at,
        type: event.type,
        event_id: event.id,
        mandate_id: event.mandate_id,
        attempts: forwarded.attempts,
        ...forwarded.outcome
      })
    : `${event.occurred_at}  ${event.type.padEnd(TYPE_WIDTH)}  ${event.mandate_id}  ${told(forwarded)}`

const SECRET_HINT =
  "401: does the receiver verify the raw body with the webhook secret shown above? Its key is the 32 bytes that what follows svc_wh_ decodes to"

const isUnauthorized = ({ outcome }: Forwarded): boolean => "status" in outcome && outcome.status === 401

/** What is not about an event goes where it does not mix with what is. */
const note = (line: string): Effect.Effect<void> => Console.error(line)

/**
 * The page after a cursor, however long the server takes to come back: it says once that it waits. `undefined`: the
 * server knows no such cursor.
 */
const awaitPage = Effect.fnUntraced(function* (
  server: FeedServer,
  after: string | undefined
): Effect.fn.Return<FeedPage | undefined, StartFault> {
  let waitsFor: string | undefined
  for (;;) {
    const answer = yield* readPage(server, after)
    if (answer._tag === "Refused") return yield* badSetting(answer.line)
    if (answer._tag === "Later") {
      if (answer.why !== waitsFor) yield* note(`${answer.why}; trying again`)
      waitsFor = answer.why
      yield* Effect.sleep(answer.seconds * MILLISECONDS_PER_SECOND)
      continue
    }
    if (waitsFor !== undefined) yield* note("the server answers again")
    return answer._tag === "Page" ? answer.page : undefined
  }
})

/** The cursor after everything that is there now. */
const endOf = Effect.fnUntraced(function* (server: FeedServer): Effect.fn.Return<string, StartFault> {
  let after: string | undefined
  for (;;) {
    const page: FeedPage | undefined = yield* awaitPage(server, after)
    // The events began anew in the meantime.
    after = page?.next_cursor
    if (page?.has_more === false) return page.next_cursor
  }
})

/** The cursor to begin after; one that was given is tried, so that nobody waits after a bad one. */
const cursorFrom = Effect.fnUntraced(function* (
  from: ListenOptions["from"],
  server: FeedServer
): Effect.fn.Return<string | undefined, StartFault> {
  if (from === "now") return yield* endOf(server)
  if (from === "start") return undefined
  if ((yield* awaitPage(server, from.after)) !== undefined) return from.after
  return yield* badUsage(
    "--after is no cursor of this organization's events, or one of a history that has not become the server's: begin with --from-start"
  )
})

/**
 * Forwards events as they are recorded, one after another in the order of the feed, until it is interrupted. A target that
 * fails is told of and passed over; a server that is away is waited for.
 */
export const listen = Effect.fn("listen")(function* (
  options: ListenOptions
): Effect.fn.Return<never, StartFault> {
  const { from, json, server, target } = options
  let after: string | undefined = yield* cursorFrom(from, server)
  let isHinted = false
  yield* note("waiting for events")
  for (;;) {
    const askedAt = yield* Clock.currentTimeMillis
    const page: FeedPage | undefined = yield* awaitPage(server, after)
    if (page === undefined) {
      yield* note("the server began anew, or lost what it recorded last; following from its first event")
      after = undefined
      continue
    }
    for (const event of page.data) {
      const forwarded = yield* forward(target, event)
      yield* Console.log(lineOf(json, event, forwarded))
      if (isUnauthorized(forwarded) && !isHinted) {
        isHinted = true
        yield* note(SECRET_HINT)
      }
    }
    after = page.next_cursor
    const spent = (yield* Clock.currentTimeMillis) - askedAt
    if (!page.has_more) yield* Effect.sleep(Math.max(0, POLL_MS - spent))
  }
})
