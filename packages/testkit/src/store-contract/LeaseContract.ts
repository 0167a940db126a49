import { DueLeases, type DueStream } from "@svc/domain/ports/DueLeases"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { NANOS_PER_SECOND, type Nanos } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { followingChange, HOUR, newDigest, newIdentifier } from "../StoreFixtures.ts"
import { assert } from "./Assert.ts"
import { recordDue } from "./DueContract.ts"
import { everyDue, loadCurrent, type StoreClock, type StoreIt } from "./StoreUnderTest.ts"

/** Far enough in the past for these streams to be leased before those that other tests left due. */
const LONG_AGO = 1000n * HOUR

let streamsMade = 0n

/** Streams of one organization each unless given, due since long ago and in this order. */
const recordEarliest = Effect.fnUntraced(function* (count: number, organization?: string) {
  const streams: Array<DueStream> = []
  streamsMade += 1000n
  const offset = streamsMade
  for (let at = 0; at < count; at++) {
    const of = organization ?? newIdentifier("org_")
    const mandate = yield* recordDue(of, (now) => now - LONG_AGO + (offset + BigInt(at)) * NANOS_PER_SECOND)
    streams.push({ organization: of, mandate })
  }
  return streams
})

const take = Effect.fnUntraced(function* (limit: number, lasts: Nanos = HOUR) {
  const leases = yield* DueLeases
  const token = newDigest()
  return { token, streams: yield* leases.take({ token, limit, lasts }) }
})

const release = (lease: { readonly token: string; readonly streams: ReadonlyArray<DueStream> }) =>
  Effect.flatMap(DueLeases, (leases) => leases.release(lease))

/** Leaves nothing due, since the earliest streams would be leased first in later tests. */
const settleAll = Effect.fnUntraced(function* (streams: ReadonlyArray<DueStream>) {
  const store = yield* MandateStore
  for (const stream of streams) {
    const current = yield* loadCurrent(stream)
    yield* store.append(followingChange(current, [], { nextDue: undefined }))
  }
})

const namesOf = (streams: ReadonlyArray<DueStream>): ReadonlyArray<string> =>
  streams.map(({ mandate, organization }) => `${organization} ${mandate}`)

export const leaseContract = (it: StoreIt, clock: StoreClock): void => {
  it.describe("leases", () => {
    it.effect("give the earliest due streams of many organizations, and each to one worker", () =>
      Effect.gen(function* () {
        const streams = yield* recordEarliest(5)
        const first = yield* take(2)
        const second = yield* take(2)
        const third = yield* take(1)
        assert.deepStrictEqual(first.streams, streams.slice(0, 2))
        assert.deepStrictEqual(second.streams, streams.slice(2, 4))
        assert.deepStrictEqual(third.streams, streams.slice(4))
        yield* Effect.forEach([first, second, third], release)
        yield* settleAll(streams)
      })
    )

    it.effect("are never held by two at once, however many workers take at the same time", () =>
      Effect.gen(function* () {
        const own = newIdentifier("org_")
        const streams = [...(yield* recordEarliest(20)), ...(yield* recordEarliest(20, own))]
        const held: Array<string> = []
        const worker = Effect.gen(function* () {
          for (;;) {
            const lease = yield* take(3)
            const mine = namesOf(lease.streams).filter((name) => namesOf(streams).includes(name))
            if (mine.length === 0) return yield* release(lease)
            held.push(...mine)
          }
        })
        // Where two want the same stream one of them may come away with less, so each asks more than once.
        yield* Effect.all(
          Array.from({ length: 6 }, () => worker),
          { concurrency: "unbounded", discard: true }
        )
        assert.strictEqual(new Set(held).size, held.length)
        yield* settleAll(streams)
      })
    )

    it.effect("are given back by their token, and only what it still holds", () =>
      Effect.gen(function* () {
        const streams = yield* recordEarliest(3)
        const lease = yield* take(3)
        yield* release({ token: newDigest(), streams })
        yield* release({ ...lease, streams: [] })
        yield* release({
          ...lease,
          streams: [{ organization: newIdentifier("org_"), mandate: streams[0]!.mandate }]
        })
        const due = namesOf(yield* everyDue)
        assert.isTrue(namesOf(streams).every((name) => !due.includes(name)))
        yield* release({ ...lease, streams: streams.slice(1) })
        const again = yield* take(2)
        assert.deepStrictEqual(again.streams, streams.slice(1))
        // The first holder's word does not count any more.
        yield* release(lease)
        const next = yield* take(3)
        assert.deepStrictEqual(next.streams[0], streams[0])
        assert.notInclude(namesOf(next.streams), namesOf(streams)[1])
        yield* Effect.forEach([again, next], release)
        yield* settleAll(streams)
      })
    )

    it.effect("that have run out are taken over", () =>
      Effect.gen(function* () {
        const streams = yield* recordEarliest(2)
        const lost = yield* take(2, 0n)
        const heir = yield* take(2)
        assert.deepStrictEqual([lost.streams, heir.streams], [streams, streams])
        yield* release(lost)
        const due = namesOf(yield* everyDue)
        assert.isTrue(namesOf(streams).every((name) => !due.includes(name)))
        yield* release(heir)
        yield* settleAll(streams)
      })
    )

    it.effect("do not keep anybody from recording, and end with what was due", () =>
      Effect.gen(function* () {
        const streams = yield* recordEarliest(1)
        const lease = yield* take(1)
        yield* settleAll(streams)
        yield* release(lease)
        assert.notInclude(namesOf(yield* everyDue), namesOf(streams)[0])
      })
    )

    it.effect("outlast a change of their stream, which may have more that is due", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const streams = yield* recordEarliest(1)
        const lease = yield* take(1)
        const current = yield* loadCurrent(streams[0]!)
        yield* store.append(followingChange(current, [], { nextDue: current.now - LONG_AGO }))
        const other = yield* take(1)
        assert.notInclude(namesOf(other.streams), namesOf(streams)[0])
        yield* Effect.forEach([other, lease], release)
        const heir = yield* take(1)
        assert.deepStrictEqual(heir.streams, streams)
        yield* release(heir)
        yield* settleAll(streams)
      })
    )

    if (clock === "test") {
      it.effect("run out at the very nanosecond, not before", () =>
        Effect.gen(function* () {
          const streams = yield* recordEarliest(1)
          yield* take(1, NANOS_PER_SECOND)
          yield* TestClock.adjust("999999999 nanos")
          assert.notInclude(namesOf(yield* everyDue), namesOf(streams)[0])
          yield* TestClock.adjust("1 nanos")
          const heir = yield* take(1)
          assert.deepStrictEqual(heir.streams, streams)
          yield* release(heir)
          yield* settleAll(streams)
        })
      )
    }
  })
}
