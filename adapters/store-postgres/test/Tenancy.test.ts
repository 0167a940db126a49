import { randomBytes } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { ApiKey } from "@svc/domain/organization/Organization"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { Organizations } from "@svc/domain/ports/Organizations"
import { readEventFeed } from "@svc/domain/programs/EventFeed"
import { formatInstant } from "@svc/protocol/Timestamp"
import { commitReport, proposalBody } from "@svc/testkit/ProgramHarness"
import { newIdentifier } from "@svc/testkit/StoreFixtures"
import { Context, Effect, Layer, Redacted, Schedule } from "effect"
import { Reactivity } from "effect/reactivity"
import { MIGRATIONS, migrationStatement, preparation, quoteSchema } from "../src/Migrations.ts"
import { dividedLikeOthers, storageParameters, WHOLE_TABLES } from "../src/migrations/Partitions.ts"
import * as PostgresStore from "../src/PostgresStore.ts"
import { clockOf, newCaller, processOn, roomyBody } from "./ProgramsOnPostgres.ts"
import { openTestDatabase } from "./TestPostgres.ts"

/*
 * What lets the tables be distributed by organization, within one server or over several: each row belongs to an
 * organization, and nothing outside of it has to be looked at to write it.
 */

const PARTITIONS = 3

/** Which organization a secret is of, by its hash. Every node of a sharded database can hold all of them. */
const SECRET_TABLES = new Set(["api_key_secret", "approval_token"])

/** Of the deployment: which steps of the schema were taken, its form, and its histories. */
const DEPLOYMENT_TABLES = new Set(["history", "migration", "partitioning"])

const server = await openTestDatabase()

const newSchema = (form: string) => `${form}_${randomBytes(6).toString("hex")}`
const FORMS = { whole: newSchema("whole"), divided: newSchema("divided") }

const withClient = <A, E>(use: (sql: PgClient.PgClient) => Effect.Effect<A, E>) =>
  Effect.scoped(
    Effect.flatMap(PgClient.make({ url: Redacted.make(server!.url), maxConnections: 1 }), use)
  ).pipe(Effect.provide(Reactivity.layer))

const migrateTo = (schema: string, partitions?: number) =>
  PostgresStore.migrateServer({
    url: Redacted.make(server!.url),
    schema,
    ...(partitions === undefined ? {} : { partitions })
  })

interface Index {
  readonly table: string
  readonly name: string
  readonly unique: boolean
  readonly columns: ReadonlyArray<string>
}

const indexesOf = (sql: PgClient.PgClient, schema: string) => sql<Index>`
  select t.relname::text as "table", i.relname::text as name, x.indisunique as "unique", array(
    select a.attname::text from unnest(x.indkey::int2[]) with ordinality k (attnum, place)
      join pg_attribute a on a.attrelid = x.indrelid and a.attnum = k.attnum order by k.place) as columns
  from pg_index x join pg_class t on t.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
  where t.relnamespace = ${quoteSchema(schema)}::regnamespace and not t.relispartition`

const textsOf = (sql: PgClient.PgClient, statement: string, schema: string) =>
  Effect.map(
    sql.unsafe<{ readonly text: string }>(statement, [quoteSchema(schema)]),
    (rows): ReadonlyArray<string> => rows.map(({ text }) => text)
  )

const TABLES = `select c.relname::text as text from pg_class c
  where c.relnamespace = $1::text::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1`

/** Tables that are divided by the hash of the organization, each with its number of partitions. */
const DIVIDED = `select c.relname || ' ' || pg_get_partkeydef(c.oid) || ' '
    || (select count(*) from pg_inherits i where i.inhparent = c.oid) as text
  from pg_class c where c.relnamespace = $1::text::regnamespace and c.relkind = 'p' order by 1`

const SEQUENCES = `select c.relname::text as text from pg_class c
  where c.relnamespace = $1::text::regnamespace and c.relkind = 'S'`

const FOREIGN_KEYS = `select r.conname::text as text from pg_constraint r
  where r.connamespace = $1::text::regnamespace and r.contype = 'f'`

const ADVISORY = `select p.proname::text as text from pg_proc p
  where p.pronamespace = $1::text::regnamespace and p.prosrc ~* 'advisory|nextval|currval'`

/** Columns, keys and indexes, written the same whether the table is divided or not. */
const FORM = `select concat_ws(' ', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
      a.attcollation::regcollation, a.attnotnull, pg_get_expr(d.adbin, d.adrelid)) as text
    from pg_class c join pg_attribute a on a.attrelid = c.oid
      left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = $1::text::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and a.attnum > 0 and not a.attisdropped
  union all select concat_ws(' ', r.conrelid::regclass, r.conname, pg_get_constraintdef(r.oid))
    from pg_constraint r join pg_class c on c.oid = r.conrelid
    where r.connamespace = $1::text::regnamespace and r.contype <> 'n' and not c.relispartition
  union all select replace(pg_get_indexdef(x.indexrelid), ' ON ONLY ', ' ON ')
    from pg_index x join pg_class c on c.oid = x.indrelid
    where c.relnamespace = $1::text::regnamespace and not c.relispartition`

const formOf = (sql: PgClient.PgClient, schema: string) =>
  Effect.map(textsOf(sql, FORM, schema), (texts) =>
    texts.map((text) => text.replaceAll(schema, "{schema}")).sort()
  )

/** A mandate with a closed and an open authorization, a key, and a cursor of the feed from between the two. */
const filled = Effect.gen(function* () {
  const organizations = yield* Organizations
  const now = yield* clockOf(yield* MandateStore)
  const caller = newCaller()
  const apiKey: ApiKey = {
    id: newIdentifier("key_"),
    organizationId: caller.organization.id,
    hash: newIdentifier("key_"),
    scopes: ["read"],
    createdAt: formatInstant(now)
  }
  yield* organizations.put(caller.organization)
  yield* organizations.putApiKey(apiKey)
  const { resource } = yield* caller.create(roomyBody(now))
  yield* caller.approve(resource.id)
  const report = { reported_accepted_at: formatInstant(now) }
  const closed = yield* caller.propose(resource.id, proposalBody(1))
  yield* caller.commit(closed.resource.id, commitReport(1, report))
  // The feed shows nothing of transactions that may still have others before them.
  const { next_cursor: cursor } = yield* readEventFeed({
    organization: caller.organization.id,
    limit: 100
  }).pipe(
    Effect.repeat({
      until: ({ data }) => data.at(-1)?.includes('"authorization.committed"') === true,
      schedule: Schedule.spaced("20 millis")
    })
  )
  const open = yield* caller.propose(resource.id, proposalBody(2))
  return { apiKey, caller, cursor, mandate: resource.id, open: open.resource.id, report }
})

/** Takes the first step alone, and copies what its tables can hold of another schema's. Gives the columns copied, by table. */
const firstSchemaWithDataOf = (sql: PgClient.PgClient, from: string, to: string) =>
  Effect.gen(function* () {
    for (const statement of [...preparation(to), migrationStatement(MIGRATIONS[0]!, to)]) {
      yield* sql.unsafe(statement).unprepared
    }
    const tables = yield* sql<{ readonly name: string; readonly columns: string }>`
      select c.table_name::text as name,
        string_agg(quote_ident(c.column_name), ', ' order by c.ordinal_position) as columns
      from information_schema.columns c join information_schema.columns f
        on f.table_schema = ${from} and f.table_name = c.table_name and f.column_name = c.column_name
      where c.table_schema = ${to} and c.table_name <> 'migration' group by 1`
    yield* sql.unsafe(`delete from ${quoteSchema(to)}.history`)
    for (const { columns, name } of tables) {
      yield* sql.unsafe(
        `insert into ${quoteSchema(to)}.${name} (${columns}) select ${columns} from ${quoteSchema(from)}.${name}`
      )
    }
    return new Map(tables.map(({ columns, name }) => [name, columns]))
  })

describe.skipIf(server === undefined)("the tenancy of the schema", { timeout: 120_000 }, () => {
  beforeAll(async () => {
    await Effect.runPromise(migrateTo(FORMS.whole))
    await Effect.runPromise(migrateTo(FORMS.divided, PARTITIONS))
  }, 120_000)
  afterAll(() => server?.stop())

  describe.each(Object.entries(FORMS))("%s", (_, schema) => {
    it.live("has the organization in every unique constraint, except where a secret finds it", () =>
      withClient((sql) =>
        Effect.gen(function* () {
          const tables = yield* textsOf(sql, TABLES, schema)
          const unique = (yield* indexesOf(sql, schema)).filter(
            (index) => index.unique && !DEPLOYMENT_TABLES.has(index.table)
          )
          const keyed = new Set(unique.map(({ table }) => table))
          assert.deepStrictEqual(
            tables.filter((table) => !keyed.has(table) && !DEPLOYMENT_TABLES.has(table)),
            []
          )
          const shared = unique.filter(({ columns }) => columns[0] !== "organization")
          assert.deepStrictEqual(shared.map(({ columns, table }) => `${table}: ${columns.join()}`).sort(), [
            "api_key_secret: hash",
            "approval_token: token_hash"
          ])
          assert.deepStrictEqual(new Set(shared.map(({ table }) => table)), SECRET_TABLES)
        })
      )
    )

    it.live("has no sequence, no foreign key and no advisory lock", () =>
      withClient((sql) =>
        Effect.forEach([SEQUENCES, FOREIGN_KEYS, ADVISORY], (statement) =>
          Effect.map(textsOf(sql, statement, schema), (found) => assert.deepStrictEqual(found, []))
        )
      )
    )

    it.live("orders the feed within an organization", () =>
      withClient((sql) =>
        Effect.map(indexesOf(sql, schema), (indexes) => {
          const positions = indexes.filter(({ columns }) => columns.includes("position"))
          assert.deepStrictEqual(
            positions.map(({ columns }) => columns),
            [["organization", "position", "mandate", "seq"]]
          )
        })
      )
    )
  })

  it.live("divides all tables of organizations but those that are small", () =>
    withClient((sql) =>
      Effect.gen(function* () {
        const tables = yield* textsOf(sql, TABLES, FORMS.divided)
        const stay = new Set([...WHOLE_TABLES, ...SECRET_TABLES, ...DEPLOYMENT_TABLES, "organization"])
        assert.deepStrictEqual(
          yield* textsOf(sql, DIVIDED, FORMS.divided),
          tables
            .filter((table) => !stay.has(table))
            .map((table) => `${table} HASH (organization) ${PARTITIONS}`)
        )
        assert.deepStrictEqual(yield* textsOf(sql, DIVIDED, FORMS.whole), [])
        assert.includeMembers([...tables], [...stay])
      })
    )
  )

  it.live("gives a table the same columns, keys and indexes in both forms", () =>
    withClient((sql) =>
      Effect.gen(function* () {
        const whole = yield* formOf(sql, FORMS.whole)
        assert.isAbove(whole.length, 100)
        assert.deepStrictEqual(yield* formOf(sql, FORMS.divided), whole)
      })
    )
  )

  it.live("is chosen when the schema is made, and kept", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* migrateTo(FORMS.divided), [])
      assert.deepStrictEqual(yield* migrateTo(FORMS.divided, PARTITIONS), [])
      const differing = [
        [FORMS.divided, PARTITIONS, 4],
        [FORMS.divided, PARTITIONS, 0],
        [FORMS.whole, 0, 4]
      ] as const
      for (const [schema, present, expected] of differing) {
        const fault = yield* Effect.flip(migrateTo(schema, expected))
        assert.deepInclude(fault, { _tag: "PartitionsDiffer", schema, present, expected })
        const options = { url: Redacted.make(server!.url), schema, partitions: expected }
        for (const migrations of ["run", "require"] as const) {
          const refused = yield* Effect.flip(
            Effect.scoped(Layer.build(PostgresStore.layer({ ...options, migrations })))
          )
          assert.strictEqual(refused._tag, "PartitionsDiffer")
        }
      }
    })
  )

  it.live.each([
    ["whole", 0],
    ["divided", PARTITIONS]
  ] as const)("is reached from the first schema with its data: %s", ([form, partitions]) =>
    withClient((sql) =>
      Effect.gen(function* () {
        const [original, upgraded] = [newSchema("original"), newSchema(`upgraded_${form}`)]
        const before = yield* processOn({ url: server!.url, schema: original })
        const { apiKey, caller, cursor, mandate, open, report } = yield* filled.pipe(Effect.provide(before))
        const columns = yield* firstSchemaWithDataOf(sql, original, upgraded)
        yield* sql.unsafe(
          `insert into ${quoteSchema(upgraded)}.approval_session values ($1, 'aps', $2, 1, 'hash', 'kept')`,
          [caller.organization.id, mandate]
        )
        yield* migrateTo(upgraded, partitions)
        yield* sql.unsafe(`delete from ${quoteSchema(upgraded)}.approval_session where session = 'aps'`)
        for (const [table, names] of columns) {
          const rowsIn = (schema: string) =>
            sql.unsafe(`select ${names} from ${quoteSchema(schema)}.${table} order by ${names}`)
          assert.deepStrictEqual(yield* rowsIn(upgraded), yield* rowsIn(original), table)
        }
        const [token] = yield* sql.unsafe(`select * from ${quoteSchema(upgraded)}.approval_token`)
        assert.deepStrictEqual(token, {
          token_hash: "hash",
          organization: caller.organization.id,
          session: "aps"
        })

        const after = yield* processOn({ url: server!.url, schema: upgraded })
        yield* Effect.gen(function* () {
          const found = yield* Context.get(after, Organizations).findApiKey(apiKey.hash)
          assert.deepStrictEqual(found?.apiKey, apiKey)
          yield* caller.commit(open, commitReport(2, report))
          // An event is shown once all transactions on the server that began before it have ended.
          const page = yield* Effect.repeat(
            Effect.tap(
              readEventFeed({ organization: caller.organization.id, limit: 100, after: cursor }),
              () => Effect.sleep("20 millis")
            ),
            { until: ({ data }) => data.length > 1 }
          )
          assert.deepStrictEqual(
            page.data.map((text) => JSON.parse(text).type),
            ["authorization.reserved", "authorization.committed"]
          )
        }).pipe(Effect.provide(after))
      }).pipe(Effect.scoped)
    )
  )

  it.live.each(Object.entries(FORMS))("lets later steps suit both forms: %s", ([, schema]) =>
    withClient((sql) =>
      Effect.gen(function* () {
        const statements = `create table {schema}.later (
            organization text collate "C" not null, name text collate "C" not null, note text,
            primary key (organization, name));
          ${dividedLikeOthers("later")}
          alter table {schema}.later add column number bigint;
          create index later_number on {schema}.later (organization, number) where number is not null;
          ${storageParameters("later", "fillfactor = 70")}`
        yield* sql.unsafe(migrationStatement({ id: 1000, name: "later", statements }, schema)).unprepared
        const table = `${quoteSchema(schema)}.later`
        yield* sql.unsafe(
          `insert into ${table} select 'org_' || n, 'name', '', n from generate_series(1, 20) n`
        )
        const [counted] = yield* sql.unsafe<{ readonly rows: bigint; readonly tables: bigint }>(
          `select count(*) as rows, count(distinct tableoid) as tables from ${table}`
        )
        const count = schema === FORMS.divided ? PARTITIONS : 1
        assert.deepStrictEqual(counted, { rows: 20n, tables: BigInt(count) })
        const filled = yield* textsOf(
          sql,
          `select c.relname::text as text from pg_class c where c.relnamespace = $1::text::regnamespace
            and c.relname like 'later%' and 'fillfactor=70' = any (c.reloptions)`,
          schema
        )
        assert.lengthOf(filled, count)
        yield* sql.unsafe(`drop table ${table}`)
        yield* sql.unsafe(`delete from ${quoteSchema(schema)}.migration where name = 'later'`)
      })
    )
  )
})
