import { assert, describe, it } from "@effect/vitest"
import { Effect, References } from "effect"
import { inSpan } from "./InSpan.ts"

const currentName = Effect.map(Effect.option(Effect.currentSpan), (span) =>
  span._tag === "Some" ? span.value.name : "none"
)

describe("the span of a program", () => {
  it.effect("has its name, and ends with it", () =>
    Effect.gen(function* () {
      const program = Effect.fnUntraced(function* () {
        return yield* currentName
      }, inSpan("readSomething"))
      assert.strictEqual(yield* program(), "readSomething")
      assert.strictEqual(yield* currentName, "none")
    })
  )

  it.effect("is not made where none is collected", () =>
    currentName.pipe(
      inSpan("readSomething"),
      Effect.provideService(References.TracerEnabled, false),
      Effect.map((name) => assert.strictEqual(name, "none"))
    )
  )
})
