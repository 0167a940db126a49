import { randomBytes } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Redacted, Schedule, Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { CallTimeout } from "../src/StoreFault.ts"
import {
  addEvent,
  assertUnavailable,
  assertWhole,
  bounded,
  newMandate,
  recovered,
  storeIn
} from "./StreamUnderFaults.ts"
import { startReplicatedPair } from "./TestStandby.ts"

/*
 * A primary whose commits wait for a standby, and a standby that stops answering. What was acknowledged is on the
 * standby; what is not on the standby is not to be seen, however callers, time limits and the end of a process break
 * off their waiting.
 */

const pair = process.env.SVC_TEST_DATABASE_URL ? undefined : await startReplicatedPair()

const on = <A, E>(url: string, use: (sql: PgClient.PgClient) => Effect.Effect<A, E>) =>
  Effect.scoped(Effect.flatMap(PgClient.make({ url: Redacted.make(url) }), use)).pipe(
    Effect.provide(Reactivity.layer)
  )

const primary = pair?.primary.url ?? ""
const standby = pair?.standby.url ?? ""

const run = (url: string, ...statements: ReadonlyArray<string>) =>
  on(url, (sql) => Effect.forEach(statements, (text) => sql.unsafe(text).unprepared, { discard: true }))

const until = (url: string, condition: string) =>
  on(url, (sql) =>
    sql.unsafe<{ readonly holds: boolean }>(`select (${condition}) as holds`).pipe(
      Effect.filterOrFail(
        ([row]) => row?.holds === true,
        () => `never: ${condition}` as const
      ),
      Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 1000 })
    )
  )

const WAITING = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'"

const sessionsWaiting = on(primary, (sql) =>
  Effect.map(sql.unsafe<{ readonly count: bigint }>(WAITING), ([row]) => Number(row?.count))
)

/** The standby loses its connection to the primary, or has it back. */
const detach = Effect.andThen(
  run(standby, "alter system set primary_conninfo = ''", "select pg_reload_conf()"),
  until(primary, "not exists (select from pg_stat_replication)")
)
const attach = Effect.andThen(
  run(standby, "alter system reset primary_conninfo", "select pg_reload_conf()"),
  until(primary, "exists (select from pg_stat_replication where sync_state = 'sync')")
)

const replicating = Effect.andThen(
  run(primary, "alter system set synchronous_standby_names = '*'", "select pg_reload_conf()"),
  until(primary, "exists (select from pg_stat_replication where sync_state = 'sync')")
)

const patience = Effect.provideService(CallTimeout, "1 second")
const schema = `test_${randomBytes(6).toString("hex")}`
/** Shorter than anybody waits: the limit of the server is not to end a commit either. */
const options = { url: primary, schema, statementTimeoutMilliseconds: 500 }

describe.skipIf(pair === undefined)("PostgresStore with a synchronous standby", { timeout: 60_000 }, () => {
  afterAll(() => pair?.stop())

  it.live("shows no write that the standby does not have, whoever gave up waiting for it", () =>
    Effect.gen(function* () {
      yield* replicating
      const store = yield* storeIn(options)
      const place = yield* newMandate(store)
      const other = yield* newMandate(store)
      yield* detach
      assertUnavailable(yield* patience(bounded(addEvent(store, place))))
      assert.strictEqual(yield* sessionsWaiting, 1)
      for (const _ of [1, 2, 3]) {
        yield* assertWhole(store, place, 1)
        const { stream } = yield* store.load({ organization: place.organization, stream: place })
        assert.strictEqual(stream?.revision, 1)
        assertUnavailable(yield* patience(bounded(addEvent(store, place))))
        assertUnavailable(yield* patience(bounded(addEvent(store, other))))
      }
      // Nobody adds to those that wait, however many try.
      assert.strictEqual(yield* sessionsWaiting, 1)
      yield* attach
      const { revision } = yield* recovered(addEvent(store, place))
      assert.strictEqual(revision, 3)
      yield* assertWhole(store, place, 3)
      yield* recovered(addEvent(store, other))
    })
  )

  it.live("shows none after the process that wrote it has ended either", () =>
    Effect.gen(function* () {
      yield* replicating
      const store = yield* storeIn(options)
      const place = yield* newMandate(store)
      yield* detach
      const scope = yield* Scope.make()
      const ending = yield* Scope.provide(storeIn(options), scope)
      const writing = yield* Effect.forkChild(bounded(addEvent(ending, place)))
      yield* until(primary, `(${WAITING}) = 1`)
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.await(writing)
      const { stream } = yield* store.load({ organization: place.organization, stream: place })
      assert.strictEqual(stream?.revision, 1)
      assert.strictEqual(yield* sessionsWaiting, 1)
      yield* attach
      yield* until(primary, `(${WAITING}) = 0`)
    })
  )

  it.live("loses nothing that was acknowledged when the standby takes over", () =>
    Effect.gen(function* () {
      yield* replicating
      const before = yield* storeIn(options)
      const place = yield* newMandate(before)
      yield* addEvent(before, place)
      yield* detach
      assertUnavailable(yield* patience(bounded(addEvent(before, place))))
      yield* Effect.promise(() => pair!.primary.crash())
      yield* Effect.sync(() => pair!.standby.promote())
      const after = yield* storeIn({ ...options, url: standby })
      yield* assertWhole(after, place, 2)
      const { stream } = yield* after.load({ organization: place.organization, stream: place })
      assert.strictEqual(stream?.revision, 2)
      assert.strictEqual((yield* addEvent(after, place)).revision, 3)
    })
  )
})
