import { assert, describe, it } from "@effect/vitest"
import { makePace, QUICK_ATTEMPTS_PER_ENDPOINT } from "./EndpointPace.ts"

const answered = (durationMs: number) => ({ status: 204, durationMs })
const COMMON = 32
const boundOf = (pace: ReturnType<typeof makePace>, most = 1000) =>
  pace.bounds(COMMON, most).get("one") ?? COMMON

describe("the bound of an endpoint", () => {
  it("is the common one until an attempt has ended", () => {
    assert.strictEqual(boundOf(makePace()), COMMON)
  })

  it("follows the latency, up to the most for a quick endpoint and never below the common one", () => {
    for (const [latency, expected] of [
      [0, QUICK_ATTEMPTS_PER_ENDPOINT],
      [100, 64],
      [128, 50],
      [199, 32],
      [15_000, COMMON]
    ] as const) {
      const pace = makePace()
      pace.ended("one", answered(latency))
      assert.strictEqual(boundOf(pace), expected)
    }
  })

  it("falls when a quick endpoint turns slow, and rises again", () => {
    const pace = makePace()
    for (let count = 0; count < 10; count += 1) pace.ended("one", answered(10))
    assert.strictEqual(boundOf(pace), QUICK_ATTEMPTS_PER_ENDPOINT)
    pace.ended("one", answered(5000))
    assert.strictEqual(boundOf(pace), COMMON)
    for (let count = 0; count < 40; count += 1) pace.ended("one", answered(10))
    assert.strictEqual(boundOf(pace), QUICK_ATTEMPTS_PER_ENDPOINT)
  })

  it("starts over when an attempt fails, by its status or without one", () => {
    for (const failed of [
      { status: 500, durationMs: 1 },
      { error: "timeout" as const, durationMs: 1 }
    ]) {
      const pace = makePace()
      pace.ended("one", answered(10))
      pace.ended("one", failed)
      assert.strictEqual(boundOf(pace), COMMON)
    }
  })

  it("is at most what the caller has room for", () => {
    const pace = makePace()
    pace.ended("one", answered(10))
    assert.strictEqual(boundOf(pace, 40), 40)
    assert.strictEqual(boundOf(pace, 3), COMMON)
  })

  it("is remembered for the endpoints that had attempts last", () => {
    const pace = makePace()
    pace.ended("one", answered(10))
    for (let number = 0; number < 256; number += 1) pace.ended(`other ${number}`, answered(10))
    assert.strictEqual(boundOf(pace), COMMON)
    assert.strictEqual(pace.bounds(COMMON, 1000).size, 256)
  })
})
