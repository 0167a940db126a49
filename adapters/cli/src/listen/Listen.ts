import type { FeedEvent } from "@svc/protocol/Journal"
import { Clock, Console, Effect } from "effect"
import { configurationFault, type StartFault, usageFault } from "../start/StartFault.ts"
import { type FeedPage, type FeedServer, readPage } from "./FeedReader.ts"
import { type ForwardResult, type ForwardTarget, forward } from "./Forwarding.ts"

export interface ListenOptions {
  readonly server: FeedServer
  readonly target: ForwardTarget
  readonly from: "now" | "start" | { readonly after: string }
  /** Prints JSON lines. */
  readonly json: boolean
}

/** Pause between two requests once all events were read, in milliseconds. */
const POLL_MS = 1000

const MILLISECONDS_PER_SECOND = 1000

const TYPE_WIDTH = "authorization.outcome_conflict".length

const resultText = ({ attempts, outcome }: ForwardResult): string => {
  const result = "status" in outcome ? String(outcome.status) : outcome.error
  return attempts === 1 ? result : `${result} (attempt ${attempts})`
}

const lineOf = (json: boolean, event: FeedEvent, forwarded: ForwardResult): string =>
  json
    ? JSON.stringify({
        occurred_at: event.occurred_at,
        type: event.type,
        event_id: event.id,
        mandate_id: event.mandate_id,
        attempts: forwarded.attempts,
        ...forwarded.outcome
      })
    : `${event.occurred_at}  ${event.type.padEnd(TYPE_WIDTH)}  ${event.mandate_id}  ${resultText(forwarded)}`

const SECRET_HINT =
  "401: does the receiver verify the raw body with the webhook secret shown above? Its key is the 32 bytes that what follows svc_wh_ decodes to"

const isUnauthorized = ({ outcome }: ForwardResult): boolean => "status" in outcome && outcome.status === 401

/** Standard output is for events alone. */
const note = (line: string): Effect.Effect<void> => Console.error(line)

/** The page after a cursor, retried until the server answers. `undefined`: the server refuses the cursor. */
const awaitPage = Effect.fnUntraced(function* (
  server: FeedServer,
  after: string | undefined
): Effect.fn.Return<FeedPage | undefined, StartFault> {
  let waitingFor: string | undefined
  for (;;) {
    const answer = yield* readPage(server, after)
    if (answer._tag === "Refused") return yield* configurationFault(answer.line)
    if (answer._tag === "Later") {
      if (answer.why !== waitingFor) yield* note(`${answer.why}; trying again`)
      waitingFor = answer.why
      yield* Effect.sleep(answer.seconds * MILLISECONDS_PER_SECOND)
      continue
    }
    if (waitingFor !== undefined) yield* note("the server answers again")
    return answer._tag === "Page" ? answer.page : undefined
  }
})

/** The cursor after the latest event. */
const latestCursor = Effect.fnUntraced(function* (server: FeedServer): Effect.fn.Return<string, StartFault> {
  let after: string | undefined
  for (;;) {
    const page: FeedPage | undefined = yield* awaitPage(server, after)
    // A refused cursor means that the history changed in between; start over.
    after = page?.next_cursor
    if (page?.has_more === false) return page.next_cursor
  }
})

/** The cursor to start after. One that was given is tried first, so that an invalid one is reported at once. */
const startCursor = Effect.fnUntraced(function* (
  from: ListenOptions["from"],
  server: FeedServer
): Effect.fn.Return<string | undefined, StartFault> {
  if (from === "now") return yield* latestCursor(server)
  if (from === "start") return undefined
  if ((yield* awaitPage(server, from.after)) !== undefined) return from.after
  return yield* usageFault(
    "--after is no cursor of this organization's events, or one of a history that has not become the server's: begin with --from-start"
  )
})

/**
 * Forwards events one at a time in the order of the feed, until interrupted. An event that cannot be delivered is reported
 * and skipped; an unreachable server is retried.
 */
export const listen = Effect.fn("listen")(function* (
  options: ListenOptions
): Effect.fn.Return<never, StartFault> {
  const { from, json, server, target } = options
  let after: string | undefined = yield* startCursor(from, server)
  let hintShown = false
  yield* note("waiting for events")
  for (;;) {
    const requestedAt = yield* Clock.currentTimeMillis
    const page: FeedPage | undefined = yield* awaitPage(server, after)
    if (page === undefined) {
      yield* note("the server began anew, or lost what it recorded last; following from its first event")
      after = undefined
      continue
    }
    for (const event of page.data) {
      const forwarded = yield* forward(target, event)
      yield* Console.log(lineOf(json, event, forwarded))
      if (isUnauthorized(forwarded) && !hintShown) {
        hintShown = true
        yield* note(SECRET_HINT)
      }
    }
    after = page.next_cursor
    const elapsed = (yield* Clock.currentTimeMillis) - requestedAt
    if (!page.has_more) yield* Effect.sleep(Math.max(0, POLL_MS - elapsed))
  }
})
