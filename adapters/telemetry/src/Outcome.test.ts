import { assert, describe, it } from "@effect/vitest"
import { Stale, StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { Cause, Effect, Exit, Fiber } from "effect"
import { resultOf, timed } from "./Outcome.ts"

const RESULTS: ReadonlyArray<readonly [string, Exit.Exit<unknown, unknown>]> = [
  ["ok", Exit.succeed(1)],
  ["stale", Exit.fail(new Stale())],
  ["store_unavailable", Exit.fail(new StoreUnavailable({ cause: "svc_test_secret" }))],
  ["defect", Exit.die(new Error("svc_test_secret"))],
  ["defect", Exit.fail("svc_test_secret")],
  ["interrupted", Exit.failCause(Cause.interrupt(1))]
]

describe("the result of a call", () => {
  it.each(RESULTS)("is %s", (result, exit) => assert.strictEqual(resultOf(exit), result))
})

describe("a timed call", () => {
  it.effect("is timed once, and ends as it would", () =>
    Effect.gen(function* () {
      const ends: Array<string> = []
      const noted = <A, E>(effect: Effect.Effect<A, E>) =>
        timed(effect, (exit, seconds) => {
          assert.isAtLeast(seconds, 0)
          ends.push(resultOf(exit))
        })
      assert.strictEqual(yield* noted(Effect.succeed(7)), 7)
      assert.instanceOf(yield* Effect.flip(noted(Effect.fail(new Stale()))), Stale)
      const waiting = yield* Effect.forkChild(noted(Effect.never), { startImmediately: true })
      yield* Fiber.interrupt(waiting)
      assert.deepStrictEqual(ends, ["ok", "stale", "interrupted"])
    })
  )
})
