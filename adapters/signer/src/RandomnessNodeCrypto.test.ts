import { assert, describe, it } from "@effect/vitest"
import { Randomness } from "@svc/domain/ports/Randomness"
import { Effect } from "effect"
import { layer } from "./RandomnessNodeCrypto.ts"

describe("RandomnessNodeCrypto", () => {
  it.effect("returns the requested number of bytes, never the same ones", () =>
    Effect.gen(function* () {
      const { bytes } = yield* Randomness
      for (const count of [0, 1, 32, 100_000]) assert.strictEqual(bytes(count).length, count)
      // Short and long ones in turn, so that several pools are used up.
      const mixed = Array.from({ length: 2000 }, (_, at) =>
        Buffer.from(bytes(10 + (at % 23))).toString("hex")
      )
      assert.strictEqual(new Set(mixed).size, mixed.length)
      assert.isFalse(mixed.some((text) => text.includes("00".repeat(6))))
      const drawn = Array.from({ length: 100 }, () => Buffer.from(bytes(32)).toString("hex"))
      assert.strictEqual(new Set(drawn).size, drawn.length)
    }).pipe(Effect.provide(layer))
  )
})
