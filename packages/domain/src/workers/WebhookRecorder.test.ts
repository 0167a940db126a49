import { assert, describe, it } from "@effect/vitest"
import { NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import { Deferred, Effect, FiberSet } from "effect"
import { TestClock } from "effect/testing"
import { fromTheStart } from "../../test/MemoryPrograms.ts"
import {
  attemptsAfter,
  attemptsCaller as caller,
  endsOf,
  failuresOf,
  LEASE_SECONDS,
  leased,
  watchedAttempts
} from "../../test/WatchedAttempts.ts"
import { ARRIVED, FAILED } from "../../test/WebhookReceivers.ts"
import { StoreUnavailable } from "../ports/MandateStore.ts"
import { Randomness } from "../ports/Randomness.ts"
import type { EndedAttempts, LeasedDelivery, WebhookStore } from "../ports/WebhookStore.ts"
import { retryDelay } from "../webhook/DeliverySchedule.ts"
import { makeRecorder } from "./WebhookRecorder.ts"
import { IDLE_PAUSE_MILLISECONDS } from "./WorkerPause.ts"

const UNAVAILABLE = Effect.fail(new StoreUnavailable({}))

/** A recorder, and how many attempts it has settled. */
const makeCounted = Effect.gen(function* () {
  const fibers = yield* FiberSet.make<void>()
  const run = yield* FiberSet.runtime(fibers)<WebhookStore | Randomness>()
  const counted = { settled: 0 }
  const begin = makeRecorder({
    run,
    settled: (count) => {
      counted.settled += count
    }
  })
  return { begin, counted }
})

const milliseconds = (count: number) => TestClock.adjust(count)

/** Lets what was begun run as far as it does without time passing. */
const settle = milliseconds(0)

/** The endpoints of each write, by their host names, with how many ends of theirs it records. */
const namesOf = (writes: ReadonlyArray<ReadonlyArray<EndedAttempts>>) =>
  writes.map((write) =>
    write
      .map(({ deliveries, endpoint }) => `${new URL(endpoint.url).hostname} ${deliveries.length}`)
      .toSorted()
  )

/** Registers an endpoint for each name, and opens an attempt at each of them for each event. */
const attemptsAt = (names: ReadonlyArray<string>, events = 1) =>
  Effect.gen(function* () {
    for (const name of names) yield* caller.register({ url: `https://${name}/` })
    const attempts = yield* attemptsAfter(events)
    return names.map((name) => attempts.filter(({ endpoint }) => endpoint.url === `https://${name}/`))
  })

describe("ends of attempts", () => {
  it.effect("of one endpoint are recorded at once, and those of the next ten milliseconds together", () => {
    const { layer, writes } = watchedAttempts()
    return Effect.gen(function* () {
      yield* fromTheStart
      const { begin, counted } = yield* makeCounted
      const [first, second, third] = (yield* leased(3)).map(begin)
      yield* first!.ended(FAILED)
      yield* settle
      assert.deepStrictEqual(namesOf(writes), [["hooks.example 1"]])
      yield* second!.ended(FAILED)
      yield* milliseconds(6)
      yield* third!.ended(FAILED)
      yield* settle
      assert.lengthOf(writes, 1)
      yield* milliseconds(6)
      assert.deepStrictEqual(namesOf(writes), [["hooks.example 1"], ["hooks.example 2"]])
      assert.strictEqual(counted.settled, 3)
      yield* milliseconds(1000)
      assert.lengthOf(writes, 2)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("of more than a few attempts wait for half of them, at most for 20 milliseconds", () => {
    const { layer, writes } = watchedAttempts()
    return Effect.gen(function* () {
      yield* fromTheStart
      const { begin, counted } = yield* makeCounted
      const attempts = (yield* leased(20)).map(begin)
      const end = (from: number, to: number) =>
        Effect.forEach(attempts.slice(from, to), ({ ended }) => ended(ARRIVED), { discard: true })
      yield* end(0, 1)
      yield* milliseconds(8)
      yield* end(1, 9)
      yield* milliseconds(8)
      assert.lengthOf(writes, 0)
      yield* end(9, 10)
      yield* settle
      assert.deepStrictEqual(namesOf(writes), [["hooks.example 10"]])
      yield* milliseconds(100)
      yield* end(10, 11)
      yield* milliseconds(19)
      assert.lengthOf(writes, 1)
      yield* milliseconds(1)
      assert.deepStrictEqual(namesOf(writes.slice(1)), [["hooks.example 1"]])
      yield* milliseconds(100)
      yield* end(11, 12)
      yield* milliseconds(20)
      yield* milliseconds(100)
      assert.lengthOf(writes, 3)
      // No more than a few are left.
      yield* end(12, 13)
      yield* settle
      assert.lengthOf(writes, 4)
      assert.strictEqual(counted.settled, 13)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("of several endpoints are one write, without those whose attempts are still under way", () => {
    const { layer, writes } = watchedAttempts()
    return Effect.gen(function* () {
      yield* fromTheStart
      const { begin, counted } = yield* makeCounted
      const names = ["first.example", "a.example", "b.example", "slow.example"]
      const [first, a, b, slow] = (yield* attemptsAt(names)).flat().map(begin)
      yield* first!.ended(ARRIVED)
      yield* settle
      yield* a!.ended(FAILED)
      yield* b!.ended(ARRIVED)
      yield* milliseconds(1000)
      assert.deepStrictEqual(namesOf(writes), [["first.example 1"], ["a.example 1", "b.example 1"]])
      assert.strictEqual(counted.settled, 3)
      yield* slow!.ended(FAILED)
      yield* settle
      assert.deepStrictEqual(namesOf(writes.slice(2)), [["slow.example 1"]])
      assert.strictEqual(counted.settled, 4)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("count as of the last of them, so that an endpoint's records never turn back", () => {
    const { layer, writes } = watchedAttempts()
    const even = Randomness.of({ bytes: (count) => new Uint8Array(count) })
    return Effect.gen(function* () {
      yield* fromTheStart
      const { begin } = yield* Effect.provideService(makeCounted, Randomness, even)
      const leases = yield* leased(3)
      const [first, one, other] = leases.map(begin)
      yield* first!.ended(ARRIVED)
      yield* settle
      yield* one!.ended({ status: 500, durationMs: 4000.5 })
      yield* other!.ended({ status: 500, durationMs: 1000 })
      yield* milliseconds(20)
      const last = leases[0]!.delivery.open!.at + 4001n * NANOS_PER_MILLISECOND
      assert.deepStrictEqual(
        writes[1]!.flatMap(({ deliveries }) => deliveries.map(({ next }) => next.nextAttemptAt)),
        [last + retryDelay(1, 0), last + retryDelay(1, 0)]
      )
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("wait for the write of their endpoint that is under way, and are then recorded together", () => {
    const open = Deferred.makeUnsafe<void>()
    const { layer, writes } = watchedAttempts(() => Deferred.await(open))
    return Effect.gen(function* () {
      yield* fromTheStart
      const { begin, counted } = yield* makeCounted
      const [first, ...others] = (yield* leased(3)).map(begin)
      yield* first!.ended(FAILED)
      yield* settle
      for (const { ended } of others) yield* ended(FAILED)
      yield* milliseconds(100)
      assert.deepStrictEqual(namesOf(writes), [["hooks.example 1"]])
      yield* Deferred.succeed(open, undefined)
      yield* milliseconds(100)
      assert.deepStrictEqual(namesOf(writes.slice(1)), [["hooks.example 2"]])
      assert.strictEqual(counted.settled, 3)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("of further endpoints wait for a write of several that is under way", () => {
    const open = Deferred.makeUnsafe<void>()
    const { layer, writes } = watchedAttempts((write) =>
      write.length > 1 ? Deferred.await(open) : Effect.void
    )
    return Effect.gen(function* () {
      yield* fromTheStart
      const { begin, counted } = yield* makeCounted
      const names = ["first.example", "a.example", "b.example", "c.example", "d.example"]
      const [first, a, b, c, d] = (yield* attemptsAt(names)).flat().map(begin)
      yield* first!.ended(ARRIVED)
      yield* settle
      for (const { ended } of [a!, b!]) yield* ended(FAILED)
      for (const { ended } of [c!, d!]) {
        yield* milliseconds(100)
        yield* ended(FAILED)
      }
      yield* milliseconds(100)
      assert.deepStrictEqual(namesOf(writes), [["first.example 1"], ["a.example 1", "b.example 1"]])
      yield* Deferred.succeed(open, undefined)
      yield* milliseconds(100)
      assert.deepStrictEqual(namesOf(writes.slice(2)), [["c.example 1", "d.example 1"]])
      assert.strictEqual(counted.settled, 5)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("of an endpoint that was changed meanwhile are recorded alone, and the others once", () => {
    const { layer, writes } = watchedAttempts()
    return Effect.gen(function* () {
      yield* fromTheStart
      const { begin, counted } = yield* makeCounted
      const attempts = (yield* attemptsAt(["first.example", "a.example", "b.example"])).flat()
      const [first, a, b] = attempts.map(begin)
      const { id } = attempts[1]!.endpoint
      yield* caller.rotate(id)
      yield* first!.ended(ARRIVED)
      yield* settle
      yield* a!.ended(FAILED)
      yield* b!.ended(FAILED)
      yield* milliseconds(100)
      // In vain, and once more from the endpoint as it is.
      const alone = ["a.example 1"]
      assert.deepStrictEqual(namesOf(writes.slice(1)), [["a.example 1", "b.example 1"], alone, alone])
      assert.strictEqual(counted.settled, 3)
      assert.strictEqual(yield* failuresOf(id), 1)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("go on from the newest that is known of their endpoint", () => {
    const { layer, writes } = watchedAttempts()
    return Effect.gen(function* () {
      yield* fromTheStart
      const { begin } = yield* makeCounted
      const [[first], [older]] = (yield* attemptsAt(["first.example", "a.example"])) as [
        [LeasedDelivery],
        [LeasedDelivery]
      ]
      yield* caller.rotate(older.endpoint.id)
      const later = yield* attemptsAfter(2)
      const [newer, newest] = later.filter(({ endpoint }) => endpoint.id === older.endpoint.id)
      assert.isAbove(newer!.revision, older.revision)
      const { endpoint, revision } = older
      // The last was read before the change, and is heard of after it.
      const attempts = [older, newer!, { ...newest!, endpoint, revision }].map(begin)
      yield* begin(first).ended(ARRIVED)
      yield* settle
      for (const { ended } of attempts) yield* ended(FAILED)
      yield* milliseconds(20)
      assert.deepStrictEqual(namesOf(writes.slice(1)), [["a.example 3"]])
      assert.strictEqual(yield* failuresOf(older.endpoint.id), 3)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })
})

describe("ends of attempts that cannot be recorded", () => {
  it.effect("are tried again alone, while others are recorded together", () => {
    let isAway = true
    const { layer, logged, writes } = watchedAttempts(() => (isAway ? UNAVAILABLE : Effect.void))
    return Effect.gen(function* () {
      yield* fromTheStart
      const { begin, counted } = yield* makeCounted
      const leases = yield* attemptsAt(["a.example", "b.example", "c.example", "d.example"])
      const [a, b, c, d] = leases.flat().map(begin)
      yield* a!.ended(FAILED)
      yield* settle
      assert.deepStrictEqual(logged, [
        {
          message: "ends of webhook attempts are not recorded",
          organization_id: caller.organization.id,
          webhook_endpoint_id: leases[0]![0]!.endpoint.id,
          tried_again: 1,
          lost: 0
        }
      ])
      isAway = false
      yield* milliseconds(IDLE_PAUSE_MILLISECONDS - 1)
      yield* b!.ended(FAILED)
      yield* settle
      // Within ten milliseconds of that write, so that all of them are ready at once.
      for (const { ended } of [c!, d!]) yield* ended(FAILED)
      yield* milliseconds(20)
      assert.deepStrictEqual(namesOf(writes.slice(0, 2)), [["a.example 1"], ["b.example 1"]])
      assert.sameDeepMembers(namesOf(writes.slice(2)), [["a.example 1"], ["c.example 1", "d.example 1"]])
      assert.strictEqual(counted.settled, 4)
      for (const lease of leases.flat()) assert.deepStrictEqual(yield* endsOf(lease.endpoint.id), [[500]])
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("are given up when their leases have run out, and the next begin afresh", () => {
    let isAway = true
    const { layer, logged, writes } = watchedAttempts(() => (isAway ? UNAVAILABLE : Effect.void))
    return Effect.gen(function* () {
      yield* fromTheStart
      const { begin, counted } = yield* makeCounted
      const attempts = yield* leased(2)
      const [first, abandoned] = attempts.map(begin)
      yield* abandoned!.abandoned
      assert.strictEqual(counted.settled, 1)
      yield* first!.ended(FAILED)
      yield* milliseconds(Number(LEASE_SECONDS) * 1000 - 1)
      assert.strictEqual(counted.settled, 1)
      yield* milliseconds(1)
      assert.strictEqual(counted.settled, 2)
      assert.deepInclude(logged.at(-1), { tried_again: 0, lost: 1 })

      const before = writes.length
      const [next] = (yield* attemptsAfter(1)).map(begin)
      yield* next!.ended(ARRIVED)
      yield* milliseconds(20)
      assert.lengthOf(writes, before + 1)
      isAway = false
      yield* milliseconds(IDLE_PAUSE_MILLISECONDS)
      assert.lengthOf(writes, before + 2)
      assert.strictEqual(counted.settled, 3)
      assert.strictEqual(yield* failuresOf(attempts[0]!.endpoint.id), 0)
    }).pipe(Effect.scoped, Effect.provide(layer))
  })
})
