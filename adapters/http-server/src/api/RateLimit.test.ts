import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { layer, layerOff, RateLimit, rateLimitHeaders } from "./RateLimit.ts"

const take = (key: string) => Effect.flatMap(RateLimit, (limit) => limit.take(key))

describe("a token bucket", () => {
  it.effect("gives its burst at once and its rate from then on", () =>
    Effect.gen(function* () {
      for (let taken = 0; taken < 4; taken++) assert.isTrue((yield* take("a")).allowed)
      assert.deepStrictEqual(yield* take("a"), { allowed: false, retryAfterSeconds: 1 })
      yield* TestClock.adjust("500 millis")
      assert.isTrue((yield* take("a")).allowed)
      assert.isFalse((yield* take("a")).allowed)
      yield* TestClock.adjust("1 hour")
      for (let taken = 0; taken < 4; taken++) assert.isTrue((yield* take("a")).allowed)
      assert.isFalse((yield* take("a")).allowed)
    }).pipe(Effect.provide(layer({ rate: 2, burst: 4 })))
  )

  it.effect("is one for each API key", () =>
    Effect.gen(function* () {
      assert.isTrue((yield* take("a")).allowed)
      assert.isFalse((yield* take("a")).allowed)
      assert.isTrue((yield* take("b")).allowed)
    }).pipe(Effect.provide(layer({ rate: 1, burst: 1 })))
  )

  it.effect("can be off", () =>
    Effect.gen(function* () {
      for (let taken = 0; taken < 1000; taken++) assert.isTrue((yield* take("a")).allowed)
    }).pipe(Effect.provide(layerOff))
  )

  it("tells its policy", () => {
    assert.include(rateLimitHeaders({ rate: 100, burst: 200 }, 1), {
      "ratelimit-limit": "200",
      "retry-after": "1"
    })
  })
})
