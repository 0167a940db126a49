import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { fromTheStart } from "../../test/MemoryPrograms.ts"
import {
  attemptsCaller as caller,
  endedWith,
  endsOf,
  failuresOf,
  leased,
  watchedAttempts
} from "../../test/WatchedAttempts.ts"
import { ARRIVED, FAILED } from "../../test/WebhookReceivers.ts"
import { type LeasedDelivery, WebhookStore } from "../ports/WebhookStore.ts"
import type { AttemptResult } from "../webhook/WebhookDelivery.ts"
import { MAX_FAILED_ATTEMPTS } from "../webhook/WebhookEndpoint.ts"
import { EXPIRED_BATCH, recordEnds, recordEndsTogether, recordLostAttempts } from "./WebhookAttempts.ts"

const organization = caller.organization.id

const now = Clock.currentTimeNanos

/** Another worker records an end of the endpoint first. */
const recordedFirst = (leases: ReadonlyArray<LeasedDelivery>, result: AttemptResult) =>
  Effect.gen(function* () {
    return yield* recordEnds(leases[0]!, endedWith(leases, result), yield* now)
  })

describe("the ends of attempts of one endpoint", () => {
  it.effect("are recorded in one write, and the endpoint is as it is then", () => {
    const { layer, writes } = watchedAttempts()
    return Effect.gen(function* () {
      yield* fromTheStart
      const attempts = yield* leased(3)
      const { endpoint, revision } = yield* recordEnds(attempts[0]!, endedWith(attempts, FAILED), yield* now)
      assert.strictEqual(endpoint.consecutiveFailedAttempts, 3)
      assert.strictEqual(revision, attempts[0]!.revision + 1)
      assert.strictEqual(yield* failuresOf(endpoint.id), 3)
      assert.deepStrictEqual(yield* endsOf(endpoint.id), [[500], [500], [500]])
      assert.lengthOf(writes, 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("count on top of what another worker has recorded meanwhile", () => {
    const { layer, writes } = watchedAttempts()
    return Effect.gen(function* () {
      yield* fromTheStart
      const [other, ...own] = yield* leased(3)
      yield* recordedFirst([other!], FAILED)
      const { endpoint, revision } = yield* recordEnds(own[0]!, endedWith(own, FAILED), yield* now)
      assert.strictEqual(endpoint.consecutiveFailedAttempts, 3)
      assert.strictEqual(revision, own[0]!.revision + 2)
      assert.deepStrictEqual(yield* endsOf(endpoint.id), [[500], [500], [500]])
      // The other's, the one in vain, and the one that went on from the other's.
      assert.lengthOf(writes, 3)
    }).pipe(Effect.provide(layer))
  })

  it.effect("leave out an attempt that was taken for lost, is over, or of a delivery that is gone", () => {
    const { layer, writes } = watchedAttempts()
    return Effect.gen(function* () {
      yield* fromTheStart
      const [over, open] = yield* leased(2)
      yield* recordedFirst([over!], ARRIVED)
      const gone = { ...open!, delivery: { ...open!.delivery, id: "whd_gone" } }
      const stale = {
        ...open!,
        delivery: { ...open!.delivery, open: { ...open!.delivery.open!, token: "older" } }
      }
      const ended = endedWith([over!, gone, stale, open!], FAILED)
      const { endpoint } = yield* recordEnds(open!, ended, yield* now)
      assert.strictEqual(endpoint.consecutiveFailedAttempts, 1)
      assert.deepStrictEqual(yield* endsOf(endpoint.id), [[204], [500]])
      assert.deepStrictEqual(
        writes.at(-1)!.map(({ deliveries }) => deliveries.map(({ next }) => next.id)),
        [[open!.delivery.id]]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("need no write when none is open any more, however it was found out", () => {
    const { layer, writes } = watchedAttempts()
    return Effect.gen(function* () {
      yield* fromTheStart
      const attempts = yield* leased(1)
      const [known] = attempts
      const recorded = yield* recordedFirst(attempts, FAILED)
      const again = yield* recordEnds(known!, endedWith(attempts, FAILED), yield* now)
      assert.deepStrictEqual(again, { ...recorded })
      assert.lengthOf(writes, 2)
      const lost = yield* recordEnds(again, endedWith(attempts, "lost"), yield* now)
      assert.strictEqual(lost, again)
      assert.lengthOf(writes, 2)
      assert.strictEqual(yield* failuresOf(known!.endpoint.id), 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("are given up when the endpoint is gone", () => {
    const { layer, writes } = watchedAttempts()
    return Effect.gen(function* () {
      yield* fromTheStart
      const attempts = yield* leased(1)
      const gone = { ...attempts[0]!, endpoint: { ...attempts[0]!.endpoint, id: "whe_gone" } }
      assert.strictEqual(yield* recordEnds(gone, endedWith(attempts, FAILED), yield* now), gone)
      assert.lengthOf(writes, 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("are logged for the operator when they disable it, once", () => {
    const { layer, logged } = watchedAttempts()
    return Effect.gen(function* () {
      yield* fromTheStart
      const attempts = yield* leased(MAX_FAILED_ATTEMPTS + 1)
      const { endpoint } = attempts[0]!
      const all = endedWith(attempts, FAILED)
      const before = yield* recordEnds(attempts[0]!, all.slice(0, MAX_FAILED_ATTEMPTS - 1), yield* now)
      assert.deepStrictEqual(logged, [])
      const disabled = yield* recordEnds(before, all.slice(-2, -1), yield* now)
      yield* recordEnds(disabled, all.slice(-1), yield* now)
      assert.deepStrictEqual(logged, [
        {
          message: "a webhook endpoint is disabled",
          organization_id: organization,
          webhook_endpoint_id: endpoint.id,
          disabled_reason: "consecutive_failed_attempts"
        }
      ])
    }).pipe(Effect.provide(layer))
  })
})

describe("the ends of attempts of several endpoints", () => {
  it.effect("are recorded in one write, but for an endpoint that was changed meanwhile", () => {
    const { layer, logged, writes } = watchedAttempts()
    return Effect.gen(function* () {
      yield* fromTheStart
      const changed = yield* leased(MAX_FAILED_ATTEMPTS + 1, "https://one.example/")
      const later = yield* leased(MAX_FAILED_ATTEMPTS, "https://two.example/")
      const disabling = later.filter(({ endpoint }) => endpoint.url === "https://two.example/")
      yield* recordedFirst(changed.slice(0, 1), FAILED)
      writes.length = 0
      const at = yield* now
      const [first, second] = yield* recordEndsTogether([
        { known: changed[0]!, ended: endedWith(changed.slice(1), FAILED), now: at },
        { known: disabling[0]!, ended: endedWith(disabling, FAILED), now: at }
      ])
      assert.isUndefined(first)
      assert.strictEqual(second!.revision, disabling[0]!.revision + 1)
      assert.strictEqual(second!.endpoint.status, "disabled")
      assert.lengthOf(writes, 1)
      assert.strictEqual(yield* failuresOf(changed[0]!.endpoint.id), 1)
      assert.strictEqual(yield* failuresOf(disabling[0]!.endpoint.id), MAX_FAILED_ATTEMPTS)
      // The other would be disabled too, but nothing of it is recorded.
      assert.deepStrictEqual(
        logged.map(({ webhook_endpoint_id }) => webhook_endpoint_id),
        [second!.endpoint.id]
      )
    }).pipe(Effect.provide(layer))
  })
})

describe("attempts of lost workers", () => {
  it.effect("of several endpoints are ended in one write, each by its own endpoint", () => {
    const { layer, writes } = watchedAttempts()
    return Effect.gen(function* () {
      yield* fromTheStart
      const urls = ["https://one.example/", "https://two.example/", "https://three.example/"]
      for (const url of urls) yield* caller.register({ url })
      const attempts = yield* leased(2)
      const store = yield* WebhookStore
      const ids = [...new Set(attempts.map(({ endpoint }) => endpoint.id))]
      assert.strictEqual(yield* recordLostAttempts, 0)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* recordLostAttempts, 8)
      assert.lengthOf(writes, 1)
      assert.strictEqual(yield* recordLostAttempts, 0)
      assert.lengthOf((yield* store.expiredAttempts({ limit: 1000 })).expired, 0)
      for (const id of ids) {
        assert.deepStrictEqual(yield* endsOf(id), [["worker_lost"], ["worker_lost"]])
        assert.strictEqual(yield* failuresOf(id), 0)
      }
    }).pipe(Effect.provide(layer))
  })

  it.effect("of one that another session holds are ended all the same", () => {
    const { layer, writes } = watchedAttempts()
    return Effect.gen(function* () {
      yield* fromTheStart
      yield* caller.register({ url: "https://one.example/" })
      const attempts = yield* leased(1)
      yield* TestClock.adjust("1 minute")
      const store = yield* WebhookStore
      const held = attempts[0]!.endpoint.id
      const locked = WebhookStore.of({
        ...store,
        recordAttempts: (ended) =>
          Effect.map(
            store.recordAttempts(
              ended.length === 1 ? ended : ended.filter(({ endpoint }) => endpoint.id !== held)
            ),
            (revisions) =>
              ended.length === 1
                ? revisions
                : ended.map(({ endpoint }) => (endpoint.id === held ? undefined : revisions[0]))
          )
      })
      yield* Effect.provideService(recordLostAttempts, WebhookStore, locked)
      assert.deepStrictEqual(
        writes.map((write) => write.length),
        [1, 1]
      )
      for (const { endpoint } of attempts)
        assert.deepStrictEqual(yield* endsOf(endpoint.id), [["worker_lost"]])
    }).pipe(Effect.provide(layer))
  })

  it.effect("are ended a batch at a time", () => {
    const { layer } = watchedAttempts()
    return Effect.gen(function* () {
      yield* fromTheStart
      yield* leased(EXPIRED_BATCH + 1)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* recordLostAttempts, EXPIRED_BATCH)
      assert.strictEqual(yield* recordLostAttempts, 1)
    }).pipe(Effect.provide(layer))
  })
})
