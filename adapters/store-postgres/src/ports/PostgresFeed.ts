import {
  type EventFeed,
  type EventFeedPage,
  type EventFeedQuery,
  FEED_START,
  PositionRefused
} from "@svc/domain/ports/EventFeed"
import { Effect } from "effect"
import { type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"
import { RECORD_SCHEMA, UnreadableRecord } from "../RecordCodec.ts"

interface FeedRow {
  /** Null where no event comes after the position. */
  readonly position: string | null
  readonly mandate: string
  readonly seq: string
  readonly id: string
  readonly schema: number
  readonly text: string
  /** The events found, one more than the limit if there are more. Some may exceed the limit of bytes. */
  readonly found: bigint
  /** Whether reading can continue from the given position. */
  readonly goes_on: boolean
  readonly history: string
}

/**
 * Every transaction in progress has a number of at least `xmin` of the snapshot, and so have the events that it records.
 * Lengths are known without reading the texts. Reading continues from a position only if its history is the current one and
 * its event still exists, or went with its mandate. After a restore it does not: an event recorded in its place has another id.
 */
const READ = `with place as materialized (
  select (select h.history from {schema}.history h order by h.ordinal desc limit 1) as history, $7::text = '' or (
    exists (
      select from {schema}.history h where h.history = $7::text and h.ordinal >=
        (select max(b.ordinal) from {schema}.history b where not b.continues)
    ) and exists (
      select from {schema}.event e where e.organization = $1::text and e.mandate = $3::text and e.seq = $4::bigint
        and e.position = $2::bigint and e.id = $8::text
      union all
      select from {schema}.removed_mandate r where r.organization = $1::text and r.mandate = $3::text
        and r.seq >= $4::bigint and r.event_ids[$4::bigint] = $8::text
    )
  ) as goes_on
)
select p.position::text as position, p.mandate, p.seq::text as seq, p.id, p.schema, p.text,
  coalesce(p.found, 0) as found, place.goes_on, place.history
from place left join (
  select e.*, count(*) over () as found,
    sum(e.length) over (order by e.position, e.mandate, e.seq) - e.length as before
  from (
    select e.position, e.mandate, e.seq, e.id, e.schema, e.text, octet_length(e.text) as length from {schema}.event e
    where e.organization = $1::text
      and (e.position, e.mandate, e.seq) > ($2::bigint, $3::text, $4::bigint)
      and e.position < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
    order by e.position, e.mandate, e.seq limit $5::bigint + 1
  ) e
) p on p.before < $6::bigint
order by p.position, p.mandate, p.seq limit $5::bigint`

/** History, number of the transaction, mandate, `seq` and the event's id. */
const POSITION =
  /^([0-9a-f]{16})\.(0|[1-9][0-9]{0,18})\.([a-z0-9_]{1,64})\.([1-9][0-9]{0,14})\.([A-Za-z0-9_]{1,64})$/u
const LAST_NUMBER = 9_223_372_036_854_775_807n

interface Place {
  readonly number: string
  readonly mandate: string
  readonly seq: string
  /** Both empty for the position before all events, which every history has. */
  readonly history: string
  readonly event: string
}

const BEFORE_ALL: Place = { number: "0", mandate: "", seq: "0", history: "", event: "" }

const placeOf = (position: string): Place | undefined => {
  if (position === FEED_START) return BEFORE_ALL
  const [, history, number, mandate, seq, event] = POSITION.exec(position) ?? []
  if (history === undefined || number === undefined) return undefined
  if (mandate === undefined || seq === undefined || event === undefined) return undefined
  return BigInt(number) > LAST_NUMBER ? undefined : { history, number, mandate, seq, event }
}

const feedPageOf = (
  after: string,
  rows: ReadonlyArray<FeedRow>
): Effect.Effect<EventFeedPage, PositionRefused> => {
  const { goes_on: goesOn, history } = rows[0]!
  if (!goesOn) return Effect.fail(new PositionRefused({ reason: "history_changed" }))
  const found = rows.filter(({ position }) => position !== null)
  const newer = found.find(({ schema }) => schema > RECORD_SCHEMA)
  if (newer !== undefined) {
    throw new UnreadableRecord({
      detail: `an event has schema ${newer.schema}, this release reads ${RECORD_SCHEMA}`
    })
  }
  const last = found.at(-1)
  return Effect.succeed({
    events: found.map(({ mandate, text }) => ({ mandate, text })),
    position:
      last === undefined ? after : `${history}.${last.position}.${last.mandate}.${last.seq}.${last.id}`,
    hasMore: Number(rows[0]?.found ?? 0) > found.length
  })
}

export const makeEventFeed = ({ reads, schema }: PostgresClients): EventFeed["Service"] => {
  const read = statement<FeedRow>(reads, schema, READ)
  return {
    read: Effect.fnUntraced(function* ({ after, bytes, limit, organization }: EventFeedQuery) {
      const place = placeOf(after)
      if (place === undefined) return yield* new PositionRefused({ reason: "not_given" })
      const { event, history, mandate, number, seq } = place
      const parameters = [organization, number, mandate, seq, String(limit), String(bytes), history, event]
      return yield* guarded(Effect.flatMap(read(parameters), (rows) => feedPageOf(after, rows)))
    })
  }
}
