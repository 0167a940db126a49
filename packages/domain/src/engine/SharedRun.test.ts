import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Scope } from "effect"
import { sharedRun } from "./SharedRun.ts"

/** A run that ends when it is told to, with its number. */
const numberedRuns = Effect.gen(function* () {
  const gate = yield* Deferred.make<void>()
  let runs = 0
  const run = Effect.suspend(() => {
    runs += 1
    return Effect.as(Deferred.await(gate), runs)
  })
  return { run, end: Deferred.succeed(gate, undefined) }
})

describe("a shared run", () => {
  it.effect("serves all who come while it is under way, and the next one starts another", () =>
    Effect.gen(function* () {
      const { end, run } = yield* numberedRuns
      const shared = sharedRun(run, yield* Scope.make())
      const first = yield* Effect.forkChild(shared, { startImmediately: true })
      const second = yield* Effect.forkChild(shared, { startImmediately: true })
      yield* end
      assert.deepStrictEqual([yield* Fiber.join(first), yield* Fiber.join(second)], [1, 1])
      assert.strictEqual(yield* shared, 2)
      assert.strictEqual(yield* shared, 3)
    })
  )

  it.effect("goes on for the others when the one that started it is interrupted", () =>
    Effect.gen(function* () {
      const { end, run } = yield* numberedRuns
      const shared = sharedRun(run, yield* Scope.make())
      const first = yield* Effect.forkChild(shared, { startImmediately: true })
      const second = yield* Effect.forkChild(shared, { startImmediately: true })
      yield* Fiber.interrupt(first)
      yield* end
      assert.strictEqual(yield* Fiber.join(second), 1)
    })
  )

  it.effect("that ends before it waits for anything leaves nothing behind", () =>
    Effect.gen(function* () {
      let runs = 0
      const shared = sharedRun(
        Effect.sync(() => {
          runs += 1
          return runs
        }),
        yield* Scope.make()
      )
      assert.deepStrictEqual([yield* shared, yield* shared], [1, 2])
    })
  )
})
