import { assert, describe, it } from "@effect/vitest"
import { RETRY_AFTER_MAX_SECONDS, readRetryAfter, retryDelay } from "./RetryDelay.ts"

const BACKOFF = { initial: 250, max: 8000 }
const most = () => 1
const least = () => 0

describe("the delay before a retry", () => {
  it("is anything up to a bound that doubles until its maximum", () => {
    const bounds = [0, 1, 2, 3, 4, 5, 6, 2000].map((retry) => retryDelay(retry, undefined, BACKOFF, most))
    assert.deepStrictEqual(bounds, [250, 500, 1000, 2000, 4000, 8000, 8000, 8000])
    assert.strictEqual(retryDelay(3, undefined, BACKOFF, least), 0)
    assert.strictEqual(
      retryDelay(3, undefined, BACKOFF, () => 0.25),
      500
    )
  })

  it("is never shorter than Retry-After, and is not taken beyond its maximum", () => {
    assert.strictEqual(retryDelay(0, 2, BACKOFF, least), 2000)
    assert.strictEqual(retryDelay(0, 2, BACKOFF, most), 2250)
    assert.strictEqual(retryDelay(0, RETRY_AFTER_MAX_SECONDS, BACKOFF, least), 60_000)
    assert.isUndefined(retryDelay(0, RETRY_AFTER_MAX_SECONDS + 1, BACKOFF, least))
  })
})

describe("Retry-After", () => {
  const NOW = Date.UTC(2026, 10, 28, 9)
  it.each([
    ["0", 0],
    ["7", 7],
    ["Sat, 28 Nov 2026 09:00:30 GMT", 30],
    ["Sat, 28 Nov 2026 08:00:00 GMT", 0],
    ["soon", undefined],
    ["", undefined]
  ] as const)("%j", (header, seconds) => assert.strictEqual(readRetryAfter(header, NOW), seconds))

  it("may be absent", () => assert.isUndefined(readRetryAfter(null, NOW)))
})
