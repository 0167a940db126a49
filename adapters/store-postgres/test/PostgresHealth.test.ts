import { randomBytes } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { Context, Effect, Layer, Redacted, Schedule } from "effect"
import { Reactivity } from "effect/reactivity"
import { inSchema, MIGRATIONS, migrationStatement, preparation } from "../src/Migrations.ts"
import * as PostgresStore from "../src/PostgresStore.ts"
import { startTestPostgres } from "./TestPostgres.ts"

const server = await startTestPostgres()
const url = Redacted.make(server?.url ?? "")

const query = (statement: string) =>
  Effect.scoped(
    Effect.flatMap(
      PgClient.make({ url, startupParameters: { default_transaction_read_only: "off" } }),
      (client) => client.unsafe(statement).unprepared
    )
  ).pipe(Effect.provide(Reactivity.layer))

const healthIn = (schema: string) =>
  Effect.map(Layer.build(PostgresStore.layer({ url, schema, migrations: "run" })), (ports) =>
    Context.get(ports, StoreHealth)
  )

const newSchema = (): string => `test_${randomBytes(6).toString("hex")}`

/** Servers take a moment to read their settings again. */
const until = (isWanted: (faults: ReadonlyArray<string>) => boolean, health: StoreHealth["Service"]) =>
  health.faults.pipe(
    Effect.filterOrFail(isWanted),
    Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 500 })
  )

describe.skipIf(server === undefined)("the health of a store on a server", () => {
  afterAll(() => server?.stop())

  it.live("tells migrations that are pending", () =>
    Effect.gen(function* () {
      const schema = newSchema()
      const health = yield* healthIn(schema)
      assert.deepStrictEqual(yield* health.faults, [])
      yield* query(inSchema("delete from {schema}.migration where id in (2, 7)", schema))
      assert.deepStrictEqual(yield* health.faults, ["Migrations are pending: load_stream, leases."])
    })
  )

  it.live("is sound for a release before a step that a later one has taken, which nothing undoes", () =>
    Effect.gen(function* () {
      const schema = newSchema()
      const health = yield* healthIn(schema)
      const later = MIGRATIONS.length + 1
      yield* query(inSchema(`insert into {schema}.migration (id, name) values (${later}, 'later')`, schema))
      yield* query(inSchema("alter table {schema}.organization add column later text", schema))
      const taken = query(inSchema("select id from {schema}.migration order by id", schema))
      const before = yield* taken
      assert.strictEqual(before.length, later)
      assert.deepStrictEqual(yield* health.faults, [])
      assert.deepStrictEqual(yield* PostgresStore.migrateServer({ url, schema }), [])
      for (const migrations of ["require", "run"] as const) {
        const ports = yield* Layer.build(Layer.fresh(PostgresStore.layer({ url, schema, migrations })))
        assert.deepStrictEqual(yield* Context.get(ports, StoreHealth).faults, [])
      }
      const printed = [...preparation(schema), ...MIGRATIONS.map((step) => migrationStatement(step, schema))]
      for (const statement of printed) yield* query(statement)
      assert.deepStrictEqual(yield* taken, before)
      yield* query(inSchema("select later from {schema}.organization", schema))
    })
  )

  it.live.skipIf(server?.own === undefined)("does not depend on what the role has set of commits", () =>
    Effect.gen(function* () {
      yield* query("alter role current_user set synchronous_commit = off")
      const health = yield* healthIn(newSchema())
      assert.deepStrictEqual(yield* health.faults, [])
      yield* query("alter role current_user reset synchronous_commit")
    })
  )

  it.live.skipIf(server?.own === undefined)("tells a database that is read-only", () =>
    Effect.gen(function* () {
      const schema = newSchema()
      yield* healthIn(schema)
      yield* query("alter role current_user set default_transaction_read_only = on")
      const ports = yield* Layer.build(
        Layer.fresh(PostgresStore.layer({ url, schema, migrations: "require" }))
      )
      assert.deepStrictEqual(yield* Context.get(ports, StoreHealth).faults, [
        "The database does not take writes: it is read-only."
      ])
      yield* query("alter role current_user reset default_transaction_read_only")
    })
  )

  it.live("takes migrations that take longer than other statements may", () =>
    Effect.gen(function* () {
      const steps = yield* PostgresStore.migrateServer({
        url,
        schema: newSchema(),
        statementTimeoutMilliseconds: 1
      })
      assert.strictEqual(steps.length, MIGRATIONS.length)
    })
  )

  for (const setting of ["fsync", "full_page_writes"]) {
    it.live.skipIf(server?.own === undefined)(`tells that ${setting} is off, for as long as it is`, () =>
      Effect.gen(function* () {
        const health = yield* healthIn(newSchema())
        yield* query(`alter system set ${setting} = off`)
        yield* query("select pg_reload_conf()")
        const faults = yield* until(({ length }) => length > 0, health)
        assert.deepStrictEqual(faults, [
          `The database server has ${setting} off: a power cut would lose what was acknowledged.`
        ])
        yield* query(`alter system reset ${setting}`)
        yield* query("select pg_reload_conf()")
        yield* until(({ length }) => length === 0, health)
      })
    )
  }

  it.live.skipIf(server?.own === undefined)("is not told by a server that is out of reach", () =>
    Effect.gen(function* () {
      const health = yield* healthIn(newSchema())
      yield* Effect.promise(() => server!.own!.crash())
      assert.strictEqual((yield* Effect.flip(health.faults))._tag, "StoreUnavailable")
      yield* Effect.promise(() => server!.own!.start())
      assert.deepStrictEqual(yield* until(() => true, health), [])
    })
  )
})
