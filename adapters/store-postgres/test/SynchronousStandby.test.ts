import { randomBytes } from "node:crypto"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { StoreHistory } from "@svc/domain/ports/StoreHistory"
import { followingChange, revokedFact } from "@svc/testkit/StoreFixtures"
import { Context, Effect, Exit, Fiber, Layer, Redacted, Schedule, Scope } from "effect"
import { CallTimeout } from "../src/connection/StoreFault.ts"
import * as PostgresStore from "../src/PostgresStore.ts"
import {
  addEvent,
  assertUnavailable,
  assertWhole,
  bounded,
  newMandate,
  recovered,
  storeIn
} from "./StreamUnderFaults.ts"
import { withClient } from "./TestClient.ts"
import { startTestPostgres } from "./TestPostgres.ts"
import { startStandby } from "./TestStandby.ts"

/*
 * A primary whose commits wait for a standby, and a standby that stops answering. What was acknowledged is on the
 * standby; what is not on the standby is not to be seen, however callers, time limits and the end of a process break
 * off their waiting.
 */

const primary = await startTestPostgres()
const standby = primary?.own === undefined ? undefined : await startStandby(primary, { synchronous: true })

const url = primary?.url ?? ""

const WAITING = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'"

const sessionsWaiting = withClient(url, (sql) =>
  Effect.map(sql.unsafe<{ readonly count: bigint }>(WAITING), ([row]) => Number(row?.count))
)

const untilWaiting = (count: number) =>
  sessionsWaiting.pipe(
    Effect.filterOrFail(
      (waiting) => waiting === count,
      () => `never ${count} sessions that wait` as const
    ),
    Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 3000 })
  )

const detach = Effect.promise(() => standby!.disconnect())
const attach = Effect.promise(() => standby!.reconnect())

const patience = Effect.provideService(CallTimeout, "1 second")
const schema = `test_${randomBytes(6).toString("hex")}`
/** Shorter than anybody waits: the limit of the server is not to end a commit either. */
const options = { url, schema, statementTimeoutMilliseconds: 500 }

describe.skipIf(standby === undefined)(
  "PostgresStore with a synchronous standby",
  { timeout: 120_000 },
  () => {
    afterAll(async () => {
      await standby?.stop()
      await primary?.stop()
    })

    it.live("shows no write that the standby lacks, even if its caller gave up waiting", () =>
      Effect.gen(function* () {
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

    it.live("shows no write that the standby lacks after the writing process has ended", () =>
      Effect.gen(function* () {
        const store = yield* storeIn(options)
        const place = yield* newMandate(store)
        yield* detach
        const scope = yield* Scope.make()
        const ending = yield* Scope.provide(storeIn(options), scope)
        const writing = yield* Effect.forkChild(bounded(addEvent(ending, place)))
        yield* untilWaiting(1)
        yield* Scope.close(scope, Exit.void)
        yield* Fiber.await(writing)
        const { stream } = yield* store.load({ organization: place.organization, stream: place })
        assert.strictEqual(stream?.revision, 1)
        assert.strictEqual(yield* sessionsWaiting, 1)
        yield* attach
        yield* untilWaiting(0)
      })
    )

    it.live("reports no bound key that the standby lacks, although the server shows it", () =>
      Effect.gen(function* () {
        const store = yield* storeIn(options)
        const place = yield* newMandate(store)
        const { now, stream } = yield* store.load({ organization: place.organization, stream: place })
        const claim = { kind: "idempotency_key", name: "key", fingerprint: "f", resource: "r" } as const
        const change = { ...followingChange({ now, stream: stream! }, [revokedFact(now)]), claims: [claim] }
        yield* detach
        assertUnavailable(yield* patience(bounded(store.append(change))))
        yield* withClient(
          url,
          (sql) => sql`select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`
        )
        yield* untilWaiting(0)
        const shown = yield* store.load({ organization: place.organization, stream: place })
        assert.strictEqual(shown.stream?.revision, 2)
        const repeated = store.load({ organization: place.organization, claims: [claim] })
        assertUnavailable(yield* patience(bounded(repeated)))
        yield* attach
        assert.deepStrictEqual((yield* recovered(repeated)).held, [claim])
      })
    )

    it.live("loses nothing that was acknowledged when the standby takes over", () =>
      Effect.gen(function* () {
        const before = yield* storeIn(options)
        const place = yield* newMandate(before)
        yield* addEvent(before, place)
        yield* detach
        assertUnavailable(yield* patience(bounded(addEvent(before, place))))
        yield* Effect.promise(() => primary!.own!.crash())
        yield* Effect.promise(() => standby!.promote())
        const ports = yield* Layer.build(
          PostgresStore.layer({ url: Redacted.make(standby!.url), schema, migrations: "require" })
        )
        yield* Context.get(ports, StoreHistory).acknowledge({ isLossless: true, isRestored: false })
        const after = Context.get(ports, MandateStore)
        yield* assertWhole(after, place, 2)
        const { stream } = yield* after.load({ organization: place.organization, stream: place })
        assert.strictEqual(stream?.revision, 2)
        assert.strictEqual((yield* addEvent(after, place)).revision, 3)
      })
    )
  }
)
