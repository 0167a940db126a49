import { randomBytes } from "node:crypto"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { type MandateStore, Stale } from "@svc/domain/ports/MandateStore"
import type { Instant } from "@svc/protocol/Timestamp"
import {
  type Current,
  createdChange,
  followingChange,
  newIdentifier,
  newSubject,
  revokedFact
} from "@svc/testkit/StoreFixtures"
import { Cause, Deferred, Effect, Exit, Fiber, Option, Schedule } from "effect"
import { CallTimeout } from "../src/connection/StoreFault.ts"
import { inSchema } from "../src/Migrations.ts"
import { clockOf } from "./ProgramsOnPostgres.ts"
import {
  addEvent,
  assertUnavailable,
  assertWhole,
  bounded,
  isUnavailable,
  newMandate,
  recovered,
  storeIn
} from "./StreamUnderFaults.ts"
import { withClient } from "./TestClient.ts"
import { startTestPostgres } from "./TestPostgres.ts"
import { startRecorder } from "./WireRecorder.ts"

/*
 * What is taken away from a store while it is in use: the server, its answers, its connections, its locks. Each time
 * callers are told that the store is not available, nothing is half written, nobody waits for ever, and the store
 * serves again by itself.
 */

const server = await startTestPostgres()
const url = server?.url ?? ""
const isOwn = server?.own !== undefined

const newSchema = (): string => `outage_${randomBytes(6).toString("hex")}`

const CALLERS = 64

const patience = (duration: "1 second" | "3 seconds") => Effect.provideService(CallTimeout, duration)

const atOnce = { concurrency: "unbounded" } as const

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

/** Everything that the port offers, on one mandate; what is appended is a mandate of its own. */
const everything = (
  store: MandateStore["Service"],
  place: { readonly organization: string; readonly mandate: string },
  now: Instant
) => {
  const mandate = newIdentifier("mnd_")
  const calls: ReadonlyArray<Effect.Effect<unknown, Effect.Error<ReturnType<typeof store.append>>>> = [
    store.load({ organization: place.organization, stream: place }),
    store.listMandates({ organization: place.organization, limit: 3 }),
    store.listAuthorizations({ ...place, limit: 3 }),
    store.journal({ ...place, afterSeq: 0, uptoSeq: 9, limit: 9 }),
    store.append(createdChange({ ...place, mandate, subjectReference: mandate }, now))
  ]
  return calls
}

/** One event more. */
const changeOf = (current: Current) => followingChange(current, [revokedFact(current.now)])

/** The sessions of the store that are in the middle of a transaction. */
const openTransactions = withClient(
  url,
  (sql) => sql<{ readonly query: string }>`select query from pg_stat_activity
    where application_name = 'svc' and state like 'idle in transaction%'`
)

/** Holds a lock on the rows of a stream or a subject until it is released; gives the session's number. */
const holding = Effect.fn("holding")(function* (schema: string, table: "stream" | "subject", name: string) {
  const held = yield* Deferred.make<void>()
  const release = yield* Deferred.make<void>()
  const column = table === "stream" ? "mandate" : "subject"
  const fiber = yield* withClient(url, (sql) =>
    sql.withTransaction(
      Effect.gen(function* () {
        yield* sql.unsafe(
          inSchema(`select 1 from {schema}.${table} t where t.${column} = $1 for update`, schema),
          [name]
        )
        yield* Deferred.succeed(held, undefined)
        yield* Deferred.await(release)
      })
    )
  ).pipe(Effect.forkScoped)
  yield* Deferred.await(held)
  return { release: Effect.andThen(Deferred.succeed(release, undefined), Fiber.await(fiber)) }
})

/** Waits until a statement of the store waits for a lock. */
const someoneWaits = withClient(url, (sql) =>
  sql<{ readonly pid: number }>`select pid from pg_stat_activity
      where application_name = 'svc' and wait_event_type = 'Lock'`.pipe(
    Effect.filterOrFail(
      (rows) => rows.length > 0,
      () => "nobody waits" as const
    ),
    Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 3000 })
  )
)

const isStale = <A, E>(exit: Exit.Exit<A, E>): boolean =>
  Exit.isFailure(exit) && Option.getOrUndefined(Cause.findErrorOption(exit.cause)) instanceof Stale

/** Callers who write for as long as `meanwhile` takes, each outcome an acknowledgement or `StoreUnavailable`. */
const writeThrough = Effect.fn("writeThrough")(function* <E>(
  store: MandateStore["Service"],
  places: ReadonlyArray<{ readonly organization: string; readonly mandate: string }>,
  meanwhile: Effect.Effect<void, E>
) {
  let isOver = false
  const acknowledged = new Map(places.map(({ mandate }) => [mandate, 1]))
  let failures = 0
  const writer = (place: (typeof places)[number]) =>
    Effect.gen(function* () {
      while (!isOver) {
        const exit = yield* bounded(addEvent(store, place))
        if (Exit.isSuccess(exit)) acknowledged.set(place.mandate, exit.value.revision)
        // What this writer gave up before was not cancelled, and came in between.
        else if (!isStale(exit)) {
          assertUnavailable(exit)
          failures += 1
          yield* Effect.sleep("20 millis")
        }
      }
    })
  const end = Effect.ensuring(
    meanwhile,
    Effect.sync(() => {
      isOver = true
    })
  )
  yield* Effect.all([Effect.forEach(places, writer, { ...atOnce, discard: true }), end], atOnce)
  for (const place of places) {
    yield* recovered(addEvent(store, place))
    yield* assertWhole(store, place, acknowledged.get(place.mandate)! + 1)
  }
  assert.deepStrictEqual(yield* openTransactions, [])
  return failures
})

describe.skipIf(server === undefined)("PostgresStore in an outage", { timeout: 300_000 }, () => {
  afterAll(() => server?.stop())

  it.live.skipIf(!isOwn)("ends every call to a frozen server, and serves again when it is thawed", () =>
    Effect.gen(function* () {
      const store = yield* storeIn({ url, schema: newSchema() })
      const place = yield* newMandate(store)
      const now = yield* clockOf(store)
      yield* Effect.addFinalizer(() => Effect.sync(server!.own!.thaw))
      server!.own!.freeze()
      const calls = numbers(13).flatMap(() => everything(store, place, now))
      const exits = yield* Effect.forEach(calls, bounded, atOnce).pipe(patience("1 second"))
      assert.isAtLeast(exits.length, CALLERS)
      exits.forEach(assertUnavailable)
      server!.own!.thaw()
      yield* recovered(addEvent(store, place))
      yield* assertWhole(store, place, 2)
      assert.deepStrictEqual(yield* openTransactions, [])
    })
  )

  it.live.skipIf(!isOwn)("loses nothing acknowledged when the server freezes for a while", () =>
    Effect.gen(function* () {
      const store = yield* storeIn({ url, schema: newSchema(), writeConnections: 4 })
      const places = yield* Effect.replicateEffect(newMandate(store), 8)
      yield* Effect.addFinalizer(() => Effect.sync(server!.own!.thaw))
      const freezeAndThaw = Effect.gen(function* () {
        yield* Effect.sleep("100 millis")
        server!.own!.freeze()
        yield* Effect.sleep("1500 millis")
        server!.own!.thaw()
      })
      const failures = yield* writeThrough(store, places, freezeAndThaw).pipe(patience("1 second"))
      assert.isAbove(failures, 0)
    })
  )

  it.live.skipIf(!isOwn)("serves again after the server was stopped or has crashed", () =>
    Effect.gen(function* () {
      const store = yield* storeIn({ url, schema: newSchema() })
      const places = yield* Effect.replicateEffect(newMandate(store), CALLERS, atOnce)
      const { crash, shutDown, start } = server!.own!
      const restart = (end: () => Promise<void>) =>
        Effect.gen(function* () {
          yield* Effect.sleep("100 millis")
          yield* Effect.promise(end)
          yield* Effect.sleep("200 millis")
          yield* Effect.promise(start)
        })
      const failures = yield* writeThrough(store, places, Effect.andThen(restart(shutDown), restart(crash)))
      assert.isAbove(failures, 0)
    })
  )

  it.live("replaces connections that pass nothing on", () =>
    Effect.gen(function* () {
      const recorder = yield* Effect.acquireRelease(
        Effect.promise(() => startRecorder(url)),
        (one) => Effect.promise(one.stop)
      )
      const options = { schema: newSchema(), readConnectionLifetime: "2 seconds" } as const
      const store = yield* storeIn({ url: recorder.url, ...options })
      const place = yield* newMandate(store)
      const now = yield* clockOf(store)
      yield* Effect.all(everything(store, place, now), atOnce)
      recorder.cut()
      const exits = yield* Effect.forEach(everything(store, place, now), bounded, atOnce).pipe(
        patience("1 second")
      )
      assert.isTrue(exits.some(isUnavailable))
      yield* recovered(addEvent(store, place)).pipe(patience("1 second"))
      yield* assertWhole(store, place, 2)
    })
  )

  it.live("gives up on a lock that another session holds for too long, and reads do not wait for it", () =>
    Effect.gen(function* () {
      const schema = newSchema()
      const store = yield* storeIn({ url, schema, statementTimeoutMilliseconds: 1000 })
      const place = yield* newMandate(store)
      const other = yield* newMandate(store)
      const lock = yield* holding(schema, "stream", place.mandate)
      const waiting = yield* Effect.forkChild(bounded(addEvent(store, place)))
      yield* someoneWaits
      yield* addEvent(store, other)
      yield* store.load({ organization: place.organization, stream: place })
      assertUnavailable(yield* Fiber.join(waiting))
      yield* lock.release
      yield* recovered(addEvent(store, place))
      yield* assertWhole(store, place, 2)
      assert.deepStrictEqual(yield* openTransactions, [])
    })
  )

  it.live("completes all of 64 callers with one connection and a lock", () =>
    Effect.gen(function* () {
      const schema = newSchema()
      const options = { readConnections: 1, writeConnections: 1, statementTimeoutMilliseconds: 2000 }
      const store = yield* storeIn({ url, schema, ...options })
      const places = yield* Effect.replicateEffect(newMandate(store), CALLERS, atOnce)
      const lock = yield* holding(schema, "stream", places[0]!.mandate)
      const waiting = yield* Effect.forkChild(bounded(addEvent(store, places[0]!)))
      yield* someoneWaits
      const others = yield* Effect.forEach(
        places.slice(1),
        (place) => bounded(addEvent(store, place)),
        atOnce
      ).pipe(patience("1 second"))
      others.filter(Exit.isFailure).forEach(assertUnavailable)
      assertUnavailable(yield* Fiber.join(waiting))
      yield* lock.release
      const exits = yield* Effect.forEach(places, (place) => bounded(addEvent(store, place)), atOnce)
      assert.isTrue(exits.every(Exit.isSuccess))
      yield* Effect.forEach(places, (place) => assertWhole(store, place, 2), { discard: true })
    })
  )

  it.live("keeps nothing of an append whose connection is terminated", () =>
    Effect.gen(function* () {
      const schema = newSchema()
      const store = yield* storeIn({ url, schema, writeConnections: 1 })
      const place = yield* newMandate(store)
      const lock = yield* holding(schema, "stream", place.mandate)
      const cut = yield* Effect.forkChild(bounded(addEvent(store, place)))
      const [{ pid }] = (yield* someoneWaits) as [{ readonly pid: number }]
      yield* withClient(url, (sql) => sql`select pg_terminate_backend(${pid})`)
      assertUnavailable(yield* Fiber.join(cut))
      yield* lock.release
      yield* assertWhole(store, place, 1)
      for (const _ of numbers(20)) yield* addEvent(store, place)
      yield* assertWhole(store, place, 21)
    })
  )

  it.live("reports a deadlock to its victim, which may retry", () =>
    Effect.gen(function* () {
      // By default the server waits a second before it looks for a deadlock, a third of what the call may take.
      if (isOwn) yield* withClient(url, (sql) => sql`alter database postgres set deadlock_timeout = '100ms'`)
      const schema = newSchema()
      const store = yield* storeIn({ url, schema })
      const place = yield* newMandate(store)
      const load = store.load({ organization: place.organization, stream: place, approval: true })
      const subject = { reference: place.subjectReference, expected: "absent", next: newSubject() } as const
      yield* Effect.flatMap(load, ({ now, stream }) =>
        store.append({ ...changeOf({ now, stream: stream! }), subject })
      )
      const appendWithSubject = Effect.flatMap(load, ({ now, stream }) =>
        store.append({
          ...changeOf({ now, stream: stream! }),
          subject: { ...subject, expected: stream!.subject!.revision }
        })
      )
      const victim = yield* withClient(url, (sql) =>
        sql.withTransaction(
          Effect.gen(function* () {
            // The other side waits for longer before it looks, and so is never the victim.
            yield* sql`set local deadlock_timeout = '60s'`
            yield* sql.unsafe(
              inSchema("select 1 from {schema}.subject s where s.subject = $1 for update", schema),
              [place.subjectReference]
            )
            const waiting = yield* Effect.forkChild(bounded(appendWithSubject).pipe(patience("3 seconds")))
            yield* someoneWaits
            yield* sql.unsafe(
              inSchema("select 1 from {schema}.stream s where s.mandate = $1 for update", schema),
              [place.mandate]
            )
            return yield* Fiber.join(waiting)
          })
        )
      )
      assertUnavailable(victim)
      yield* recovered(appendWithSubject)
      assert.deepStrictEqual(yield* openTransactions, [])
    })
  )
})
