import { assert, describe, it } from "@effect/vitest"
import { NANOS_PER_MILLISECOND, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { pauseAfterFailures, sleepUntilElapsed } from "./WorkerPause.ts"

describe("a worker's pause", () => {
  it("after failures in a row doubles from a second to fifteen", () => {
    assert.deepStrictEqual(
      [1, 2, 3, 4, 5, 60].map(pauseAfterFailures),
      [1000, 2000, 4000, 8000, 15_000, 15_000]
    )
  })

  it.effect("lasts until a time has elapsed since then, to the next millisecond", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1000)
      const since = yield* Clock.monotonicTimeNanos
      const sleeping = yield* Effect.forkChild(sleepUntilElapsed(since, 5n * NANOS_PER_MILLISECOND), {
        startImmediately: true
      })
      yield* TestClock.adjust(5)
      assert.isUndefined(sleeping.pollUnsafe())
      yield* TestClock.adjust(1)
      yield* Fiber.join(sleeping)
    })
  )

  it.effect("is none once the time has elapsed, or if there was nothing before", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(10_000)
      const now = yield* Clock.monotonicTimeNanos
      yield* sleepUntilElapsed(now - NANOS_PER_SECOND, NANOS_PER_SECOND)
      yield* sleepUntilElapsed(0n, now + NANOS_PER_SECOND)
      assert.strictEqual(yield* Clock.monotonicTimeNanos, now)
    })
  )
})
