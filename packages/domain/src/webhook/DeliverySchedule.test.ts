import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { MAX_ATTEMPTS, retryDelay, UNIFORM_BYTES, uniformFrom } from "./DeliverySchedule.ts"

const MIDDLE = 0.5
const retries = Array.from({ length: MAX_ATTEMPTS - 1 }, (_, index) => index + 1)
const secondsOf = (nanos: bigint) => Number(nanos / 1_000_000n) / 1000

describe("retryDelay", () => {
  it("is 30 s x 2.88^(n - 1), 20.98 h in all", () => {
    const delays = retries.map((retry) => secondsOf(retryDelay(retry, MIDDLE)))
    assert.deepStrictEqual(
      delays.map((seconds) => Math.round(seconds)),
      [30, 86, 249, 717, 2064, 5944, 17_119, 49_302]
    )
    const total = delays.reduce((sum, seconds) => sum + seconds, 0)
    assert.strictEqual(Math.round(total), 75_511)
    assert.strictEqual((total / 3600).toFixed(2), "20.98")
  })

  it("keeps within 20 percent of that, both ends included", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...retries),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (retry, uniform) => {
          const middle = 30 * 2.88 ** (retry - 1)
          const delay = secondsOf(retryDelay(retry, uniform))
          assert.isAtLeast(delay, middle * 0.8 - 0.001)
          assert.isAtMost(delay, middle * 1.2 + 0.001)
        }
      )
    )
    assert.strictEqual(secondsOf(retryDelay(1, 0)), 24)
    assert.strictEqual(Math.round(secondsOf(retryDelay(1, 1 - 2 ** -48))), 36)
  })

  it("knows no other retries", () => {
    for (const retry of [0, -1, 9, 1.5, Number.NaN])
      assert.throws(() => retryDelay(retry, MIDDLE), RangeError)
  })
})

describe("uniformFrom", () => {
  it("covers what there is, from 0 and never 1", () => {
    const all = (byte: number) => uniformFrom(new Uint8Array(UNIFORM_BYTES).fill(byte))
    assert.strictEqual(all(0), 0)
    assert.isBelow(all(255), 1)
    assert.strictEqual(uniformFrom(Uint8Array.of(128, 0, 0, 0, 0, 0)), 0.5)
  })
})
