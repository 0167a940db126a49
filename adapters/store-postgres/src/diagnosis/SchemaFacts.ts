import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { pendingMigrations, type SchemaUnknown } from "../Migrate.ts"
import { inSchema, MIGRATIONS } from "../Migrations.ts"
import { rowsOf, singleRowOf } from "./Question.ts"

export interface MigrationFacts {
  /** Steps that this release needs and the schema lacks, in order. All of them where there is no schema. */
  readonly pending: ReadonlyArray<string>
  /** How many steps of a later release it has. */
  readonly later: number
  /** Into how many partitions the large tables are divided, 0 for none; absent while a step is pending. */
  readonly partitions: number | undefined
}

export const migrationFacts = Effect.fnUntraced(function* (
  client: SqlClient,
  schema: string
): Effect.fn.Return<MigrationFacts, SchemaUnknown | SqlError> {
  const pending = (yield* pendingMigrations(client, schema)).map(({ name }) => name)
  if (pending.length > 0) return { pending, later: 0, partitions: undefined }
  const { partitions, taken } = yield* singleRowOf<{ readonly partitions: number; readonly taken: number }>(
    client,
    inSchema(
      "select p.partitions, (select count(*)::int from {schema}.migration) as taken from {schema}.partitioning p",
      schema
    )
  )
  return { pending, later: taken - MIGRATIONS.length, partitions }
})

export interface PrivilegeFacts {
  /** Whether there is a schema: not before the first migration. */
  readonly hasSchema: boolean
  readonly schema: string
  /** The role that was examined. */
  readonly role: string
  readonly mayUseSchema: boolean
  /** Whether the role may change every table, as `svc migrate` does. */
  readonly ownsTables: boolean
  /** Privileges that the role lacks, such as `INSERT on event`. */
  readonly lacking: ReadonlyArray<string>
}

/** Tables that only a migration writes. */
const READ_ONLY_TABLES = ["migration", "partitioning"]

const SCHEMA_PRIVILEGE =
  "select coalesce(has_schema_privilege(to_regnamespace($1), 'USAGE'), false) as may_use, to_regnamespace($1) is not null as has_schema, current_user::text as role"

/** Partitions are reached through the table that they belong to. */
const TABLE_PRIVILEGES = `select c.relname::text as name, pg_has_role(c.relowner, 'USAGE') as is_owner,
  array(select p from unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) p
    where (p = 'SELECT' or c.relname::text <> all ($2::text[])) and not has_table_privilege(c.oid, p)) as lacking
from pg_class c where c.relnamespace = to_regnamespace($1) and c.relkind in ('r', 'p') and not c.relispartition
order by c.relname`

const FUNCTION_PRIVILEGES = `select p.proname::text as name from pg_proc p
where p.pronamespace = to_regnamespace($1) and not has_function_privilege(p.oid, 'EXECUTE') order by p.proname`

interface TableRow {
  readonly name: string
  readonly is_owner: boolean
  readonly lacking: ReadonlyArray<string>
}

export const privilegeFacts = Effect.fnUntraced(function* (
  client: SqlClient,
  schema: string
): Effect.fn.Return<PrivilegeFacts, SqlError> {
  const quoted = inSchema("{schema}", schema)
  const {
    has_schema: hasSchema,
    may_use: mayUseSchema,
    role
  } = yield* singleRowOf<{
    readonly may_use: boolean
    readonly has_schema: boolean
    readonly role: string
  }>(client, SCHEMA_PRIVILEGE, [quoted])
  const tables = yield* rowsOf<TableRow>(client, TABLE_PRIVILEGES, [quoted, READ_ONLY_TABLES])
  const functions = yield* rowsOf<{ readonly name: string }>(client, FUNCTION_PRIVILEGES, [quoted])
  return {
    hasSchema,
    schema,
    role,
    mayUseSchema,
    ownsTables: tables.every(({ is_owner }) => is_owner),
    lacking: [
      ...(mayUseSchema ? [] : ["USAGE on the schema"]),
      ...tables.flatMap(({ lacking, name }) =>
        lacking.length === 0 ? [] : [`${lacking.join(", ")} on ${name}`]
      ),
      ...functions.map(({ name }) => `EXECUTE on ${name}()`)
    ]
  }
})

/** Rows of a table by the statistics of the server, which are estimates. */
export interface TableFacts {
  readonly name: string
  readonly live: number
  readonly dead: number
  readonly is_vacuumed: boolean
}

export interface VacuumFacts {
  readonly tables: ReadonlyArray<TableFacts>
  readonly autovacuum: boolean
  /** Transactions since the oldest one that may still have to be told apart from later ones. */
  readonly transactionAge: number
}

const TABLES = `select s.relname::text as name, s.n_live_tup::float8 as live, s.n_dead_tup::float8 as dead,
  not coalesce('autovacuum_enabled=false' = any (c.reloptions) or 'autovacuum_enabled=off' = any (c.reloptions), false)
    as is_vacuumed
from pg_stat_user_tables s join pg_class c on c.oid = s.relid
where c.relnamespace = to_regnamespace($1) order by s.n_dead_tup desc`

const VACUUM = `select current_setting('autovacuum') = 'on' as autovacuum, age(d.datfrozenxid)::float8 as age
from pg_database d where d.datname = current_database()`

export const vacuumFacts = (client: SqlClient, schema: string): Effect.Effect<VacuumFacts, SqlError> =>
  Effect.gen(function* () {
    const tables = yield* rowsOf<TableFacts>(client, TABLES, [inSchema("{schema}", schema)])
    const { age, autovacuum } = yield* singleRowOf<{ readonly age: number; readonly autovacuum: boolean }>(
      client,
      VACUUM
    )
    return { tables, autovacuum, transactionAge: age }
  })
