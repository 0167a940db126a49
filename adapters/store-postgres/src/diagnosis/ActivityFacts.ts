import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { rowsOf, singleRowOf } from "./Question.ts"

/** A transaction that has been open for long. What it runs is not told, since that may hold secrets. */
export interface OpenTransaction {
  readonly pid: number
  readonly role: string | null
  readonly database: string | null
  readonly application: string
  readonly state: string | null
  readonly seconds: number
  /** Whether it has a number in the order of the feed, and so holds the feed back. */
  readonly writes: boolean
}

export interface TransactionFacts {
  /** Those that are older than asked for, the oldest first. */
  readonly open: ReadonlyArray<OpenTransaction>
  /** Sessions of other roles, of which this role is not told since when they are in a transaction. */
  readonly hidden: number
}

const OPEN_TRANSACTIONS = `select a.pid, a.usename::text as role, a.datname::text as database,
  coalesce(a.application_name, '') as application, a.state,
  extract(epoch from clock_timestamp() - a.xact_start)::float8 as seconds, a.backend_xid is not null as writes
from pg_stat_activity a
where a.pid <> pg_backend_pid() and a.xact_start < clock_timestamp() - make_interval(secs => $1::text::float8)
  and (a.backend_xid is not null or a.backend_xmin is not null)
order by a.xact_start limit 100`

const HIDDEN_SESSIONS = `select count(*)::int as hidden from pg_stat_activity a
where a.query = '<insufficient privilege>' and a.datname is not null`

export const transactionFacts = (
  client: SqlClient,
  olderThanSeconds: number
): Effect.Effect<TransactionFacts, SqlError> =>
  Effect.all({
    open: rowsOf<OpenTransaction>(client, OPEN_TRANSACTIONS, [String(olderThanSeconds)]),
    hidden: Effect.map(
      singleRowOf<{ readonly hidden: number }>(client, HIDDEN_SESSIONS),
      ({ hidden }) => hidden
    )
  })

/** A transaction that was prepared (two-phase commit) and neither committed nor rolled back. */
export interface PreparedTransaction {
  readonly identifier: string
  readonly owner: string
  readonly database: string
  readonly seconds: number
}

export const preparedTransactions = (
  client: SqlClient
): Effect.Effect<ReadonlyArray<PreparedTransaction>, SqlError> =>
  rowsOf<PreparedTransaction>(
    client,
    `select p.gid as identifier, p.owner::text as owner, p.database::text as database,
  extract(epoch from clock_timestamp() - p.prepared)::float8 as seconds
from pg_prepared_xacts p order by p.prepared`
  )

export interface ReplicationSlot {
  readonly name: string
  readonly is_active: boolean
  /** Null where the server does not tell. */
  readonly wal_status: string | null
  /** Whether it keeps vacuum from removing rows. */
  readonly holds_vacuum: boolean
  /** How much of the log of writes the server keeps for it. */
  readonly retained_bytes: number
}

export const replicationSlots = (
  client: SqlClient
): Effect.Effect<ReadonlyArray<ReplicationSlot>, SqlError> =>
  rowsOf<ReplicationSlot>(
    client,
    `select s.slot_name::text as name, s.active as is_active, s.wal_status,
  s.xmin is not null or s.catalog_xmin is not null as holds_vacuum,
  coalesce(case when not pg_is_in_recovery() then pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn) end, 0)::float8
    as retained_bytes
from pg_replication_slots s order by s.slot_name`
  )

export interface StandbyFacts {
  /** `synchronous_standby_names`; empty where commits wait for no standby. */
  readonly names: string
  readonly connected: number
  /** Standbys that a commit waits for. */
  readonly synchronous: number
  /** Standbys of which this role is not told whether commits wait for them. */
  readonly hidden: number
}

export const standbyFacts = (client: SqlClient): Effect.Effect<StandbyFacts, SqlError> =>
  singleRowOf<StandbyFacts>(
    client,
    `select current_setting('synchronous_standby_names') as names, count(r.pid)::int as connected,
  count(*) filter (where r.sync_state in ('sync', 'quorum'))::int as synchronous,
  count(*) filter (where r.pid is not null and r.sync_state is null)::int as hidden
from (select) one left join pg_stat_replication r on true`
  )
