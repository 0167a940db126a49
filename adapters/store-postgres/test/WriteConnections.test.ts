import { randomBytes } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Redacted, Schedule, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import type { PostgresClients } from "../src/connection/PostgresClients.ts"
import { DatabaseUnsuitable } from "../src/connection/ServerRequirements.ts"
import { guarded, StatementRefused } from "../src/connection/StoreFault.ts"
import { inSchema } from "../src/Migrations.ts"
import * as PostgresStore from "../src/PostgresStore.ts"
import {
  addEvent,
  assertUnavailable,
  assertWhole,
  isUnavailable,
  newMandate,
  storeIn
} from "./StreamUnderFaults.ts"
import { openTestDatabase } from "./TestPostgres.ts"

const server = await openTestDatabase()
const url = Redacted.make(server?.url ?? "")

/** Takes longer than any test. */
const LONG_STATEMENT = "select pg_sleep(600)"
const RUNNING = `select pid from pg_stat_activity where state = 'active' and query = '${LONG_STATEMENT}'`

const newSchema = (): string => `test_${randomBytes(6).toString("hex")}`

const query = (statement: string) =>
  Effect.scoped(Effect.flatMap(PgClient.make({ url }), (client) => client.unsafe(statement).unprepared)).pipe(
    Effect.provide(Reactivity.layer)
  )

const connect = (options: Omit<PostgresStore.PostgresOptions, "url"> = {}) =>
  PostgresStore.connect({ ...options, url }).pipe(Effect.provide(Reactivity.layer))

/** A trigger that refuses events, all or those of one mandate, as the server would with that code. */
const refuseEvents = (schema: string, sqlState: string, mandate: string) =>
  Effect.andThen(
    query(
      inSchema(
        `create function {schema}.refuse() returns trigger language plpgsql as
          $$ begin raise exception using errcode = '${sqlState}', message = 'refused', detail = 'secret'; end $$`,
        schema
      )
    ),
    query(
      inSchema(
        `create trigger refuse before insert on {schema}.event for each row when (new.mandate = '${mandate}')
          execute function {schema}.refuse()`,
        schema
      )
    )
  )

const refusalIn = <A, E>(exit: Exit.Exit<A, E>): StatementRefused | undefined => {
  if (Exit.isSuccess(exit)) return undefined
  const defects = exit.cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect)
  return defects.find((defect) => defect instanceof StatementRefused)
}

const atOnce = { concurrency: "unbounded" } as const

describe.skipIf(server === undefined)("connections for writes", () => {
  afterAll(() => server?.stop())

  it.live("are replaced at the end of their lifetime, and serve until then", () =>
    Effect.gen(function* () {
      const session = ({ writes }: PostgresClients) =>
        Effect.map(
          writes.unsafe<{ readonly pid: number }>("select pg_backend_pid() as pid"),
          ([row]) => row?.pid
        )
      const lasting = yield* connect({ writeConnections: 1 })
      assert.strictEqual(yield* session(lasting), yield* session(lasting))
      const brief = yield* connect({ writeConnections: 1, writeConnectionLifetime: "1 millis" })
      const first = yield* session(brief)
      yield* Effect.sleep("5 millis")
      assert.notStrictEqual(yield* session(brief), first)
    })
  )

  it.live("are abandoned by a caller that gives up, and replaced", () =>
    Effect.gen(function* () {
      const { writes } = yield* connect({ writeConnections: 1 })
      const stuck = yield* Effect.forkChild(writes.unsafe(LONG_STATEMENT))
      yield* query(RUNNING).pipe(
        Effect.filterOrFail(
          (rows) => rows.length === 1,
          () => "it does not run yet" as const
        ),
        Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 3000 })
      )
      yield* Fiber.interrupt(stuck)
      const rows = yield* writes.unsafe(RUNNING)
      assert.strictEqual(rows.length, 1, "the server was asked to cancel it")
      yield* query(`select pg_terminate_backend(pid) from (${RUNNING}) as running`)
    })
  )

  it.live("distinguish permanent refusals of the server from passing ones", () =>
    Effect.gen(function* () {
      const { writes } = yield* connect()
      const refused = yield* Effect.exit(guarded(writes.unsafe("select 'x'::text::integer")))
      const refusal = refusalIn(refused)
      assert.strictEqual(refusal?.sqlState, "22P02")
      assert.isFalse(isUnavailable(refused))
      assertUnavailable(yield* Effect.exit(guarded(writes.unsafe("select 1 from nowhere"))))
    })
  )

  it.live("do not fail the neighbours of one refused write", () =>
    Effect.gen(function* () {
      const schema = newSchema()
      const store = yield* storeIn({
        url: Redacted.value(url),
        schema,
        groupedAppends: { lanes: 1, changes: 64 }
      })
      const places = yield* Effect.replicateEffect(newMandate(store), 8, atOnce)
      yield* refuseEvents(schema, "22P05", places[3]!.mandate)
      const exits = yield* Effect.forEach(places, (place) => Effect.exit(addEvent(store, place)), atOnce)
      const refusals = exits.map(refusalIn)
      assert.deepStrictEqual(
        refusals.map((refusal) => refusal?.sqlState),
        [undefined, undefined, undefined, "22P05", undefined, undefined, undefined, undefined]
      )
      assert.notInclude(refusals[3]!.message, "secret")
      yield* assertWhole(store, places[3]!, 1)
      yield* Effect.forEach(
        places.filter((_, at) => at !== 3),
        (place) => assertWhole(store, place, 2)
      )
    })
  )

  it.live("refuse a database whose encoding cannot hold every text", () =>
    Effect.gen(function* () {
      const database = newSchema()
      yield* query(
        `create database ${database} encoding 'LATIN1' lc_collate 'C' lc_ctype 'C' template template0`
      )
      const place = new URL(Redacted.value(url))
      place.pathname = database
      const options = { url: place.href, schema: "svc" }
      const starts: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }, Scope.Scope>> = [
        storeIn(options),
        storeIn({ ...options, migrations: "require" }),
        PostgresStore.migrateServer({ ...options, url: Redacted.make(place.href) })
      ]
      for (const start of starts) {
        const refusal = yield* Effect.flip(start)
        assert.instanceOf(refusal, DatabaseUnsuitable)
        assert.deepStrictEqual(refusal.faults, [
          "The encoding of the database is LATIN1: create one with encoding 'UTF8'."
        ])
      }
    })
  )
})
