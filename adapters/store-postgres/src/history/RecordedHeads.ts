import { makeLeastRecentlySet } from "@svc/domain/engine/LeastRecentlySet"
import type { StoreUnavailable, StreamChange } from "@svc/domain/ports/MandateStore"
import { Effect } from "effect"
import type { PostgresClients } from "../connection/PostgresClients.ts"
import { statement } from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"
import { isRecorded } from "./RecordedEvent.ts"

/** Mandates whose last acknowledged event a process remembers, those that it wrote to last. */
export const MAX_REMEMBERED_MANDATES = 10_000

/** The last event of a mandate that this process acknowledged. */
export interface RecordedHead {
  readonly organization: string
  readonly mandate: string
  readonly seq: number
  readonly event: string
}

/** A mandate that lacks an acknowledged event. */
export interface MissingHead extends RecordedHead {
  /** How many events the store has of it. */
  readonly found: number
}

export interface RecordedHeads {
  readonly note: (change: StreamChange) => void
  readonly list: () => ReadonlyArray<RecordedHead>
}

/** Remembers what was acknowledged, for when the database turns out to be another one. */
export const makeRecordedHeads = (most = MAX_REMEMBERED_MANDATES): RecordedHeads => {
  const heads = makeLeastRecentlySet<RecordedHead>(most)
  return {
    note: ({ events, mandate, organization }) => {
      const last = events.at(-1)
      if (last === undefined) return
      heads.set(mandate, { organization, mandate, seq: last.seq, event: last.id })
    },
    list: () => Array.from(heads.entries(), ([, head]) => head)
  }
}

const MISSING = `select h.at::int as at, coalesce((select s.seq from {schema}.stream s
    where s.organization = h.organization and s.mandate = h.mandate), 0)::int as found
  from unnest($1::text[], $2::text[], $3::text[], $4::text[]) with ordinality
    as h(organization, mandate, seq, event, at)
  where not ${isRecorded}
  order by h.at`

/** Those of the heads that the store does not have. */
export const makeMissingHeads = ({ reads, schema }: Pick<PostgresClients, "reads" | "schema">) => {
  const ask = statement<{ readonly at: number; readonly found: number }>(reads, schema, MISSING)
  return (heads: ReadonlyArray<RecordedHead>): Effect.Effect<ReadonlyArray<MissingHead>, StoreUnavailable> =>
    heads.length === 0
      ? Effect.succeed([])
      : Effect.map(
          guarded(
            ask([
              heads.map(({ organization }) => organization),
              heads.map(({ mandate }) => mandate),
              heads.map(({ seq }) => String(seq)),
              heads.map(({ event }) => event)
            ])
          ),
          (rows) => rows.map(({ at, found }) => ({ ...heads[at - 1]!, found }))
        )
}
