/** Ends of attempts while the store is away: each is recorded once, however often it takes. */
import { assert, describe, it } from "@effect/vitest"
import { singleBody } from "@svc/testkit/ProgramHarness"
import { Clock, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { StoreUnavailable } from "../src/ports/MandateStore.ts"
import { WebhookStore } from "../src/ports/WebhookStore.ts"
import { listWebhookDeliveries } from "../src/programs/WebhookDeliveries.ts"
import { readWebhookEndpoint } from "../src/programs/WebhookEndpoints.ts"
import { webhookWorker } from "../src/workers/WebhookWorker.ts"
import { fromTheStart, memoryPrograms } from "./MemoryPrograms.ts"
import { ARRIVED, FAILED, makeReceivers, webhookCaller } from "./WebhookReceivers.ts"

/** `before`: nothing is recorded. `after`: all is, and the answer is lost. */
type Fault = "before" | "after"

const caller = webhookCaller()
const organization = caller.organization.id

/** A store whose records of ends fail as they are told, and receivers. */
const world = (next: () => Fault | undefined) => {
  const { layer, receivers } = makeReceivers()
  const faulty = Layer.effect(
    WebhookStore,
    Effect.map(WebhookStore, (store) => ({
      ...store,
      recordAttempts: (ended) =>
        Effect.suspend(() => {
          const fault = next()
          const lost = Effect.fail(new StoreUnavailable({ cause: `planned ${fault} the record` }))
          if (fault === undefined) return store.recordAttempts(ended)
          return fault === "before" ? lost : Effect.andThen(store.recordAttempts(ended), lost)
        })
    }))
  )
  const programs = Layer.merge(Layer.provideMerge(faulty, memoryPrograms()), layer)
  return { programs, receivers }
}

const inOrder = (faults: ReadonlyArray<Fault>): (() => Fault | undefined) => {
  const left = [...faults]
  return () => left.shift()
}

const happen = Effect.suspend(() => caller.create(singleBody()))
const endpointOf = (endpointId: string) => readWebhookEndpoint({ organization, endpointId })
const deliveriesOf = (endpointId: string) =>
  Effect.map(listWebhookDeliveries({ organization, endpointId, limit: 100 }), ({ data }) => data)

const seconds = (count: number) =>
  Effect.forEach(Array.from({ length: count }), () => TestClock.adjust("1 second"), { discard: true })

const PLANS: ReadonlyArray<ReadonlyArray<Fault>> = [
  ["before"],
  ["after"],
  ["before", "after"],
  ["after", "before"],
  ["before", "before", "before", "before"]
]

describe("an attempt that ended while the store was away", () => {
  for (const plan of PLANS) {
    it.effect(`is recorded once: ${plan.join(", ")}`, () => {
      const { programs, receivers } = world(inOrder(plan))
      return Effect.gen(function* () {
        yield* fromTheStart
        receivers.answer = ({ number }) => Effect.succeed(number === 1 ? FAILED : ARRIVED)
        const { id } = (yield* caller.register()).resource
        yield* happen
        yield* Effect.forkScoped(webhookWorker)
        yield* seconds(20)
        assert.strictEqual((yield* endpointOf(id)).consecutive_failed_attempts, 1)
        assert.deepStrictEqual(
          (yield* deliveriesOf(id)).map(({ attempts, state }) => [
            state,
            attempts.map(({ status }) => status)
          ]),
          [["pending", [500]]]
        )
        yield* seconds(180)
        assert.lengthOf(receivers.received, 2)
        assert.strictEqual((yield* endpointOf(id)).consecutive_failed_attempts, 0)
        assert.deepStrictEqual(
          (yield* deliveriesOf(id)).map(({ attempts, state }) => [
            state,
            attempts.map(({ status }) => status)
          ]),
          [["delivered", [500, 204]]]
        )
      }).pipe(Effect.scoped, Effect.provide(programs))
    })
  }

  it.effect("is recorded together with those that ended meanwhile, each in its delivery", () => {
    const { programs, receivers } = world(inOrder(["before", "before", "before"]))
    return Effect.gen(function* () {
      yield* fromTheStart
      receivers.answer = () => Effect.succeed(FAILED)
      const { id } = (yield* caller.register()).resource
      yield* Effect.forkScoped(webhookWorker)
      for (let count = 0; count < 5; count += 1) {
        yield* happen
        yield* seconds(1)
      }
      yield* seconds(10)
      const deliveries = yield* deliveriesOf(id)
      assert.deepStrictEqual(
        deliveries.map(({ attempts }) => attempts.length),
        [1, 1, 1, 1, 1]
      )
      assert.strictEqual((yield* endpointOf(id)).consecutive_failed_attempts, 5)
      const now = yield* Clock.currentTimeMillis
      for (const { attempts, next_attempt_at } of deliveries) {
        assert.isAtLeast(Date.parse(next_attempt_at!) - Date.parse(attempts[0]!.at), 24_000)
        assert.isAtLeast(Date.parse(next_attempt_at!), now)
      }
    }).pipe(Effect.scoped, Effect.provide(programs))
  })

  it.effect(
    "is taken for lost once its lease has run out, which moves no counter, and is not kept longer",
    () => {
      let isAway = true
      const { programs, receivers } = world(() => (isAway ? "before" : undefined))
      return Effect.gen(function* () {
        yield* fromTheStart
        receivers.answer = ({ number }) => Effect.succeed(number === 1 ? FAILED : ARRIVED)
        const { id } = (yield* caller.register()).resource
        yield* happen
        yield* Effect.forkScoped(webhookWorker)
        yield* seconds(100)
        isAway = false
        yield* seconds(180)
        assert.deepStrictEqual(
          (yield* deliveriesOf(id)).flatMap(({ attempts }) =>
            attempts.map(({ error, status }) => error ?? status)
          ),
          ["worker_lost", 204]
        )
        assert.strictEqual((yield* endpointOf(id)).consecutive_failed_attempts, 0)
        assert.lengthOf(receivers.received, 2)
      }).pipe(Effect.scoped, Effect.provide(programs))
    }
  )

  it.effect("does not hold up a worker that is stopped longer than other work does", () => {
    const { programs, receivers } = world(() => "before")
    return Effect.gen(function* () {
      yield* fromTheStart
      yield* caller.register()
      yield* happen
      const worker = yield* Effect.forkChild(webhookWorker)
      yield* seconds(2)
      assert.lengthOf(receivers.received, 1)
      const stopping = yield* Effect.forkChild(Fiber.interrupt(worker))
      yield* seconds(10)
      assert.isDefined(stopping.pollUnsafe())
    }).pipe(Effect.provide(programs))
  })
})
