import { assert, describe, it } from "@effect/vitest"
import type { StoreHealth } from "@svc/domain/ports/StoreHealth"
import type { Promised } from "../PromiseStore.ts"
import { withFaults } from "./FaultyStore.ts"

describe("a store with faults", () => {
  it("fails where it is told, before or after it has done what was asked", async () => {
    let done = 0
    class Health implements Promised<StoreHealth["Service"]> {
      readonly #faults = ["worn out"]
      faults() {
        done += 1
        return this.#faults
      }
    }
    const calls: Array<string> = []
    const { health } = withFaults({ health: new Health() }, ({ count, operation, part }) => {
      calls.push(`${part}.${operation} ${count}`)
      return ({ 2: "before", 3: "after" } as const)[count]
    })
    const answered = async () => {
      try {
        return await health.faults()
      } catch (error) {
        return (error as { readonly _tag: string })._tag
      }
    }
    assert.deepStrictEqual(await answered(), ["worn out"])
    assert.deepStrictEqual([await answered(), done], ["StoreUnavailable", 1])
    assert.deepStrictEqual([await answered(), done], ["StoreUnavailable", 2])
    assert.deepStrictEqual(await answered(), ["worn out"])
    assert.deepStrictEqual(calls, [
      "health.faults 1",
      "health.faults 2",
      "health.faults 3",
      "health.faults 4"
    ])
  })
})
