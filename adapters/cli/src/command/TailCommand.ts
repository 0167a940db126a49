import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { readEventFeed } from "@svc/domain/programs/EventFeed"
import type { FeedEvent } from "@svc/protocol/Journal"
import { JournalEventType } from "@svc/protocol/Journal"
import { parseJson } from "@svc/protocol/json/ParseJson"
import { LIST_LIMIT_MAX } from "@svc/protocol/request/ListPage"
import type { PostgresPorts } from "@svc/store-postgres/PostgresStore"
import { Console, Effect } from "effect"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import { type StartFault, validateAll } from "../start/StartFault.ts"
import type { Command } from "./Command.ts"
import { oneOf, readOptions, refuseUnless, requiredOption } from "./CommandOptions.ts"
import { findOrganization } from "./OrganizationCommands.ts"
import { printableJson } from "./PrintableText.ts"
import { asCommand, type StoreCommand } from "./StoreCommand.ts"
import { faultOfRefusal } from "./SupportCommands.ts"

/** Pause after all events were read, and after the store was not reachable, in milliseconds. */
const PAUSE_MILLISECONDS = 1000

const TYPE_WIDTH = Math.max(...JournalEventType.literals.map((type) => type.length))

export interface Tail {
  readonly organization: string
  /** Absent: from the events that come from now on. */
  readonly from: { readonly after: string } | "start" | "now"
  /** Empty: all. */
  readonly types: ReadonlyArray<string>
  readonly mandate?: string | undefined
  /** Prints JSON lines. */
  readonly json: boolean
}

interface Page {
  readonly events: ReadonlyArray<FeedEvent>
  readonly cursor: string
  readonly hasMore: boolean
}

type Fault = StartFault | StoreUnavailable

const readPage = (
  organization: string,
  after: string | undefined
): Effect.Effect<Page, Fault, PostgresPorts> =>
  readEventFeed({ organization, limit: LIST_LIMIT_MAX, ...(after === undefined ? {} : { after }) }).pipe(
    Effect.mapError(faultOfRefusal),
    Effect.map(({ data, has_more, next_cursor }) => ({
      events: data.map((text) => parseJson(text) as unknown as FeedEvent),
      cursor: String(next_cursor),
      hasMore: has_more
    }))
  )

/** The page after a cursor, asked for until the store answers. */
const awaitPage = (organization: string, after: string | undefined) =>
  Effect.gen(function* () {
    let isNoted = false
    for (;;) {
      const page = yield* Effect.catchTag(
        readPage(organization, after),
        "StoreUnavailable",
        () => Effect.undefined
      )
      if (page !== undefined) return page
      if (!isNoted) yield* Console.error("the store cannot be read; trying again")
      isNoted = true
      yield* Effect.sleep(PAUSE_MILLISECONDS)
    }
  })

/** The cursor behind the latest event. */
const latestCursor = Effect.fnUntraced(function* (organization: string) {
  let page = yield* awaitPage(organization, undefined)
  while (page.hasMore) page = yield* awaitPage(organization, page.cursor)
  return page.cursor
})

const lineOf = (event: FeedEvent, json: boolean): string =>
  json
    ? printableJson(event)
    : [
        event.occurred_at,
        event.type.padEnd(TYPE_WIDTH),
        event.mandate_id,
        ...("authorization_id" in event ? [event.authorization_id] : [])
      ].join("  ")

const isWanted = (event: FeedEvent, { mandate, types }: Tail): boolean =>
  (types.length === 0 || types.includes(event.type)) &&
  (mandate === undefined || event.mandate_id === mandate)

/** Prints the events of an organization as they come, page by page, until it is interrupted. */
export const tailEvents = Effect.fn("tailEvents")(function* (
  tail: Tail
): Effect.fn.Return<never, Fault, PostgresPorts> {
  const { from, json, organization } = tail
  let after: string | undefined = typeof from === "string" ? undefined : from.after
  if (from === "now") after = yield* latestCursor(organization)
  const sayCursor = Effect.suspend(() =>
    json || after === undefined ? Effect.void : Console.error(`go on with --after ${after}`)
  )
  const follow = Effect.gen(function* () {
    for (;;) {
      const { cursor, events, hasMore }: Page = yield* awaitPage(organization, after)
      for (const event of events.filter((one) => isWanted(one, tail))) yield* Console.log(lineOf(event, json))
      if (json && cursor !== after) yield* Console.log(JSON.stringify({ next_cursor: cursor }))
      after = cursor
      if (!hasMore) yield* Effect.sleep(PAUSE_MILLISECONDS)
    }
  })
  return yield* Effect.ensuring(follow, sayCursor)
})

const tailCommandOf = (json: boolean): StoreCommand => ({
  name: "events tail",
  help: helpOf(
    `svc events tail --organization <id>: prints the events of all mandates of an organization as they come, until it is stopped
with Ctrl-C. A line for each on a terminal, and when it stops the cursor to go on with. Else, or with --json, JSON lines: the
events as GET /v1/events has them, and after each page {"next_cursor": ...}. It reads the store; svc listen reads a server.

  --organization <id>   whose events; required
  --after <cursor>      starts after a cursor; default: with the next event
  --from-start          starts with the first event
  --type <type>         those of a type; may be repeated
  --mandate <id>        those of one mandate

Example: svc events tail --organization org_... --type mandate.revoked`,
    SETTINGS_OF.store
  ),
  plan: Effect.fnUntraced(function* (words) {
    const options = yield* readOptions(
      { organization: "one", after: "one", "from-start": "flag", type: "many", mandate: "one" },
      words
    )
    const { organization, types } = yield* validateAll({
      organization: requiredOption(options.organization, "organization"),
      types: Effect.forEach(options.type, (type) => oneOf(JournalEventType.literals, type, "type")),
      start: refuseUnless(
        options.after === undefined || !options["from-start"],
        "--after and --from-start exclude each other"
      )
    })
    const start = options["from-start"] ? "start" : "now"
    const from = options.after === undefined ? start : { after: options.after }
    const tail: Tail = { organization, types, mandate: options.mandate, json, from }
    return Effect.as(findOrganization(organization), { organization, act: tailEvents(tail) })
  })
})

const { help, name } = tailCommandOf(true)

export const tailCommand: Command = {
  name,
  help,
  run: (words) =>
    asCommand(tailCommandOf(words.includes("--json") || process.stdout.isTTY !== true)).run(words)
}
