import {
  type EventFeed,
  type EventFeedPage,
  type EventFeedQuery,
  FEED_START
} from "@svc/domain/ports/EventFeed"
import { Effect } from "effect"
import { type PostgresClients, statement } from "./PostgresClients.ts"
import { RECORD_SCHEMA, UnreadableRecord } from "./RecordCodec.ts"
import { guarded } from "./StoreFault.ts"

interface FeedRow {
  /** Null where no event comes after the position. */
  readonly position: string | null
  readonly mandate: string
  readonly seq: string
  readonly schema: number
  readonly text: string
  /** Events found, one more than the limit when there are more; some may be beyond the limit of bytes. */
  readonly found: bigint
  /** The lowest number of a transaction that none has yet. */
  readonly next: string
}

/**
 * A transaction that is at work has a number from `xmin` of the snapshot on, and so has whatever it records. Lengths are
 * known without reading the texts.
 */
const READ = `with snapshot as materialized (
  select pg_snapshot_xmax(pg_current_snapshot())::text as next
)
select p.position::text as position, p.mandate, p.seq::text as seq, p.schema, p.text,
  coalesce(p.found, 0) as found, snapshot.next
from snapshot left join (
  select e.*, count(*) over () as found,
    sum(e.length) over (order by e.position, e.mandate, e.seq) - e.length as before
  from (
    select e.position, e.mandate, e.seq, e.schema, e.text, octet_length(e.text) as length from {schema}.event e
    where e.organization = $1::text
      and (e.position, e.mandate, e.seq) > ($2::bigint, $3::text, $4::bigint)
      and e.position < pg_snapshot_xmin(pg_current_snapshot())::text::bigint
    order by e.position, e.mandate, e.seq limit $5::bigint + 1
  ) e
) p on p.before < $6::bigint
order by p.position, p.mandate, p.seq limit $5::bigint`

/** Number of the transaction, mandate, `seq`. */
const POSITION = /^(0|[1-9][0-9]{0,18})\.([a-z0-9_]{1,64})\.([1-9][0-9]{0,14})$/u
const LAST_NUMBER = 9_223_372_036_854_775_807n

const BEFORE_ALL = ["0", "", "0"] as const

const placeOf = (position: string): readonly [string, string, string] | undefined => {
  if (position === FEED_START) return BEFORE_ALL
  const [, number, mandate, seq] = POSITION.exec(position) ?? []
  if (number === undefined || mandate === undefined || seq === undefined) return undefined
  return BigInt(number) > LAST_NUMBER ? undefined : [number, mandate, seq]
}

const pageOf = (after: string, rows: ReadonlyArray<FeedRow>): EventFeedPage => {
  const found = rows.filter(({ position }) => position !== null)
  const newer = found.find(({ schema }) => schema > RECORD_SCHEMA)
  if (newer !== undefined) {
    throw new UnreadableRecord({
      detail: `an event has schema ${newer.schema}, this release reads ${RECORD_SCHEMA}`
    })
  }
  const last = found.at(-1)
  return {
    events: found.map(({ mandate, text }) => ({ mandate, text })),
    position: last === undefined ? after : `${last.position}.${last.mandate}.${last.seq}`,
    hasMore: Number(rows[0]?.found ?? 0) > found.length
  }
}

export const makeEventFeed = ({ reads, schema }: PostgresClients): EventFeed["Service"] => {
  const read = statement<FeedRow>(reads, schema, READ)
  return {
    read: Effect.fnUntraced(function* ({ after, bytes, limit, organization }: EventFeedQuery) {
      const place = placeOf(after)
      if (place === undefined) return undefined
      return yield* guarded(
        Effect.map(read([organization, ...place, String(limit), String(bytes)]), (rows) =>
          // The position of a transaction that this server has not come to: another's, from before a move.
          BigInt(place[0]) >= BigInt(rows[0]!.next) ? undefined : pageOf(after, rows)
        )
      )
    })
  }
}
