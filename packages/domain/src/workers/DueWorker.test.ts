import { assert, describe, it } from "@effect/vitest"
import { StoreFaults } from "@svc/testkit/FaultyStore"
import { harnessOrganization, makeCaller, singleBody, storedJournal } from "@svc/testkit/ProgramHarness"
import { newIdentifier } from "@svc/testkit/StoreFixtures"
import { everyDue } from "@svc/testkit/store-contract/StoreUnderTest"
import { Deferred, Effect, Fiber, Layer, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import { faultyPrograms, fromTheStart, memoryPrograms } from "../../test/MemoryPrograms.ts"
import { DueLeases } from "../ports/DueLeases.ts"
import { MandateStore, StoreUnavailable } from "../ports/MandateStore.ts"
import { DUE_BATCH, dueWorker, recordDueTransitions, STREAM_TIMEOUT } from "./DueWorker.ts"
import { IDLE_PAUSE_MILLISECONDS, IdlePause, LONGEST_PAUSE_MILLISECONDS } from "./WorkerPause.ts"

/** Creates mandates that expire unapproved after a day, each of an organization of its own. */
const createExpiring = Effect.fnUntraced(function* (count: number) {
  return yield* Effect.forEach(
    Array.from({ length: count }),
    Effect.fnUntraced(function* () {
      const caller = makeCaller(harnessOrganization({ id: newIdentifier("org_") }))
      const { resource } = yield* caller.create(singleBody())
      return { organization: caller.organization.id, mandate: resource.id }
    })
  )
})

/** The types of what is recorded, nothing brought up to date by the look at it. */
const recorded = (stream: { readonly organization: string; readonly mandate: string }) =>
  Effect.map(storedJournal(stream.organization, stream.mandate), (texts) =>
    texts.map((text) => (JSON.parse(text) as { readonly type: string }).type)
  )

const EXPIRED = ["mandate.created", "mandate.expired"]

/** Lets what a worker does without waiting be done. */
const settled = Effect.repeat(Effect.yieldNow, { times: 2000 })

/** The store, told of each call for leases, which may be made to fail. */
const observed = () => {
  const seen = { takes: 0, released: 0, unavailable: false, mayRelease: true }
  const layer = Layer.effect(
    DueLeases,
    Effect.map(DueLeases, (leases) =>
      DueLeases.of({
        take: (query) =>
          Effect.suspend(() => {
            seen.takes += 1
            return seen.unavailable ? Effect.fail(new StoreUnavailable({})) : leases.take(query)
          }),
        release: (query) =>
          Effect.suspend(() => {
            if (!seen.mayRelease) return Effect.fail(new StoreUnavailable({}))
            seen.released += query.streams.length
            return leases.release(query)
          })
      })
    )
  ).pipe(Layer.provideMerge(faultyPrograms()))
  return { seen, layer }
}

describe("the worker of due transitions", () => {
  it.effect("records what is due in rounds, and gives its leases back", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const streams = yield* createExpiring(DUE_BATCH + 6)
      assert.strictEqual(yield* recordDueTransitions, 0)
      yield* TestClock.adjust("1 day")
      assert.strictEqual(yield* recordDueTransitions, DUE_BATCH)
      assert.strictEqual(yield* recordDueTransitions, 6)
      assert.strictEqual(yield* recordDueTransitions, 0)
      for (const stream of streams) assert.deepStrictEqual(yield* recorded(stream), EXPIRED)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("several of them at once record each transition once", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const streams = yield* createExpiring(200)
      yield* TestClock.adjust("1 day")
      const workers = yield* Effect.forEach(Array.from({ length: 5 }), () => Effect.forkChild(dueWorker))
      yield* settled
      yield* Effect.forEach(workers, Fiber.interrupt, { discard: true })
      for (const stream of streams) assert.deepStrictEqual(yield* recorded(stream), EXPIRED)
      assert.deepStrictEqual(yield* everyDue, [])
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("it goes on at once while batches are whole, and asks once a second while idle", () => {
    const { layer, seen } = observed()
    return Effect.gen(function* () {
      yield* fromTheStart
      yield* createExpiring(2 * DUE_BATCH + 1)
      yield* TestClock.adjust("1 day")
      const worker = yield* Effect.forkChild(dueWorker)
      yield* settled
      assert.strictEqual(seen.takes, 3)
      yield* TestClock.adjust(10 * IDLE_PAUSE_MILLISECONDS)
      assert.strictEqual(seen.takes, 13)
      assert.strictEqual(seen.released, 2 * DUE_BATCH + 1)
      yield* Fiber.interrupt(worker)
    }).pipe(Effect.provide(layer))
  })

  it.effect("it pauses as an idle one when little is due, and not after a whole batch or a failure", () => {
    const { layer, seen } = observed()
    const idle: Array<number> = []
    const pause = (milliseconds: number) => {
      idle.push(milliseconds)
      return Effect.sleep(milliseconds)
    }
    return Effect.gen(function* () {
      yield* fromTheStart
      yield* createExpiring(DUE_BATCH)
      yield* TestClock.adjust("1 day")
      const worker = yield* Effect.forkChild(Effect.provideService(dueWorker, IdlePause, pause))
      yield* settled
      assert.strictEqual(seen.takes, 2)
      assert.deepStrictEqual(idle, [IDLE_PAUSE_MILLISECONDS])
      seen.unavailable = true
      yield* TestClock.adjust(4 * IDLE_PAUSE_MILLISECONDS)
      assert.strictEqual(seen.takes, 5)
      assert.deepStrictEqual(idle, [IDLE_PAUSE_MILLISECONDS])
      yield* Fiber.interrupt(worker)
    }).pipe(Effect.provide(layer))
  })

  it.effect("it brings eight streams up to date at once", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      yield* createExpiring(20)
      yield* TestClock.adjust("1 day")
      const store = yield* MandateStore
      let underWay = 0
      let most = 0
      const counted = MandateStore.of({
        ...store,
        append: (change) =>
          Effect.gen(function* () {
            underWay += 1
            most = Math.max(most, underWay)
            yield* Effect.yieldNow
            underWay -= 1
            return yield* store.append(change)
          })
      })
      assert.strictEqual(yield* Effect.provideService(recordDueTransitions, MandateStore, counted), 20)
      assert.strictEqual(most, 8)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("leases that cannot be given back run out, and fail no round", () => {
    const { layer, seen } = observed()
    return Effect.gen(function* () {
      yield* fromTheStart
      const [stream] = yield* createExpiring(1)
      yield* TestClock.adjust("1 day")
      seen.mayRelease = false
      assert.strictEqual(yield* recordDueTransitions, 1)
      assert.deepStrictEqual(yield* recorded(stream!), EXPIRED)
    }).pipe(Effect.provide(layer))
  })

  it.effect("a stream that fails stops no other, and is tried again when its lease has run out", () => {
    const lines: Array<Record<string, unknown>> = []
    const logger = Logger.make<unknown, void>(({ fiber, logLevel }) => {
      lines.push({ logLevel, ...fiber.getRef(References.CurrentLogAnnotations) })
    })
    return Effect.gen(function* () {
      yield* fromTheStart
      const streams = yield* createExpiring(3)
      const faults = yield* StoreFaults
      yield* TestClock.adjust("1 day")
      yield* faults.plan({ operation: "append", nth: 2, moment: "before" })
      assert.strictEqual(yield* recordDueTransitions, 3)
      const journals = yield* Effect.forEach(streams, recorded)
      const left = streams.filter((_, at) => journals[at]?.length === 1)
      assert.strictEqual(left.length, 1)
      const named = { organization_id: left[0]!.organization, mandate_id: left[0]!.mandate }
      assert.deepInclude(lines, { logLevel: "Warn", ...named })
      assert.strictEqual(yield* recordDueTransitions, 0)
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(yield* recordDueTransitions, 1)
      assert.deepStrictEqual(yield* recorded(left[0]!), EXPIRED)
      assert.deepInclude(lines, { logLevel: "Info", ...named, seq: 2, state: "EXPIRED" })
    }).pipe(Effect.provide([faultyPrograms(), Logger.layer([logger])]))
  })

  it.effect("a defect of one stream does not end it", () => {
    const broken = (mandate: string) =>
      Effect.map(MandateStore, (store) =>
        MandateStore.of({
          ...store,
          append: (change) => (change.mandate === mandate ? Effect.die("broken") : store.append(change))
        })
      )
    return Effect.gen(function* () {
      yield* fromTheStart
      const [bad, good] = yield* createExpiring(2)
      yield* TestClock.adjust("1 day")
      const store = yield* broken(bad!.mandate)
      const round = Effect.provideService(recordDueTransitions, MandateStore, store)
      assert.strictEqual(yield* round, 2)
      assert.strictEqual((yield* recorded(bad!)).length, 1)
      assert.deepStrictEqual(yield* recorded(good!), EXPIRED)
    }).pipe(Effect.provide(memoryPrograms()))
  })

  it.effect("it asks less and less often while the store is out of reach, and recovers unaided", () => {
    const { layer, seen } = observed()
    return Effect.gen(function* () {
      yield* fromTheStart
      const [stream] = yield* createExpiring(1)
      yield* TestClock.adjust("1 day")
      seen.unavailable = true
      const worker = yield* Effect.forkChild(dueWorker)
      yield* TestClock.adjust(15 * IDLE_PAUSE_MILLISECONDS)
      // At 0, 1, 3, 7 and 15 seconds.
      assert.strictEqual(seen.takes, 5)
      yield* TestClock.adjust(10 * LONGEST_PAUSE_MILLISECONDS)
      assert.strictEqual(seen.takes, 15)
      seen.unavailable = false
      yield* TestClock.adjust(LONGEST_PAUSE_MILLISECONDS)
      assert.deepStrictEqual(yield* recorded(stream!), EXPIRED)
      yield* TestClock.adjust(3 * IDLE_PAUSE_MILLISECONDS)
      assert.strictEqual(seen.takes, 19)
      yield* Fiber.interrupt(worker)
    }).pipe(Effect.provide(layer))
  })

  it.effect("interrupted, it finishes what it has begun and gives the rest back", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const streams = yield* createExpiring(20)
      yield* TestClock.adjust("1 day")
      const store = yield* MandateStore
      const [reached, mayGoOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const held = MandateStore.of({
        ...store,
        append: (change) =>
          Deferred.succeed(reached, undefined).pipe(
            Effect.andThen(Deferred.await(mayGoOn)),
            Effect.andThen(store.append(change))
          )
      })
      const worker = yield* Effect.forkChild(Effect.provideService(dueWorker, MandateStore, held))
      yield* Deferred.await(reached)
      yield* settled
      const stopping = yield* Effect.forkChild(Fiber.interrupt(worker))
      yield* settled
      yield* Deferred.succeed(mayGoOn, undefined)
      yield* Fiber.join(stopping)
      const journals = yield* Effect.forEach(streams, recorded)
      const done = journals.filter((types) => types.length === 2).length
      assert.isAbove(done, 0)
      assert.isBelow(done, 20)
      assert.strictEqual((yield* everyDue).length, 20 - done)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("interrupted while a stream never ends, it stops all the same", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      yield* createExpiring(1)
      yield* TestClock.adjust("1 day")
      const store = yield* MandateStore
      const reached = yield* Deferred.make<void>()
      const frozen = MandateStore.of({
        ...store,
        append: () => Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
      })
      const worker = yield* Effect.forkChild(Effect.provideService(dueWorker, MandateStore, frozen))
      yield* Deferred.await(reached)
      const stopping = yield* Effect.forkChild(Fiber.interrupt(worker))
      yield* TestClock.adjust(STREAM_TIMEOUT)
      yield* Fiber.join(stopping)
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
