import { assert, describe, it } from "@effect/vitest"
import { EventFeed, FEED_START, PositionRefused } from "@svc/domain/ports/EventFeed"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { storeContract } from "@svc/testkit/StoreContract"
import { recordMandate } from "@svc/testkit/store-contract/StoreUnderTest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryStore from "./MemoryStore.ts"

storeContract("MemoryStore", () => MemoryStore.layer, { clock: "test" })
storeContract("MemoryStore", () => MemoryStore.layer, { clock: "live" })

const now = Effect.gen(function* () {
  const store = yield* MandateStore
  return (yield* store.load({ organization: "org" })).now
})

describe("the feed of MemoryStore", () => {
  it.effect("takes no position of another store, which has another history", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 0))
      const [one, other] = [
        yield* Layer.build(Layer.fresh(MemoryStore.layer)),
        yield* Layer.build(MemoryStore.layer)
      ]
      const { stream } = yield* Effect.provideContext(recordMandate(), one)
      const { organization } = stream
      yield* Effect.provideContext(recordMandate({ organization }), other)
      const query = { organization, limit: 1, bytes: 1 }
      const { position } = yield* Context.get(one, EventFeed).read({ ...query, after: FEED_START })
      assert.deepStrictEqual(
        yield* Effect.flip(Context.get(other, EventFeed).read({ ...query, after: position })),
        new PositionRefused({ reason: "history_changed" })
      )
    })
  )
})

describe("the clock of MemoryStore", () => {
  it.live("is the wall clock, in nanoseconds since the epoch", () =>
    Effect.gen(function* () {
      const behind = BigInt(Date.now()) * 1_000_000n - (yield* now)
      assert.isBelow(Math.abs(Number(behind)), Number(5n * NANOS_PER_SECOND))
    }).pipe(Effect.provide(MemoryStore.layer))
  )

  it.effect("stands still while the wall clock is behind what it has shown", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(2_000_000)
      assert.strictEqual(yield* now, 2_000n * NANOS_PER_SECOND)
      yield* TestClock.setTime(1_000_000)
      assert.strictEqual(yield* now, 2_000n * NANOS_PER_SECOND)
      yield* TestClock.setTime(2_000_001)
      assert.strictEqual(yield* now, 2_000n * NANOS_PER_SECOND + 1_000_000n)
    }).pipe(Effect.provide(MemoryStore.layer))
  )
})
