import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { rowsOf, singleRowOf } from "./Question.ts"

/** What a session is told of its server, database and role. */
export interface ServerFacts {
  /** As in `server_version_num`. */
  readonly version: number
  readonly release: string
  readonly encoding: string
  readonly fsync: string
  readonly full_page_writes: string
  readonly synchronous_commit: string
  readonly replication_role: string
  readonly is_read_only: boolean
  readonly is_replica: boolean
  readonly role: string
  readonly is_superuser: boolean
}

const SERVER = `select current_setting('server_version_num')::int as version,
  split_part(current_setting('server_version'), ' ', 1) as release,
  current_setting('server_encoding') as encoding, current_setting('fsync') as fsync,
  current_setting('full_page_writes') as full_page_writes,
  current_setting('synchronous_commit') as synchronous_commit,
  current_setting('session_replication_role') as replication_role,
  current_setting('transaction_read_only') = 'on' as is_read_only, pg_is_in_recovery() as is_replica,
  current_user::text as role, r.rolsuper as is_superuser
from pg_roles r where r.rolname = current_user`

export const serverFacts = (client: SqlClient): Effect.Effect<ServerFacts, SqlError> =>
  singleRowOf<ServerFacts>(client, SERVER)

/** The settings that a session has of those that it asked for. */
export const sessionSettings = (
  client: SqlClient,
  names: ReadonlyArray<string>
): Effect.Effect<ReadonlyMap<string, string>, SqlError> =>
  Effect.map(
    rowsOf<{ readonly name: string; readonly setting: string | null }>(
      client,
      "select name, current_setting(name, true) as setting from unnest($1::text[]) as name",
      [names]
    ),
    (rows) => new Map(rows.map(({ name, setting }) => [name, setting ?? ""]))
  )

/** How far the clock of the server is ahead of this machine's, and how exactly that is known, in milliseconds. */
export interface ClockFacts {
  readonly ahead: number
  readonly uncertainty: number
}

export const clockFacts = Effect.fnUntraced(function* (
  client: SqlClient
): Effect.fn.Return<ClockFacts, SqlError> {
  const before = yield* Clock.currentTimeMillis
  const { at } = yield* singleRowOf<{ readonly at: number }>(
    client,
    "select (extract(epoch from clock_timestamp()) * 1000)::float8 as at"
  )
  const after = yield* Clock.currentTimeMillis
  return { ahead: at - (before + after) / 2, uncertainty: (after - before) / 2 }
})

/** Connections of the server: how many the role may have in all, and how many there are. */
export interface ConnectionFacts {
  readonly most: number
  readonly used: number
}

/** The tightest of the limits of server, database and role decides. */
const CONNECTIONS = `select o.most, o.used from (
  select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as most,
    (select coalesce(sum(s.numbackends), 0)::int from pg_stat_database s) as used
  union all
  select d.datconnlimit, s.numbackends from pg_database d join pg_stat_database s on s.datid = d.oid
    where d.datname = current_database() and d.datconnlimit >= 0
  union all
  select r.rolconnlimit, (select count(*)::int from pg_stat_activity a where a.usename = current_user)
    from pg_roles r where r.rolname = current_user and r.rolconnlimit >= 0
) o order by o.most - o.used limit 1`

export const connectionFacts = (client: SqlClient): Effect.Effect<ConnectionFacts, SqlError> =>
  singleRowOf<ConnectionFacts>(client, CONNECTIONS)

const BACKEND = "select pg_backend_pid() as pid"

/**
 * Whether one connection is served by several sessions of the server, as behind a pooler in transaction mode: the other
 * connection then takes the session that the first one had, which gets another.
 */
export const sharesSessions = (one: SqlClient, other: SqlClient): Effect.Effect<boolean, SqlError> =>
  Effect.gen(function* () {
    const pid = Effect.suspend(() => singleRowOf<{ readonly pid: number }>(one, BACKEND))
    const before = yield* pid
    const after = yield* other.withTransaction(Effect.andThen(rowsOf(other, BACKEND), pid))
    return before.pid !== after.pid
  })
