import { randomBytes } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { DueLeases } from "@svc/domain/ports/DueLeases"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { Context, Effect, Layer, Redacted, Schedule } from "effect"
import { Reactivity } from "effect/reactivity"
import { inSchema, MIGRATIONS, migrationStatement, preparation } from "../src/Migrations.ts"
import * as PostgresStore from "../src/PostgresStore.ts"
import { addEvent, assertUnavailable, newMandate, recovered } from "./StreamUnderFaults.ts"
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

const storeWithHealth = (schema: string, migrations: "run" | "require" = "run") =>
  Effect.map(Layer.build(Layer.fresh(PostgresStore.layer({ url, schema, migrations }))), (ports) => ({
    health: Context.get(ports, StoreHealth),
    leases: Context.get(ports, DueLeases),
    store: Context.get(ports, MandateStore)
  }))

const healthIn = (schema: string) => Effect.map(storeWithHealth(schema), ({ health }) => health)

const newSchema = (): string => `test_${randomBytes(6).toString("hex")}`

/** Servers take a moment to read their settings again. */
const until = (isWanted: (faults: ReadonlyArray<string>) => boolean, health: StoreHealth["Service"]) =>
  health.faults.pipe(
    Effect.filterOrFail(isWanted),
    Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 3000 })
  )

describe.skipIf(server === undefined)("the health of a store on a server", () => {
  afterAll(() => server?.stop())

  it.live("reports pending migrations", () =>
    Effect.gen(function* () {
      const schema = newSchema()
      const health = yield* healthIn(schema)
      assert.deepStrictEqual(yield* health.faults, [])
      yield* query(inSchema("delete from {schema}.migration", schema))
      const names = MIGRATIONS.map(({ name }) => name).join(", ")
      assert.deepStrictEqual(yield* health.faults, [`Migrations are pending: ${names}.`])
    })
  )

  it.live("reports no fault to an earlier release after a later one has migrated", () =>
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

  it.live("is not asked of a schema of other steps, which is refused and left as it is", () =>
    Effect.gen(function* () {
      const schema = newSchema()
      for (const statement of preparation(schema)) yield* query(statement)
      yield* query(inSchema("insert into {schema}.migration (id, name) values (1, 'other')", schema))
      const refusal = yield* Effect.flip(PostgresStore.migrateServer({ url, schema }))
      assert.strictEqual(refusal._tag, "SchemaUnknown")
      for (const migrations of ["require", "run"] as const) {
        const start = Layer.build(Layer.fresh(PostgresStore.layer({ url, schema, migrations })))
        assert.strictEqual((yield* Effect.flip(start))._tag, "SchemaUnknown")
      }
      const tables = yield* query(`select from information_schema.tables where table_schema = '${schema}'`)
      assert.lengthOf(tables, 1)
    })
  )

  it.live.skipIf(server?.own === undefined)("does not depend on the role's own commit settings", () =>
    Effect.gen(function* () {
      yield* query("alter role current_user set synchronous_commit = off")
      const health = yield* healthIn(newSchema())
      assert.deepStrictEqual(yield* health.faults, [])
      yield* query("alter role current_user reset synchronous_commit")
    })
  )

  it.live.skipIf(server?.own === undefined)("reports a database that is read-only", () =>
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

  it.live.skipIf(server?.own === undefined)("recovers by itself when the database is writable again", () =>
    Effect.gen(function* () {
      const schema = newSchema()
      const { health, store } = yield* storeWithHealth(schema)
      const place = yield* newMandate(store)
      yield* query("alter role current_user set default_transaction_read_only = on")
      // Sessions that begin now keep the setting for as long as they last.
      const begun = yield* Effect.replicateEffect(storeWithHealth(schema, "require"), 2)
      for (const { health, store } of begun) {
        const exits = yield* Effect.replicateEffect(Effect.exit(addEvent(store, place)), 8, {
          concurrency: "unbounded"
        })
        exits.forEach(assertUnavailable)
        const faults = yield* health.faults
        assert.strictEqual(faults[0], "The database does not take writes: it is read-only.")
        assert.match(
          faults[1] ?? "",
          /^Writes have failed since \S+Z, the last at \S+Z: SQLSTATE 25006, the session is read-only\.$/u
        )
      }
      yield* query("alter role current_user reset default_transaction_read_only")
      for (const { health, store } of begun) {
        yield* until(
          (faults) => !faults.includes("The database does not take writes: it is read-only."),
          health
        )
        yield* recovered(addEvent(store, place))
        assert.deepStrictEqual(yield* health.faults, [])
      }
      assert.deepStrictEqual(yield* health.faults, [])
    })
  )

  it.live("reports that writes fail although the server responds, until one succeeds", () =>
    Effect.gen(function* () {
      const schema = newSchema()
      const { health, leases, store } = yield* storeWithHealth(schema)
      const place = yield* newMandate(store)
      yield* query(
        inSchema(
          `create function {schema}.full_disk() returns trigger language plpgsql as
            $$ begin raise exception using errcode = '53100', message = 'could not extend file'; end $$`,
          schema
        )
      )
      yield* query(
        inSchema(
          "create trigger full_disk before insert on {schema}.event for each row execute function {schema}.full_disk()",
          schema
        )
      )
      assertUnavailable(yield* Effect.exit(addEvent(store, place)))
      // A worker that finds nothing to do has written nothing.
      yield* leases.take({ token: "worker", limit: 1, lasts: 1n })
      const faults = yield* health.faults
      assert.strictEqual(faults.length, 1)
      assert.match(faults[0]!, /SQLSTATE 53100, the disk is full\.$/u)
      yield* query(inSchema("drop trigger full_disk on {schema}.event", schema))
      assert.strictEqual((yield* health.faults).length, 1)
      yield* addEvent(store, place)
      assert.deepStrictEqual(yield* health.faults, [])
    })
  )

  it.live("allows migrations to take longer than other statements", () =>
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
    it.live.skipIf(server?.own === undefined)(`reports that ${setting} is off for as long as it is`, () =>
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

  it.live.skipIf(server?.own === undefined)("is unavailable while the server is out of reach", () =>
    Effect.gen(function* () {
      const health = yield* healthIn(newSchema())
      yield* Effect.promise(() => server!.own!.crash())
      assert.strictEqual((yield* Effect.flip(health.faults))._tag, "StoreUnavailable")
      yield* Effect.promise(() => server!.own!.start())
      assert.deepStrictEqual(yield* until(() => true, health), [])
    })
  )
})
