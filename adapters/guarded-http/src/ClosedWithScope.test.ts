import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { closedWithScope } from "./ClosedWithScope.ts"

describe("what is made in a scope", () => {
  it.effect("is closed with it, once, in reverse order", () =>
    Effect.gen(function* () {
      const closed: Array<string> = []
      const scope = yield* Scope.make()
      for (const name of ["first", "second"]) {
        const made = yield* closedWithScope(
          () => name,
          (one) => Effect.sync(() => closed.push(one))
        ).pipe(Scope.provide(scope))
        assert.strictEqual(made, name)
      }
      assert.deepStrictEqual(closed, [])
      yield* Scope.close(scope, Exit.void)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(closed, ["second", "first"])
    })
  )

  it.effect("is closed when its maker is interrupted", () =>
    Effect.gen(function* () {
      const closed: Array<string> = []
      const fiber = yield* closedWithScope(
        () => "made",
        (one) => Effect.sync(() => closed.push(one))
      ).pipe(Effect.andThen(Effect.never), Effect.scoped, Effect.forkChild({ startImmediately: true }))
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(closed, ["made"])
    })
  )
})
