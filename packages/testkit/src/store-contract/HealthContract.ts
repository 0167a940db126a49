import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { Effect } from "effect"
import { assert } from "./Assert.ts"
import type { StoreIt } from "./StoreUnderTest.ts"

export const healthContract = (it: StoreIt): void => {
  it.describe("health", () => {
    it.effect("a store that is set up as it should be has no fault", () =>
      Effect.gen(function* () {
        const health = yield* StoreHealth
        assert.deepStrictEqual(yield* health.faults, [])
      })
    )
  })
}
