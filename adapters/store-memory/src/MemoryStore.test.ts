import { assert, describe, it } from "@effect/vitest"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { storeContract } from "@svc/testkit/StoreContract"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryStore from "./MemoryStore.ts"

storeContract("MemoryStore", () => MemoryStore.layer, { clock: "test" })
storeContract("MemoryStore", () => MemoryStore.layer, { clock: "live" })

const now = Effect.gen(function* () {
  const store = yield* MandateStore
  return (yield* store.load({ organization: "org" })).now
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
