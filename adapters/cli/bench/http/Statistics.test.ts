import { assert, describe, it } from "@effect/vitest"
import { median, quantile, ratios, spread } from "./Statistics.ts"

describe("Statistics", () => {
  it("quantile takes the nearest rank, whatever the order", () => {
    const hundred = Array.from({ length: 100 }, (_, index) => 100 - index)
    assert.deepStrictEqual(
      [0, 0.5, 0.99, 1].map((part) => quantile(hundred, part)),
      [1, 50, 99, 100]
    )
    assert.strictEqual(quantile([7], 0.99), 7)
    assert.isNaN(quantile([], 0.5))
  })

  it("median is the middle, or between the two in the middle", () => {
    assert.strictEqual(median([10, 9, 100]), 10)
    assert.strictEqual(median([4, 1, 3, 2]), 2.5)
    assert.isNaN(median([]))
  })

  it("ratios pair the values of one round, and leave out a round that one of them lacks", () => {
    assert.deepStrictEqual(ratios([2, 9, 5], [1, 3]), [2, 3])
  })

  it("spread shows the range only where there is one", () => {
    assert.strictEqual(spread([3, 1, 2], 1), "2.0 (1.0-3.0)")
    assert.strictEqual(spread([2], 0), "2")
    assert.strictEqual(spread([], 0), "-")
  })
})
