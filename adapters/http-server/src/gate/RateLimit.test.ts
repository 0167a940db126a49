import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { layer, layerOff, RateLimit } from "./RateLimit.ts"

const take = (key: string) => Effect.flatMap(RateLimit, (limit) => limit.take(key))

describe("RateLimit (part 9)", () => {
  it.effect("allows a burst at once and then the rate", () =>
    Effect.gen(function* () {
      for (let taken = 0; taken < 4; taken++) assert.isTrue((yield* take("a")).allowed)
      assert.isFalse((yield* take("a")).allowed)
      yield* TestClock.adjust("500 millis")
      assert.isTrue((yield* take("a")).allowed)
      assert.isFalse((yield* take("a")).allowed)
      yield* TestClock.adjust("1 hour")
      for (let taken = 0; taken < 4; taken++) assert.isTrue((yield* take("a")).allowed)
      assert.isFalse((yield* take("a")).allowed)
    }).pipe(Effect.provide(layer({ rate: 2, burst: 4 })))
  )

  it.effect("counts each API key by itself", () =>
    Effect.gen(function* () {
      assert.isTrue((yield* take("a")).allowed)
      assert.isFalse((yield* take("a")).allowed)
      assert.isTrue((yield* take("b")).allowed)
    }).pipe(Effect.provide(layer({ rate: 1, burst: 1 })))
  )

  it.effect("can be switched off", () =>
    Effect.gen(function* () {
      for (let taken = 0; taken < 1000; taken++) assert.isTrue((yield* take("a")).allowed)
    }).pipe(Effect.provide(layerOff))
  )

  it.effect("states what is left and, on a refusal, when to retry", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* take("a")).headers, {
        ratelimit: '"api-key";r=1;t=4',
        "ratelimit-policy": '"api-key";q=2;w=8',
        "ratelimit-limit": "2",
        "ratelimit-remaining": "1",
        "ratelimit-reset": "4"
      })
      assert.strictEqual((yield* take("a")).headers.ratelimit, '"api-key";r=0;t=8')
      assert.deepStrictEqual((yield* take("a")).headers, {
        "retry-after": "4",
        ratelimit: '"api-key";r=0;t=4',
        "ratelimit-policy": '"api-key";q=2;w=8',
        "ratelimit-limit": "2",
        "ratelimit-remaining": "0",
        "ratelimit-reset": "4"
      })
    }).pipe(Effect.provide(layer({ rate: 0.25, burst: 2 })))
  )

  it.effect("sends no headers without a limit", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* take("a")).headers, {})
    }).pipe(Effect.provide(layerOff))
  )
})
