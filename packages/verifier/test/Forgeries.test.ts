import { assert, describe, it } from "@effect/vitest"
import { PINS, tryForgeries } from "./Forgeries.ts"

/** A part of what `npm run forgeries` tries. */
const FORGERIES_TRIED = 400

describe("forgeries by the holder of a signing key", () => {
  it("are refused, except what evidence cannot prove by itself, which what pins it reveals", async () => {
    const { accepted, escaped, made } = await tryForgeries(0, FORGERIES_TRIED)
    assert.deepStrictEqual(escaped, [])
    assert.isAbove(made, FORGERIES_TRIED / 2)
    assert.isAbove(accepted.size, 3)
    assert.includeMembers(Object.keys(PINS), [...accepted.keys()])
  })
})
