import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { dateInMonth, dateOfDayNumber, dayNumberOf, daysInMonth, monthNumberOf } from "./LocalDate.ts"

describe("day numbers (part 4)", () => {
  it.each([
    [{ year: 1970, month: 1, day: 1 }, 0],
    [{ year: 1969, month: 12, day: 31 }, -1],
    [{ year: 2000, month: 2, day: 29 }, 11_016],
    [{ year: 2000, month: 3, day: 1 }, 11_017],
    [{ year: 1900, month: 3, day: 1 }, -25_508],
    [{ year: 0, month: 3, day: 1 }, -719_468],
    [{ year: -1, month: 12, day: 31 }, -719_529]
  ])("%j is day %i", (date, dayNumber) => {
    assert.strictEqual(dayNumberOf(date), dayNumber)
    assert.deepStrictEqual(dateOfDayNumber(dayNumber), date)
  })

  it("agree with the host's calendar over the years -5000 to 12000", () => {
    fc.assert(
      fc.property(fc.integer({ min: -2_545_000, max: 3_663_000 }), (dayNumber) => {
        const host = new Date(dayNumber * 86_400_000)
        const date = { year: host.getUTCFullYear(), month: host.getUTCMonth() + 1, day: host.getUTCDate() }
        assert.deepStrictEqual(dateOfDayNumber(dayNumber), date)
        assert.strictEqual(dayNumberOf(date), dayNumber)
      }),
      { numRuns: 2_000 }
    )
  })
})

describe("dates in a month (part 4)", () => {
  it.each([
    [2026, 2, 28],
    [2028, 2, 29],
    [2100, 2, 28],
    [2000, 2, 29],
    [2026, 4, 30],
    [2026, 12, 31]
  ])("%i-%i has %i days", (year, month, days) => {
    assert.strictEqual(daysInMonth(year, month), days)
    assert.deepStrictEqual(dateInMonth(monthNumberOf({ year, month, day: 1 }), 31), {
      year,
      month,
      day: days
    })
  })

  it("are 30 in April, June, September and November, and 31 in all others but February", () => {
    const days = Array.from({ length: 12 }, (_, index) => daysInMonth(2026, index + 1))
    assert.deepStrictEqual(days, [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
  })

  it("are counted for months before year 0 too", () => {
    assert.deepStrictEqual(dateInMonth(-1, 15), { year: -1, month: 12, day: 15 })
  })
})
