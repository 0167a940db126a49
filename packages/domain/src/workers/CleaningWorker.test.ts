import { assert, describe, it } from "@effect/vitest"
import { singleBody, storedJournal } from "@svc/testkit/ProgramHarness"
import { Effect, Fiber, Layer, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import { fromTheStart, memoryPrograms } from "../../test/MemoryPrograms.ts"
import { makeReceivers, webhookCaller } from "../../test/WebhookReceivers.ts"
import { StoreUnavailable } from "../ports/MandateStore.ts"
import { StoreCleaning } from "../ports/StoreCleaning.ts"
import { listWebhookDeliveries } from "../programs/WebhookDeliveries.ts"
import {
  CLEANING_BATCH,
  CLEANING_INTERVAL_MILLISECONDS,
  CLEANING_ORGANIZATIONS,
  CLEANING_PAUSE_MILLISECONDS,
  cleaningWorker,
  isRetentionDays,
  NANOS_PER_DAY,
  Retention,
  retention
} from "./CleaningWorker.ts"
import { webhookWorker } from "./WebhookWorker.ts"
import { IDLE_PAUSE_MILLISECONDS, IdlePause } from "./WorkerPause.ts"

type Step = Parameters<StoreCleaning["Service"]["clean"]>[0]

/** A store of organizations `a` to `c`, one of which each step looks at. It may be made to fail. */
const threeOrganizations = () => {
  const seen = { steps: [] as Step[], unavailable: false }
  const clean = (step: Step) =>
    Effect.suspend(() => {
      seen.steps.push(step)
      if (seen.unavailable) return Effect.fail(new StoreUnavailable({}))
      const next = { "": "a", a: "b", b: "c" }[step.after ?? ""]
      return Effect.succeed({ removed: 1, ...(next === undefined ? {} : { next }) })
    })
  return { seen, layer: Layer.succeed(StoreCleaning, { clean }) }
}

const placesOf = (steps: ReadonlyArray<Step>) => steps.map(({ after }) => after)

describe("the cleaning worker", () => {
  it.effect("goes from organization to organization with pauses, and begins again after a longer one", () => {
    const { layer, seen } = threeOrganizations()
    return Effect.gen(function* () {
      yield* fromTheStart
      const worker = yield* Effect.forkChild(cleaningWorker)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(placesOf(seen.steps), [undefined])
      yield* TestClock.adjust(CLEANING_PAUSE_MILLISECONDS)
      assert.deepStrictEqual(placesOf(seen.steps), [undefined, "a"])
      yield* TestClock.adjust(2 * CLEANING_PAUSE_MILLISECONDS)
      assert.deepStrictEqual(placesOf(seen.steps), [undefined, "a", "b", "c"])
      yield* TestClock.adjust(CLEANING_INTERVAL_MILLISECONDS - 1)
      assert.lengthOf(seen.steps, 4)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(placesOf(seen.steps).slice(4), [undefined])
      yield* Fiber.interrupt(worker)
    }).pipe(Effect.provide(layer))
  })

  it.effect(
    "keeps deliveries for 30 days and the ids of assertions for one, or as long as it is told, and goes by its own clock too",
    () => {
      const { layer, seen } = threeOrganizations()
      return Effect.gen(function* () {
        yield* TestClock.setTime(1000)
        const worker = yield* Effect.forkChild(cleaningWorker)
        yield* TestClock.adjust(0)
        yield* Fiber.interrupt(worker)
        const told = yield* Effect.forkChild(
          Effect.provide(cleaningWorker, retention({ webhookRetentionDays: 7, assertionRetentionDays: 90 }))
        )
        yield* TestClock.adjust(0)
        yield* Fiber.interrupt(told)
        const step = { organizations: CLEANING_ORGANIZATIONS, limit: CLEANING_BATCH, now: 1_000_000_000n }
        assert.deepStrictEqual(seen.steps, [
          { ...step, keptFor: { deliveries: 30n * NANOS_PER_DAY, claims: NANOS_PER_DAY } },
          { ...step, keptFor: { deliveries: 7n * NANOS_PER_DAY, claims: 90n * NANOS_PER_DAY } }
        ])
      }).pipe(Effect.provide(layer))
    }
  )

  it.effect("asks less and less often while the store is unavailable, and continues where it was", () => {
    const { layer, seen } = threeOrganizations()
    return Effect.gen(function* () {
      const worker = yield* Effect.forkChild(cleaningWorker)
      yield* TestClock.adjust(0)
      seen.unavailable = true
      yield* TestClock.adjust(CLEANING_PAUSE_MILLISECONDS)
      yield* TestClock.adjust(IDLE_PAUSE_MILLISECONDS)
      yield* TestClock.adjust(2 * IDLE_PAUSE_MILLISECONDS)
      assert.deepStrictEqual(placesOf(seen.steps), [undefined, "a", "a", "a"])
      seen.unavailable = false
      yield* TestClock.adjust(4 * IDLE_PAUSE_MILLISECONDS)
      yield* TestClock.adjust(CLEANING_PAUSE_MILLISECONDS)
      assert.deepStrictEqual(placesOf(seen.steps).slice(4), ["a", "b"])
      yield* Fiber.interrupt(worker)
    }).pipe(Effect.provide(layer))
  })

  it.effect(
    "pauses as an idle one between steps, and not while the store is unavailable from the start",
    () => {
      const { layer, seen } = threeOrganizations()
      const idle: Array<number> = []
      const pause = (milliseconds: number) => {
        idle.push(milliseconds)
        return Effect.sleep(milliseconds)
      }
      return Effect.gen(function* () {
        seen.unavailable = true
        const worker = yield* Effect.forkChild(Effect.provideService(cleaningWorker, IdlePause, pause))
        yield* TestClock.adjust(3 * IDLE_PAUSE_MILLISECONDS)
        assert.lengthOf(seen.steps, 3)
        assert.deepStrictEqual(idle, [])
        seen.unavailable = false
        yield* TestClock.adjust(4 * IDLE_PAUSE_MILLISECONDS)
        assert.deepStrictEqual(idle, [CLEANING_PAUSE_MILLISECONDS])
        yield* Fiber.interrupt(worker)
      }).pipe(Effect.provide(layer))
    }
  )

  it.effect("says for the operator how many rows it has removed, if any, and when it tries again", () => {
    const logged: Array<unknown> = []
    const logger = Logger.make<unknown, void>(({ fiber, logLevel }) => {
      logged.push([logLevel, fiber.getRef(References.CurrentLogAnnotations)])
    })
    let removed = 0
    const clean = () =>
      removed < 0 ? Effect.fail(new StoreUnavailable({})) : Effect.succeed({ removed, next: "a" })
    return Effect.gen(function* () {
      const worker = yield* Effect.forkChild(cleaningWorker)
      for (const count of [0, 3, -1]) {
        removed = count
        yield* TestClock.adjust(CLEANING_PAUSE_MILLISECONDS)
      }
      assert.deepStrictEqual(logged, [
        ["Debug", { rows: 3 }],
        ["Warn", { pause_ms: IDLE_PAUSE_MILLISECONDS }]
      ])
      yield* Fiber.interrupt(worker)
    }).pipe(
      Effect.provide([Layer.succeed(StoreCleaning, { clean }), Logger.layer([logger])]),
      Effect.provideService(References.MinimumLogLevel, "Debug")
    )
  })

  it.effect("removes deliveries once they are old enough, and nothing of the mandate", () => {
    const { layer } = makeReceivers()
    const caller = webhookCaller()
    const organization = caller.organization.id
    /** Runs a worker for a moment. */
    const moment = <R>(worker: Effect.Effect<never, never, R>) =>
      Effect.gen(function* () {
        const running = yield* Effect.forkChild(worker)
        yield* TestClock.adjust("2 seconds")
        yield* Fiber.interrupt(running)
      })
    return Effect.gen(function* () {
      yield* fromTheStart
      const { id } = (yield* caller.register()).resource
      const { resource } = yield* caller.create(singleBody())
      yield* moment(webhookWorker)
      const deliveries = Effect.map(
        listWebhookDeliveries({ organization, endpointId: id, limit: 10 }),
        ({ data }) => data.map(({ state }) => state)
      )
      yield* TestClock.adjust("29 days")
      yield* moment(cleaningWorker)
      assert.deepStrictEqual(yield* deliveries, ["delivered"])
      yield* TestClock.adjust("1 day")
      yield* moment(cleaningWorker)
      assert.deepStrictEqual(yield* deliveries, [])
      assert.lengthOf(yield* storedJournal(organization, resource.id), 1)
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(memoryPrograms(), layer)))
  })
})

it.effect("each kind of row is kept for so many days", () =>
  Effect.gen(function* () {
    const day = 86_400_000_000_000n
    assert.deepStrictEqual(yield* Retention, { deliveries: 2n * day, claims: 3n * day })
  }).pipe(Effect.provide(retention({ webhookRetentionDays: 2, assertionRetentionDays: 3 })))
)

it("what ages may be kept for a whole number of days, 1 to 36,500", () => {
  for (const days of [1, 30, 36_500]) assert.isTrue(isRetentionDays(days))
  for (const days of [0, -1, 1.5, 36_501, Number.NaN]) assert.isFalse(isRetentionDays(days))
})
