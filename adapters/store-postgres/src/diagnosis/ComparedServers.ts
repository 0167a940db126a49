import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { singleRowOf } from "./Question.ts"

/** What a server says of itself that tells whether its data is a copy of another's. */
export interface ComparedServer {
  /** The database, and when its server started: no two servers were started in the same microsecond. */
  readonly place: string
  readonly isStandby: boolean
  /** Whether a primary sends it what it records, at this moment. */
  readonly follows: boolean
  /** System identifier. Null where the server does not tell, as is the timeline. */
  readonly cluster: string | null
  /** That of what it records, or replays. */
  readonly timeline: number | null
}

/**
 * What another database is to the one that it is compared with:
 *
 * - `same`: the same database, reached in another way.
 * - `copy`: a standby that follows it, or one of whose primary nobody can say that it is another.
 * - `unsure`: a standby that follows nobody now and has the same timeline, or does not tell. It may be a copy from before.
 * - `other`: a database of its own, such as a lost primary.
 */
export type Relation = "same" | "copy" | "unsure" | "other"

const areKnownToDiffer = <A>(one: A | null, other: A | null): boolean =>
  one !== null && other !== null && one !== other

/**
 * What the database there is to the one here. A standby of the one here has its timeline; a lost primary has an earlier one,
 * since the promotion of its successor began another.
 */
export const relationOf = (here: ComparedServer, there: ComparedServer): Relation => {
  if (there.place === here.place) return "same"
  const isAnother =
    !there.isStandby ||
    areKnownToDiffer(there.cluster, here.cluster) ||
    areKnownToDiffer(there.timeline, here.timeline)
  if (isAnother) return "other"
  return there.follows ? "copy" : "unsure"
}

const SELF = `select current_database() || ' ' || extract(epoch from pg_postmaster_start_time()) as place,
  pg_is_in_recovery() as is_standby,
  exists (select from pg_stat_wal_receiver) as follows,
  (select r.received_tli from pg_stat_wal_receiver r) as followed_timeline`

const CLUSTER = "select system_identifier::text as cluster from pg_control_system()"

/** The first eight digits of the name of a file of the log are its timeline. */
const RECORDED_TIMELINE =
  "select ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int as timeline"

const REPLAYED_TIMELINE = `select greatest(c.timeline_id, r.min_recovery_end_timeline) as timeline
  from pg_control_checkpoint() c, pg_control_recovery() r`

interface SelfRow {
  readonly place: string
  readonly is_standby: boolean
  readonly follows: boolean
  /** Shown to members of `pg_read_all_stats` alone. */
  readonly followed_timeline: number | null
}

/** Null where the server has no such function, or keeps it from this role. */
const told = <Row extends object>(client: SqlClient, question: string): Effect.Effect<Row | null> =>
  Effect.orElseSucceed(singleRowOf<Row>(client, question), () => null)

/** Asks a server what it is. */
export const comparedServer = (client: SqlClient): Effect.Effect<ComparedServer, SqlError> =>
  Effect.gen(function* () {
    const self = yield* singleRowOf<SelfRow>(client, SELF)
    const cluster = yield* told<{ readonly cluster: string }>(client, CLUSTER)
    const timeline = self.follows
      ? { timeline: self.followed_timeline }
      : yield* told<{ readonly timeline: number }>(
          client,
          self.is_standby ? REPLAYED_TIMELINE : RECORDED_TIMELINE
        )
    return {
      place: self.place,
      isStandby: self.is_standby,
      follows: self.follows,
      cluster: cluster?.cluster ?? null,
      timeline: timeline?.timeline ?? null
    }
  })
