import { assert, describe, it } from "@effect/vitest"
import { changesBetween, offsetsOf } from "./ZoneOffsets.ts"

const secondOf = (timestamp: string) => Date.parse(timestamp) / 1_000

describe("offsetsOf", () => {
  it.each([
    ["UTC", "2026-07-01T00:00:00Z", 0],
    ["Europe/Berlin", "2026-07-01T00:00:00Z", 7_200],
    ["Asia/Kathmandu", "2026-07-01T00:00:00Z", 20_700],
    ["America/St_Johns", "2026-01-01T00:00:00Z", -12_600],
    ["Africa/Monrovia", "1971-01-01T00:00:00Z", -2_670],
    ["America/New_York", "1200-01-01T00:00:00Z", -17_762]
  ])("%s at %s", (name, timestamp, offset) => {
    assert.strictEqual(offsetsOf(name)(secondOf(timestamp)), offset)
  })

  it("throws for a name that the runtime does not know", () => {
    assert.throws(() => offsetsOf("Mars/Olympus"), RangeError)
  })
})

describe("changesBetween", () => {
  it("finds every change to the second, several within a day too", () => {
    const changes = [
      { second: 100, offset_seconds: 60 },
      { second: 101, offset_seconds: 120 },
      { second: 80_000, offset_seconds: 30 },
      { second: 86_400, offset_seconds: 90 },
      { second: 86_401, offset_seconds: 10 }
    ]
    const offsetAt = (second: number) =>
      changes.findLast((change) => change.second <= second)?.offset_seconds ?? 0
    assert.deepStrictEqual(changesBetween(offsetAt, 0, 10 * 86_400), changes)
    assert.deepStrictEqual(changesBetween(offsetAt, 100, 86_400), changes.slice(1, 4))
    assert.deepStrictEqual(changesBetween(offsetAt, 86_401, 86_401), [])
  })
})
