import { assert, describe, it } from "@effect/vitest"
import { Effect, Tracer } from "effect"
import * as Tracing from "./Tracing.ts"

/** How many spans a program makes. */
const spansOf = Effect.fnUntraced(function* (program: Effect.Effect<unknown>) {
  let spans = 0
  const counting = Tracer.make({
    span: (options) => {
      spans += 1
      return new Tracer.NativeSpan(options)
    }
  })
  yield* Effect.provideService(program, Tracer.Tracer, counting)
  return spans
})

describe("without a tracer", () => {
  it.effect("no span is made", () =>
    Effect.gen(function* () {
      const program = Effect.withSpan(Effect.fn("named")(() => Effect.void)(), "around")
      assert.strictEqual(yield* spansOf(program), 2)
      assert.strictEqual(yield* spansOf(Effect.provide(program, Tracing.layer)), 0)
    })
  )
})
