import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { equalInConstantTime } from "./ConstantTime.ts"

describe("equalInConstantTime", () => {
  it("agrees with a plain comparison", () => {
    const bytes = fc.uint8Array({ maxLength: 3, max: 2 })
    fc.assert(
      fc.property(bytes, bytes, (left, right) => {
        assert.strictEqual(equalInConstantTime(left, right), Buffer.compare(left, right) === 0)
      })
    )
  })

  it("detects a change of any single bit", () => {
    const bytes = new Uint8Array(32)
    for (let bit = 0; bit < 256; bit++) {
      const other = bytes.slice()
      other[bit >> 3] = 1 << (bit & 7)
      assert.isFalse(equalInConstantTime(bytes, other))
    }
  })
})
