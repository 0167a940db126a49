import { randomBytes } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { formatInstant } from "@svc/protocol/Timestamp"
import { commitReport, proposalBody } from "@svc/testkit/ProgramHarness"
import { Context, Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { MIGRATIONS, migrationStatement, preparation, quoteSchema } from "../src/Migrations.ts"
import { clockOf, newCaller, processOn, roomyBody } from "./ProgramsOnPostgres.ts"
import { openTestDatabase } from "./TestPostgres.ts"

const server = await openTestDatabase()

const newSchema = () => `upgrade_${randomBytes(6).toString("hex")}`

/** Takes the first step alone, and copies into that schema whatever columns another's tables share with it. */
const firstSchemaWithDataOf = (sql: PgClient.PgClient, from: string, to: string) =>
  Effect.gen(function* () {
    for (const statement of [...preparation(to), migrationStatement(MIGRATIONS[0]!, to)]) {
      yield* sql.unsafe(statement).unprepared
    }
    const tables = yield* sql<{ readonly name: string; readonly columns: string }>`
      select c.table_name::text as name, string_agg(quote_ident(c.column_name), ', ') as columns
      from information_schema.columns c join information_schema.columns f
        on f.table_schema = ${from} and f.table_name = c.table_name and f.column_name = c.column_name
      where c.table_schema = ${to} and c.table_name not in ('migration', 'history') group by 1`
    for (const { columns, name } of tables) {
      yield* sql.unsafe(
        `insert into ${quoteSchema(to)}.${name} (${columns}) select ${columns} from ${quoteSchema(from)}.${name}`
      )
    }
  })

const derivedRows = (sql: PgClient.PgClient, schema: string) =>
  sql.unsafe<{ readonly row: string }>(
    `select to_jsonb(s)::text as row from (
      select mandate, next_due, wake_at is null or wake_at <= next_due as wakes_in_time,
        wake_at is null as never_wakes, array(select unnest(open_authorizations) order by 1) as open
      from ${quoteSchema(schema)}.stream order by mandate) s
    union all (select to_jsonb(c)::text from ${quoteSchema(schema)}.closed_authorization c order by mandate, ordinal)`
  )

describe.skipIf(server === undefined)("a database of the first schema", () => {
  afterAll(() => server?.stop())

  it.live(
    "is upgraded with its data, and goes on where it was",
    () =>
      Effect.gen(function* () {
        const sql = yield* PgClient.make({ url: Redacted.make(server!.url) })
        const [current, upgraded] = [newSchema(), newSchema()]
        const before = yield* processOn({ url: server!.url, schema: current })
        const caller = newCaller()
        const now = yield* clockOf(Context.get(before, MandateStore))
        const report = { reported_accepted_at: formatInstant(now) }
        const { mandate, open } = yield* Effect.gen(function* () {
          yield* caller.create(roomyBody(now))
          const { resource } = yield* caller.create(roomyBody(now))
          yield* caller.approve(resource.id)
          const ids: Array<string> = []
          for (const number of [1, 2, 3, 4]) {
            ids.push((yield* caller.propose(resource.id, proposalBody(number))).resource.id)
          }
          yield* caller.propose(resource.id, proposalBody(5, Number.MAX_SAFE_INTEGER))
          yield* caller.commit(ids[1]!, commitReport(2, report))
          return { mandate: resource.id, open: [ids[0]!, ids[2]!, ids[3]!] }
        }).pipe(Effect.provide(before))

        yield* firstSchemaWithDataOf(sql, current, upgraded)
        const after = yield* processOn({ url: server!.url, schema: upgraded })
        assert.deepStrictEqual(yield* derivedRows(sql, upgraded), yield* derivedRows(sql, current))
        yield* Effect.gen(function* () {
          const listed = (state: string) =>
            Effect.map(
              caller.authorizations({ mandateId: mandate, limit: 10, state: state as "RESERVED" }),
              ({ data }) => data.map(({ id }) => id)
            )
          assert.deepStrictEqual(yield* listed("RESERVED"), open.toReversed())
          assert.lengthOf(yield* listed("DENIED"), 1)
          assert.lengthOf(yield* listed("COMMITTED"), 1)
          yield* caller.commit(open[0]!, commitReport(1, report))
          assert.lengthOf(yield* listed("COMMITTED"), 2)
          assert.deepStrictEqual(yield* listed("RESERVED"), [open[2]!, open[1]!])
          assert.strictEqual((yield* caller.read(mandate)).usage.reserved_executions, 2)
        }).pipe(Effect.provide(after))
      }).pipe(Effect.provide(Reactivity.layer)),
    60_000
  )
})
