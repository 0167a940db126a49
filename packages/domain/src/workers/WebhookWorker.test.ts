import { assert, describe, it } from "@effect/vitest"
import { HARNESS_START, singleBody } from "@svc/testkit/ProgramHarness"
import { newIdentifier } from "@svc/testkit/StoreFixtures"
import { Clock, Effect, Fiber, Layer, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import { fromTheStart, memoryPrograms } from "../../test/MemoryPrograms.ts"
import {
  ARRIVED,
  attempted,
  FAILED,
  isAuthentic,
  makeReceivers,
  webhookCaller
} from "../../test/WebhookReceivers.ts"
import { StoreUnavailable } from "../ports/MandateStore.ts"
import { SealBroken, SecretSealer } from "../ports/SecretSealer.ts"
import { WebhookStore } from "../ports/WebhookStore.ts"
import {
  listWebhookDeliveries,
  redeliverWebhook,
  testWebhookEndpoint
} from "../programs/WebhookDeliveries.ts"
import { readWebhookEndpoint } from "../programs/WebhookEndpoints.ts"
import { MAX_WEBHOOK_ENDPOINTS } from "../webhook/WebhookEndpoint.ts"
import { QUICK_ATTEMPTS_PER_ENDPOINT } from "./EndpointPace.ts"
import { EXPIRED_BATCH } from "./WebhookAttempts.ts"
import {
  ATTEMPTS_AT_ONCE,
  ATTEMPTS_PER_ENDPOINT,
  isWebhookCapacity,
  makeWakeUp,
  UnsentAttempts,
  WebhookCapacity,
  WebhookWakeUp,
  webhookWorker
} from "./WebhookWorker.ts"
import { IdlePause } from "./WorkerPause.ts"

type LeaseQuery = Parameters<WebhookStore["Service"]["leaseDue"]>[0]

const caller = webhookCaller()
const organization = caller.organization.id

const tick = TestClock.adjust("1 second")

/** A story with receivers of its own, and a worker that runs all the while. */
const story = <A, E, R>(
  tell: (world: ReturnType<typeof makeReceivers>["receivers"]) => Effect.Effect<A, E, R>,
  isWorking = true
) => {
  const { layer, receivers } = makeReceivers()
  return Effect.flatMap(Effect.scope, (scope) =>
    Effect.gen(function* () {
      yield* fromTheStart
      if (isWorking) yield* Effect.forkScoped(webhookWorker)
      // A worker waits for what is under way when it is stopped, in the time of the test: which goes on if the story breaks off.
      return yield* Effect.onError(tell(receivers), () => Effect.forkIn(Effect.forever(tick), scope))
    }).pipe(Effect.scoped)
  ).pipe(Effect.provide(Layer.merge(memoryPrograms(), layer)))
}

const deliveriesOf = (endpointId: string) =>
  Effect.map(listWebhookDeliveries({ organization, endpointId, limit: 100 }), ({ data }) => data)

const endpointOf = (endpointId: string) => readWebhookEndpoint({ organization, endpointId })

/** Makes a mandate, which is one event. */
const happen = Effect.suspend(() => caller.create(singleBody()))

/** Organizations with as many endpoints as they may have, to each of which so many events go. */
const everywhere = (organizations: number, events = 1) =>
  Effect.gen(function* () {
    for (let each = 0; each < organizations; each += 1) {
      const other = webhookCaller(newIdentifier("org_"))
      for (let number = 0; number < MAX_WEBHOOK_ENDPOINTS; number += 1) {
        yield* other.register({ url: `https://hang.example/${number}` })
      }
      for (let count = 0; count < events; count += 1) yield* other.create(singleBody())
    }
  })

/** Lets three seconds pass in steps, until something has happened: a worker that found less than a batch looks each second. */
const passesUntil = (hasHappened: () => boolean) =>
  Effect.gen(function* () {
    for (let step = 0; step < 60 && !hasHappened(); step += 1) {
      yield* TestClock.adjust("50 millis")
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    }
    assert.isTrue(hasHappened())
  })

const hangingUnlessQuick = ({ url }: { readonly url: string }) =>
  url.includes("quick")
    ? Effect.succeed(ARRIVED)
    : Effect.as(Effect.sleep("15 seconds"), { error: "timeout", durationMs: 15_000 } as const)

/** Hours in which a worker is there for some seconds each: looking every second for days would take long. */
const hours = (count: number) =>
  Effect.forEach(
    Array.from({ length: count }),
    () =>
      Effect.gen(function* () {
        yield* TestClock.adjust("1 hour")
        const worker = yield* Effect.forkChild(webhookWorker)
        yield* TestClock.adjust("2 seconds")
        yield* Fiber.interrupt(worker)
      }),
    { discard: true }
  )

describe("an event", () => {
  it.effect("arrives at every endpoint that wants it, once, with the headers of part 8", () =>
    story((receivers) =>
      Effect.gen(function* () {
        const all = (yield* caller.register({ url: "https://a.example/" })).resource
        yield* caller.register({ url: "https://b.example/", event_types: ["mandate.created"] })
        yield* caller.register({ url: "https://c.example/", event_types: ["mandate.revoked"] })
        const { resource } = yield* happen
        yield* tick
        const [first, second, ...others] = receivers.received
        assert.deepStrictEqual(others, [])
        assert.deepStrictEqual([first!.url, second!.url].sort(), ["https://a.example/", "https://b.example/"])
        assert.strictEqual(first!.body, second!.body)
        const toAll = receivers.received.find(({ url }) => url === all.url)!
        const { "svc-signature": signature, ...headers } = toAll.headers
        assert.match(signature!, /^t=\d+,v1=[0-9a-f]{64}$/u)
        assert.deepStrictEqual(headers, {
          "content-type": "application/json",
          "svc-webhook-version": "1",
          "user-agent": "svc-webhooks/1"
        })
        assert.isTrue(isAuthentic(all.secret!, toAll))
        const body = JSON.parse(toAll.body)
        assert.deepStrictEqual(body, {
          id: body.id,
          type: "mandate.created",
          occurred_at: "2026-12-01T00:00:00.000000000Z",
          data: { mandate_id: resource.id, state: "PENDING_APPROVAL", version: 1 }
        })
        const [delivery] = yield* deliveriesOf(all.id)
        assert.deepStrictEqual(delivery, {
          id: delivery!.id,
          state: "delivered",
          event_id: body.id,
          event_type: "mandate.created",
          attempts: [{ at: delivery!.attempts[0]!.at, status: 204, duration_ms: 5 }]
        })
      })
    )
  )

  it.effect("is tried nine times, with the same bytes and a fresh signature, and is then exhausted", () =>
    story(
      (receivers) =>
        Effect.gen(function* () {
          receivers.answer = () => Effect.succeed(FAILED)
          const { id, secret } = (yield* caller.register()).resource
          yield* happen
          yield* hours(40)
          assert.lengthOf(receivers.received, 9)
          assert.lengthOf(new Set(receivers.received.map(({ body }) => body)), 1)
          assert.lengthOf(new Set(receivers.received.map(({ headers }) => headers["svc-signature"])), 9)
          assert.isTrue(receivers.received.every((each) => isAuthentic(secret!, each)))
          const [delivery] = yield* deliveriesOf(id)
          assert.strictEqual(delivery!.state, "exhausted")
          assert.lengthOf(delivery!.attempts, 9)
          const endpoint = yield* endpointOf(id)
          assert.deepStrictEqual(
            [endpoint.consecutive_failed_attempts, endpoint.consecutive_exhausted_deliveries],
            [9, 1]
          )
        }),
      false
    )
  )

  it.effect("resend-openapi 114: a retry after a rotation is signed with the new secret alone", () =>
    story((receivers) =>
      Effect.gen(function* () {
        receivers.answer = ({ number }) => Effect.succeed(number === 1 ? FAILED : ARRIVED)
        const { id, secret } = (yield* caller.register()).resource
        yield* happen
        yield* tick
        const rotated = (yield* caller.rotate(id)).resource
        yield* TestClock.adjust("1 minute")
        const [first, second] = receivers.received
        assert.isTrue(isAuthentic(secret!, first!))
        assert.isTrue(isAuthentic(rotated.secret!, second!))
        assert.isFalse(isAuthentic(secret!, second!))
      })
    )
  )

  it.effect("svix 1511: is never sent to an endpoint that was deleted meanwhile, and stays on record", () =>
    story(
      (receivers) =>
        Effect.gen(function* () {
          const gone = (yield* caller.register({ url: "https://gone.example/" })).resource
          yield* caller.register({ url: "https://there.example/" })
          yield* happen
          yield* caller.remove(gone.id)
          yield* hours(24)
          assert.deepStrictEqual(
            receivers.received.map(({ url }) => url),
            ["https://there.example/"]
          )
          assert.deepStrictEqual(
            (yield* deliveriesOf(gone.id)).map(({ state }) => state),
            ["cancelled"]
          )
        }),
      false
    )
  )
})

describe("an endpoint that fails", () => {
  it.effect(
    "is disabled at 20 failed attempts; its deliveries are frozen, and go on once it is active again",
    () =>
      story((receivers) =>
        Effect.gen(function* () {
          receivers.answer = () => Effect.succeed(FAILED)
          const { id } = (yield* caller.register()).resource
          for (let count = 0; count < 20; count += 1) {
            yield* happen
            yield* TestClock.adjust("20 millis")
          }
          yield* tick
          const disabled = yield* endpointOf(id)
          assert.deepStrictEqual(
            [disabled.status, disabled.disabled_reason, disabled.consecutive_failed_attempts],
            ["disabled", "consecutive_failed_attempts", 20]
          )
          yield* happen
          yield* TestClock.adjust("1 hour")
          const attempts = receivers.received.length
          assert.strictEqual(attempts, 20)
          const frozen = yield* deliveriesOf(id)
          assert.lengthOf(frozen, 21)
          assert.isTrue(frozen.every(({ state }) => state === "frozen"))
          assert.isTrue(frozen.every((delivery) => !("next_attempt_at" in delivery)))

          receivers.answer = () => Effect.succeed(ARRIVED)
          const active = (yield* caller.reactivate(id)).resource
          assert.deepStrictEqual([active.status, active.consecutive_failed_attempts], ["active", 0])
          const before = receivers.received.length
          for (let second = 0; second < 61; second += 1) yield* tick
          const seconds = receivers.received.slice(before).map(({ at }) => Math.floor(at / 1000))
          assert.lengthOf(seconds, 21)
          assert.isAtLeast(new Set(seconds).size, 15)
          assert.isTrue((yield* deliveriesOf(id)).every(({ state }) => state === "delivered"))
        })
      )
  )

  it.effect("does not keep another waiting: four hang, and the fifth gets each event at once", () =>
    story((receivers) =>
      Effect.gen(function* () {
        receivers.answer = hangingUnlessQuick
        for (let hanging = 0; hanging < 4; hanging += 1) {
          yield* caller.register({ url: `https://hang${hanging}.example/` })
        }
        const { id } = (yield* caller.register({ url: "https://quick.example/" })).resource
        for (let count = 0; count < 100; count += 1) {
          yield* happen
          yield* TestClock.adjust("1 second")
          const arrived = receivers.received.filter(({ url }) => url.includes("quick"))
          assert.lengthOf(arrived, count + 1)
        }
        assert.isTrue((yield* deliveriesOf(id)).every(({ state }) => state === "delivered"))
        const hanging = receivers.received.filter(({ url }) => url.includes("hang0"))
        assert.isAtLeast(hanging.length, ATTEMPTS_PER_ENDPOINT)
      })
    )
  )
})

describe("an endpoint whose secret the master key does not open", () => {
  it.effect("has failed attempts, logged once, until it has another secret, and again after that", () => {
    const unsent: Array<string> = []
    const logged: Array<Record<string, unknown>> = []
    let opened = 0
    return story(
      (receivers) =>
        Effect.gen(function* () {
          const { id } = (yield* caller.register()).resource
          const sealer = yield* SecretSealer
          const losing = SecretSealer.of({
            seal: sealer.seal,
            open: (context, sealed) => {
              opened += 1
              return context.version === 2
                ? sealer.open(context, sealed)
                : Effect.fail(new SealBroken({ purpose: context.purpose }))
            }
          })
          yield* Effect.forkScoped(
            webhookWorker.pipe(
              Effect.provideService(SecretSealer, losing),
              Effect.provideService(UnsentAttempts, (result) => unsent.push(result.error ?? "")),
              Effect.provide(
                Logger.layer([
                  Logger.make(({ fiber, message }) => {
                    logged.push({
                      message: [message].flat()[0],
                      ...fiber.getRef(References.CurrentLogAnnotations)
                    })
                  })
                ])
              )
            )
          )
          yield* happen
          yield* happen
          yield* tick
          // Both attempts are of one round.
          assert.strictEqual(opened, 1)
          yield* happen
          yield* tick
          const failed = yield* deliveriesOf(id)
          assert.deepStrictEqual(
            failed.map(({ attempts, state }) => [state, ...attempts.map(({ error }) => error)]),
            Array.from({ length: 3 }, (): Array<string | undefined> => ["pending", "secret_unavailable"])
          )
          assert.strictEqual((yield* endpointOf(id)).consecutive_failed_attempts, 3)
          assert.deepStrictEqual(
            unsent,
            failed.map(() => "secret_unavailable")
          )
          const closed = {
            message: `the master key does not open the secret of ${id}, so nothing is sent to it; have its owner rotate it`,
            organization_id: organization,
            webhook_endpoint_id: id
          }
          assert.deepStrictEqual(logged, [closed])
          assert.lengthOf(receivers.received, 0)

          const { secret } = (yield* caller.rotate(id)).resource
          yield* TestClock.adjust("40 seconds")
          assert.lengthOf(receivers.received, 3)
          assert.isTrue(receivers.received.every((each) => isAuthentic(secret!, each)))
          assert.strictEqual((yield* endpointOf(id)).consecutive_failed_attempts, 0)

          yield* caller.rotate(id)
          yield* happen
          yield* tick
          assert.deepStrictEqual(logged, [closed, closed])
        }),
      false
    )
  })
})

describe("organizations", () => {
  it.effect("do not keep another waiting, however many endpoints hang", () =>
    story((receivers) =>
      Effect.gen(function* () {
        receivers.answer = hangingUnlessQuick
        yield* everywhere(8, 26)
        // More is due than would fill the worker.
        assert.isAbove(8 * 5 * 26, ATTEMPTS_AT_ONCE)
        yield* passesUntil(() => receivers.received.length >= ATTEMPTS_AT_ONCE / 2)
        yield* caller.register({ url: "https://quick.example/" })
        for (let count = 1; count <= 5; count += 1) {
          yield* happen
          const arrived = () => receivers.received.filter(({ url }) => url.includes("quick"))
          yield* passesUntil(() => arrived().length >= count)
          assert.lengthOf(arrived(), count)
        }
        // A worker that is stopped waits for what is under way.
        yield* TestClock.adjust("1 minute")
      })
    )
  )
})

describe("an endpoint", () => {
  it.effect("waits for no other of its organization, whatever hangs there, deleted ones with them", () =>
    story((receivers) =>
      Effect.gen(function* () {
        receivers.answer = hangingUnlessQuick
        const hang = Effect.gen(function* () {
          const made: Array<string> = []
          for (let number = 0; number < 4; number += 1) {
            made.push((yield* caller.register({ url: `https://hang.example/${number}` })).resource.id)
          }
          for (let count = 0; count < 2 * ATTEMPTS_PER_ENDPOINT; count += 1) yield* happen
          yield* tick
          return made
        })
        for (let turn = 0; turn < 3; turn += 1) {
          for (const id of yield* hang) yield* caller.remove(id)
        }
        yield* hang
        yield* caller.register({ url: "https://quick.example/" })
        for (let count = 1; count <= 10; count += 1) {
          yield* happen
          yield* tick
          const arrived = receivers.received.filter(({ url }) => url.includes("quick"))
          assert.lengthOf(arrived, count)
        }
        yield* TestClock.adjust("1 minute")
      })
    )
  )
})

describe("the attempts under way", () => {
  it.effect("are more for an endpoint that responds quickly than for a slow one beside it", () =>
    story(
      (receivers) =>
        Effect.gen(function* () {
          const latency = { quick: 20, slow: 2000 }
          const underWay = { quick: 0, slow: 0 }
          const most = { quick: 0, slow: 0 }
          receivers.answer = ({ url }) => {
            const name = url.includes("quick") ? "quick" : "slow"
            return Effect.gen(function* () {
              underWay[name] += 1
              most[name] = Math.max(most[name], underWay[name])
              yield* Effect.sleep(latency[name])
              underWay[name] -= 1
              return { status: 204, durationMs: latency[name] }
            })
          }
          yield* caller.register({ url: "https://quick.example/" })
          yield* caller.register({ url: "https://slow.example/" })
          for (let count = 0; count < 300; count += 1) yield* happen
          yield* Effect.forkScoped(webhookWorker)
          for (let count = 0; count < 100; count += 1) yield* TestClock.adjust("10 millis")
          assert.isAbove(most.quick, ATTEMPTS_PER_ENDPOINT)
          assert.isAtMost(most.quick, QUICK_ATTEMPTS_PER_ENDPOINT)
          assert.strictEqual(most.slow, ATTEMPTS_PER_ENDPOINT)
          assert.lengthOf(
            receivers.received.filter(({ url }) => url.includes("quick")),
            300
          )
          yield* TestClock.adjust("1 minute")
        }),
      false
    )
  )
})

describe("a worker", () => {
  it.effect("that is lost uses up its attempt, and moves no counter", () =>
    story(
      (receivers) =>
        Effect.gen(function* () {
          const { id } = (yield* caller.register()).resource
          yield* happen
          const store = yield* WebhookStore
          const lease = {
            token: "lost",
            limit: 1,
            perEndpoint: 1,
            assured: 0,
            perOrganization: 1,
            lasts: 60_000_000_000n
          }
          assert.lengthOf(yield* store.leaseDue(lease), 1)
          assert.lengthOf(yield* store.leaseDue({ ...lease, token: "other" }), 0)
          yield* Effect.forkScoped(webhookWorker)
          yield* TestClock.adjust("59 seconds")
          assert.lengthOf(receivers.received, 0)
          for (let minute = 0; minute < 3; minute += 1) yield* TestClock.adjust("1 minute")
          const [delivery] = yield* deliveriesOf(id)
          assert.deepStrictEqual(
            delivery!.attempts.map(({ error, status }) => error ?? status),
            ["worker_lost", 204]
          )
          assert.strictEqual((yield* endpointOf(id)).consecutive_failed_attempts, 0)
        }),
      false
    )
  )

  it.effect("uses up the attempts of a lost worker without a pause, however many there are", () =>
    story(
      () =>
        Effect.gen(function* () {
          yield* caller.register({ url: "https://one.example/" })
          yield* caller.register({ url: "https://two.example/" })
          for (let count = 0; count < 2 * EXPIRED_BATCH; count += 1) yield* happen
          const store = yield* WebhookStore
          const lost = yield* store.leaseDue({
            token: "lost",
            limit: 1000,
            perEndpoint: 1000,
            assured: 0,
            perOrganization: 1000,
            lasts: 60_000_000_000n
          })
          assert.lengthOf(lost, 4 * EXPIRED_BATCH)
          yield* TestClock.adjust("1 minute")
          yield* Effect.forkScoped(webhookWorker)
          yield* TestClock.adjust("200 millis")
          assert.lengthOf((yield* store.expiredAttempts({ limit: 1000 })).expired, 0)
        }),
      false
    )
  )

  it.effect("that is stopped finishes what is under way, and begins nothing more", () =>
    story(
      (receivers) =>
        Effect.gen(function* () {
          receivers.answer = () => Effect.as(Effect.sleep("3 seconds"), ARRIVED)
          const { id } = (yield* caller.register()).resource
          yield* happen
          const worker = yield* Effect.forkChild(webhookWorker)
          yield* tick
          assert.lengthOf(receivers.received, 1)
          const stopping = yield* Effect.forkChild(Fiber.interrupt(worker))
          yield* Effect.yieldNow
          yield* happen
          yield* TestClock.adjust("10 seconds")
          yield* Fiber.join(stopping)
          assert.lengthOf(receivers.received, 1)
          assert.deepStrictEqual(
            (yield* deliveriesOf(id)).map(({ state }) => state),
            ["pending", "delivered"]
          )
        }),
      false
    )
  )
})

/** An attempt that takes ten seconds. */
const SLOW = Effect.as(Effect.sleep("10 seconds"), ARRIVED)

/** A story whose worker's calls of the store are seen, with their times in milliseconds, and may be made to fail. */
const watchedStory = <A, E, R>(
  tell: (
    world: ReturnType<typeof makeReceivers>["receivers"] & {
      readonly leases: Array<LeaseQuery>
      readonly leasedAt: Array<number>
      readonly searchedAt: Array<number>
      isAway: boolean
    }
  ) => Effect.Effect<A, E, R>
) =>
  story((receivers) => {
    const world = Object.assign(receivers, {
      leases: [] as Array<LeaseQuery>,
      leasedAt: [] as Array<number>,
      searchedAt: [] as Array<number>,
      isAway: false
    })
    const sinceStart = Effect.map(Clock.currentTimeMillis, (now) => now - HARNESS_START)
    const unlessAway = <B, F, S>(answer: Effect.Effect<B, F, S>) =>
      Effect.suspend(
        (): Effect.Effect<B, F | StoreUnavailable, S> =>
          world.isAway ? Effect.fail(new StoreUnavailable({})) : answer
      )
    return Effect.gen(function* () {
      const store = yield* WebhookStore
      const told = yield* Effect.provideService(tell(world), WebhookStore, {
        ...store,
        leaseDue: (query) =>
          Effect.flatMap(sinceStart, (at) => {
            world.leases.push(query)
            world.leasedAt.push(at)
            return unlessAway(store.leaseDue(query))
          }),
        expiredAttempts: (query) =>
          Effect.flatMap(sinceStart, (at) => {
            world.searchedAt.push(at)
            return store.expiredAttempts(query)
          })
      })
      // A worker that is stopped waits for what is under way.
      yield* TestClock.adjust("1 minute")
      return told
    })
  }, false)

describe("a worker leases", () => {
  const LASTS = 60_000_000_000n

  it.effect(
    "shares of its free capacity: a quarter for an organization, a fifth of that for an endpoint",
    () =>
      watchedStory((world) =>
        Effect.gen(function* () {
          world.answer = () => SLOW
          yield* caller.register()
          for (let count = 0; count < 40; count += 1) yield* happen
          yield* Effect.forkScoped(webhookWorker)
          yield* tick
          const bounds = new Map<string, number>()
          const [first, second] = world.leases.map(({ token: _token, ...query }) => query)
          assert.deepStrictEqual(first, {
            limit: 128,
            perOrganization: 256,
            perEndpoint: 32,
            assured: 4,
            bounds,
            lasts: LASTS
          })
          assert.deepStrictEqual(second, { ...first!, perOrganization: 248 })
          assert.lengthOf(world.received, 32)
          assert.lengthOf(new Set(world.leases.map(({ token }) => token)), world.leases.length)
        })
      )
  )

  it.effect(
    "as much as it has room for, each endpoint of an organization its share, and nothing when it is full",
    () =>
      watchedStory((world) =>
        Effect.gen(function* () {
          world.answer = () => SLOW
          let idle = 0
          const pause = (milliseconds: number) => {
            idle += 1
            return Effect.sleep(milliseconds)
          }
          yield* everywhere(8)
          yield* Effect.forkScoped(
            webhookWorker.pipe(
              Effect.provideService(WebhookCapacity, 32),
              Effect.provideService(IdlePause, pause)
            )
          )
          yield* tick
          const { bounds: _bounds, token: _token, ...first } = world.leases[0]!
          assert.deepStrictEqual(first, {
            limit: 32,
            perOrganization: 8,
            perEndpoint: 2,
            assured: 1,
            lasts: LASTS
          })
          assert.lengthOf(world.received, 32)
          const asked = world.leases.length
          const before = idle
          yield* TestClock.adjust("8 seconds")
          assert.lengthOf(world.leases, asked)
          assert.strictEqual(idle - before, 8)
          yield* TestClock.adjust("2 seconds")
          assert.lengthOf(world.received, 40)
        })
      )
  )

  it.effect(
    "more for an endpoint that responds quickly, up to three quarters of its organization's share",
    () =>
      watchedStory((world) =>
        Effect.gen(function* () {
          world.answer = () => Effect.as(Effect.sleep(20), { status: 204, durationMs: 20 })
          const { id } = (yield* caller.register()).resource
          yield* Effect.forkScoped(Effect.provideService(webhookWorker, WebhookCapacity, 32))
          yield* happen
          yield* tick
          yield* tick
          assert.deepStrictEqual(world.leases.at(-1)!.bounds, new Map([[id, 6]]))
        })
      )
  )

  it.effect(
    "once a second while nothing is due, at once after a hint, and less often while hints lead to nothing",
    () =>
      watchedStory((world) =>
        Effect.gen(function* () {
          const wakeUp = makeWakeUp()
          yield* Effect.forkScoped(Effect.provideService(webhookWorker, WebhookWakeUp, wakeUp))
          yield* TestClock.adjust(2500)
          assert.deepStrictEqual(world.leasedAt, [0, 1000, 2000])
          wakeUp.notify()
          yield* TestClock.adjust(0)
          assert.deepStrictEqual(world.leasedAt.slice(3), [2500])
          wakeUp.notify()
          yield* TestClock.adjust(100)
          assert.deepStrictEqual(world.leasedAt.slice(4), [2541])
          yield* caller.register()
          world.answer = () => SLOW
          yield* TestClock.adjust(500)
          assert.lengthOf(world.leasedAt, 5)
        })
      )
  )

  it.effect(
    "in rounds that are five milliseconds apart while attempts are under way, whether it finds any",
    () =>
      watchedStory((world) =>
        Effect.gen(function* () {
          const wakeUp = makeWakeUp()
          world.answer = () => SLOW
          yield* caller.register()
          yield* happen
          yield* Effect.forkScoped(Effect.provideService(webhookWorker, WebhookWakeUp, wakeUp))
          yield* TestClock.adjust(0)
          assert.deepStrictEqual([world.leasedAt, world.received.length], [[0], 1])
          for (let count = 0; count < 100; count += 1) {
            wakeUp.notify()
            yield* TestClock.adjust(1)
          }
          assert.deepStrictEqual(world.leasedAt.slice(0, 8), [0, 6, 12, 18, 24, 30, 36, 42])
        })
      )
  )

  it.effect("in rounds that are ever further apart, up to forty milliseconds, while nothing is due", () =>
    watchedStory((world) =>
      Effect.gen(function* () {
        const wakeUp = makeWakeUp()
        yield* Effect.forkScoped(Effect.provideService(webhookWorker, WebhookWakeUp, wakeUp))
        for (let count = 0; count < 200; count += 1) {
          wakeUp.notify()
          yield* TestClock.adjust(1)
        }
        assert.deepStrictEqual(world.leasedAt, [0, 11, 32, 73, 114, 155, 196])
        world.answer = () => SLOW
        yield* caller.register()
        yield* happen
        wakeUp.notify()
        yield* TestClock.adjust(40)
        assert.lengthOf(world.received, 1)
        const before = world.leasedAt.length
        wakeUp.notify()
        yield* TestClock.adjust(6)
        assert.lengthOf(world.leasedAt, before + 1)
      })
    )
  )

  it.effect("the next batch without a pause after a whole one", () =>
    watchedStory((world) =>
      Effect.gen(function* () {
        world.answer = () => SLOW
        yield* everywhere(5, 10)
        yield* Effect.forkScoped(webhookWorker)
        for (let millisecond = 0; millisecond < 20; millisecond += 1) yield* TestClock.adjust(1)
        assert.deepStrictEqual(world.leasedAt.slice(0, 2), [0, 6])
        assert.isAbove(world.received.length, 128)
      })
    )
  )

  it.effect("more at once than it begins in one turn of the event loop", () =>
    watchedStory((world) =>
      Effect.gen(function* () {
        let turn = 0
        const begun = new Map<number, number>()
        world.answer = () => {
          begun.set(turn, (begun.get(turn) ?? 0) + 1)
          return SLOW
        }
        yield* everywhere(5, 10)
        yield* Effect.forkScoped(
          Effect.forever(
            Effect.andThen(
              Effect.sync(() => {
                turn += 1
              }),
              Effect.yieldNow
            )
          )
        )
        yield* Effect.forkScoped(webhookWorker)
        for (let millisecond = 0; millisecond < 5; millisecond += 1) yield* TestClock.adjust(1)
        assert.deepStrictEqual(world.leasedAt, [0])
        assert.strictEqual(world.received.length, 128)
        assert.isAbove(begun.size, 1)
      })
    )
  )

  it.effect("less and less often while the store is out of reach, and recovers unaided", () =>
    watchedStory((world) =>
      Effect.gen(function* () {
        world.isAway = true
        yield* caller.register()
        yield* happen
        yield* Effect.forkScoped(webhookWorker)
        yield* TestClock.adjust("30 seconds")
        assert.deepStrictEqual(world.leasedAt, [0, 1000, 3000, 7000, 15_000, 30_000])
        world.isAway = false
        yield* TestClock.adjust(15_000)
        assert.lengthOf(world.received, 1)
        world.isAway = true
        const before = world.leasedAt.length
        yield* TestClock.adjust(4000)
        const [failed, again] = world.leasedAt.slice(before)
        assert.strictEqual(again! - failed!, 1000)
      })
    )
  )

  it.effect("and looks for attempts of lost workers every ten seconds", () =>
    watchedStory((world) =>
      Effect.gen(function* () {
        yield* Effect.forkScoped(webhookWorker)
        yield* TestClock.adjust("35 seconds")
        assert.deepStrictEqual(world.searchedAt, [0, 10_000, 20_000, 30_000])
      })
    )
  )
})

describe("an attempt", () => {
  it.effect("of a transport that breaks is taken for lost, and its place is free at once", () =>
    story(
      (receivers) =>
        Effect.gen(function* () {
          receivers.answer = ({ number }) => (number <= 40 ? Effect.die("broken") : Effect.succeed(ARRIVED))
          yield* everywhere(8)
          const { id } = (yield* caller.register()).resource
          yield* Effect.forkScoped(Effect.provideService(webhookWorker, WebhookCapacity, 32))
          yield* tick
          assert.lengthOf(receivers.received, 40)
          yield* happen
          for (let count = 0; count < 120; count += 1) yield* tick
          assert.lengthOf(receivers.received, 81)
          assert.deepStrictEqual(
            (yield* deliveriesOf(id)).map(({ attempts }) => attempts.map(({ status }) => status)),
            [[204]]
          )
        }),
      false
    )
  )

  it.effect("is logged with its result, its delivery, and its endpoint", () => {
    const logged: Array<Record<string, unknown>> = []
    const logger = Logger.make<unknown, void>(({ fiber, message }) => {
      logged.push({ message, ...fiber.getRef(References.CurrentLogAnnotations) })
    })
    return story(
      (receivers) =>
        Effect.gen(function* () {
          receivers.answer = ({ number }) =>
            Effect.succeed(number === 1 ? FAILED : { error: "timeout", durationMs: 15_000 })
          const { id } = (yield* caller.register()).resource
          yield* happen
          yield* Effect.forkScoped(
            webhookWorker.pipe(
              Effect.provide(Logger.layer([logger])),
              Effect.provideService(References.MinimumLogLevel, "Debug")
            )
          )
          for (let count = 0; count < 40; count += 1) yield* tick
          const [delivery] = yield* deliveriesOf(id)
          const annotations = {
            organization_id: organization,
            webhook_endpoint_id: id,
            delivery_id: delivery!.id,
            event_id: delivery!.event_id
          }
          assert.deepStrictEqual(logged, [
            { message: ["webhook attempt", { status: 500, error: null }], ...annotations },
            { message: ["webhook attempt", { status: null, error: "timeout" }], ...annotations }
          ])
        }),
      false
    )
  })
})

describe("what a caller asks for", () => {
  it.effect("a redelivery is a new delivery of the same event and bytes", () =>
    story((receivers) =>
      Effect.gen(function* () {
        const { id } = (yield* caller.register()).resource
        yield* happen
        yield* tick
        const [delivered] = yield* deliveriesOf(id)
        const again = yield* redeliverWebhook({
          ...caller.writeOf({}, "again"),
          endpointId: id,
          deliveryId: delivered!.id
        })
        assert.deepInclude(again.resource, { state: "pending", event_id: delivered!.event_id, attempts: [] })
        assert.notStrictEqual(again.resource.id, delivered!.id)
        yield* tick
        const [first, second, ...others] = receivers.received
        assert.deepStrictEqual([second!.body, others], [first!.body, []])
      })
    )
  )

  it.effect("a test can be sent once more too, when it has ended", () =>
    story((receivers) =>
      Effect.gen(function* () {
        const { id } = (yield* caller.register()).resource
        const { resource } = yield* testWebhookEndpoint({ ...caller.writeOf({}), endpointId: id })
        yield* tick
        const again = yield* redeliverWebhook({
          ...caller.writeOf({}),
          endpointId: id,
          deliveryId: resource.id
        })
        assert.deepInclude(again.resource, { event_id: resource.event_id, event_type: "endpoint.test" })
        yield* tick
        const [first, second, ...others] = receivers.received
        assert.deepStrictEqual([second!.body, others], [first!.body, []])
      })
    )
  )

  it.effect("a redelivery of what waits, or at an endpoint that is not active, is refused by name", () =>
    story(
      () =>
        Effect.gen(function* () {
          const { id } = (yield* caller.register()).resource
          yield* happen
          const [waiting] = yield* deliveriesOf(id)
          const redeliver = redeliverWebhook({
            ...caller.writeOf({}, ""),
            endpointId: id,
            deliveryId: waiting!.id
          })
          assert.deepInclude(yield* Effect.flip(redeliver), {
            _tag: "StateConflict",
            currentState: "pending",
            resourceId: waiting!.id
          })
          yield* caller.remove(id)
          const deleted = { _tag: "StateConflict", currentState: "deleted", resourceId: id } as const
          assert.deepInclude(yield* Effect.flip(redeliver), deleted)
          const test = testWebhookEndpoint({ ...caller.writeOf({}, ""), endpointId: id })
          assert.deepInclude(yield* Effect.flip(test), deleted)
        }),
      false
    )
  )

  it.effect("a test is one attempt, which says whether it arrived", () =>
    story((receivers) =>
      Effect.gen(function* () {
        receivers.answer = ({ number }) => Effect.succeed(number === 1 ? FAILED : ARRIVED)
        const { id } = (yield* caller.register({ event_types: ["mandate.revoked"] })).resource
        const send = (key: string) => testWebhookEndpoint({ ...caller.writeOf({}, key), endpointId: id })
        const failed = yield* send("one")
        assert.strictEqual(failed.resource.event_type, "endpoint.test")
        yield* TestClock.adjust("1 hour")
        assert.lengthOf(receivers.received, 1)
        const replay = yield* send("one")
        assert.isTrue(replay.replayed)
        assert.deepInclude(replay.resource, { id: failed.resource.id, state: "exhausted" })
        const { consecutive_exhausted_deliveries, consecutive_failed_attempts } = yield* endpointOf(id)
        assert.deepStrictEqual([consecutive_failed_attempts, consecutive_exhausted_deliveries], [1, 0])
        yield* send("two")
        yield* tick
        assert.deepInclude(JSON.parse(receivers.received[1]!.body), {
          type: "endpoint.test",
          data: { mandate_id: "mnd_00000000000000000000000000", version: 0 }
        })
        assert.strictEqual((yield* endpointOf(id)).consecutive_failed_attempts, 0)
      })
    )
  )
})

it.effect("what is due can be attempted until nothing is, by a host that moves its own clock", () =>
  story(
    (receivers) =>
      Effect.gen(function* () {
        receivers.answer = ({ number }) => Effect.succeed(number === 1 ? FAILED : ARRIVED)
        yield* caller.register()
        assert.strictEqual(yield* attempted, 0)
        yield* happen
        yield* happen
        assert.strictEqual(yield* attempted, 2)
        assert.strictEqual(yield* attempted, 0)
        yield* TestClock.adjust("36 seconds")
        assert.strictEqual(yield* attempted, 1)
        assert.lengthOf(receivers.received, 3)
      }),
    false
  )
)

it("a worker can be held to 32 to 1024 attempts under way", () => {
  for (const attempts of [32, 33, 1024]) assert.isTrue(isWebhookCapacity(attempts))
  for (const attempts of [31, 32.5, 1025, Number.NaN]) assert.isFalse(isWebhookCapacity(attempts))
})

describe("hints", () => {
  it.effect("wake those who wait for more of them than there were", () =>
    Effect.gen(function* () {
      const { beyond, count, notify } = makeWakeUp()
      notify()
      yield* beyond(0)
      const waiting = yield* Effect.forkChild(beyond(count()), { startImmediately: true })
      const gone = yield* Effect.forkChild(beyond(count()), { startImmediately: true })
      yield* Fiber.interrupt(gone)
      assert.isUndefined(waiting.pollUnsafe())
      notify()
      yield* Fiber.join(waiting)
      assert.strictEqual(count(), 2)
    })
  )
})
