import { assert, describe, it } from "@effect/vitest"
import { formatInstant } from "@svc/protocol/Timestamp"
import * as fc from "fast-check"
import {
  anyTable,
  anyZone,
  apia,
  beirut,
  berlin,
  casablanca,
  dateOf,
  havana,
  instantOf,
  lordHowe,
  monrovia,
  realTables,
  saoPaulo,
  stJohns,
  utc
} from "../../test/ZoneTables.ts"
import { dateOfDayNumber, dayNumberOf } from "./LocalDate.ts"
import { epochSecondOf, firstInstantOf, isTimeZoneTable, localDateOf, prepareZone } from "./TimeZoneTable.ts"

describe("the first instant of a local date (part 4)", () => {
  it.each([
    ["plain", utc, "2026-12-01", "2026-12-01T00:00:00Z"],
    ["winter", berlin, "2026-12-01", "2026-11-30T23:00:00Z"],
    ["summer", berlin, "2026-07-01", "2026-06-30T22:00:00Z"],
    ["the day of the change, before it", berlin, "2026-03-29", "2026-03-28T23:00:00Z"],
    ["the day after the change", berlin, "2026-03-30", "2026-03-29T22:00:00Z"],
    ["before the first change", berlin, "1999-01-01", "1998-12-31T22:00:00Z"],
    ["after the last change", berlin, "2040-01-01", "2039-12-31T22:00:00Z"],
    ["missing midnight", saoPaulo, "2018-11-04", "2018-11-04T03:00:00Z"],
    ["missing midnight", beirut, "2026-03-29", "2026-03-28T22:00:00Z"],
    ["midnight put off by an hour", saoPaulo, "2019-02-17", "2019-02-17T03:00:00Z"],
    ["midnight put off by an hour", beirut, "2026-10-25", "2026-10-24T22:00:00Z"],
    ["repeated midnight", havana, "2026-11-01", "2026-11-01T04:00:00Z"],
    ["missing midnight", havana, "2026-03-08", "2026-03-08T05:00:00Z"],
    ["a date begun twice", stJohns, "2010-11-07", "2010-11-07T02:30:00Z"],
    ["before a skipped date", apia, "2011-12-29", "2011-12-29T10:00:00Z"],
    ["a skipped date", apia, "2011-12-30", "2011-12-30T10:00:00Z"],
    ["after a skipped date", apia, "2011-12-31", "2011-12-30T10:00:00Z"],
    ["a change by day", casablanca, "2026-02-16", "2026-02-16T00:00:00Z"],
    ["half an hour", lordHowe, "2026-04-05", "2026-04-04T13:00:00Z"],
    ["half an hour", lordHowe, "2026-04-06", "2026-04-05T13:30:00Z"],
    ["seconds in the offset", monrovia, "1972-01-07", "1972-01-07T00:44:30Z"]
  ])("%s: %o", (_, table, date, at) => {
    assert.strictEqual(formatInstant(firstInstantOf(prepareZone(table), dateOf(date))), at)
  })

  it("is the first at which the local clock has reached the date", () => {
    fc.assert(
      fc.property(anyZone, fc.integer({ min: 20_500, max: 20_900 }), (zone, day) => {
        const first = firstInstantOf(zone, dateOfDayNumber(day))
        const dayAt = (instant: bigint) => dayNumberOf(localDateOf(zone, instant))
        assert.isAtLeast(dayAt(first), day)
        assert.isBelow(dayAt(first - 1n), day)
        // The local clock rises within a segment, so the end of each earlier one is the latest it ever was.
        for (const second of zone.startsAt.slice(1)) {
          const change = BigInt(second) * 1_000_000_000n
          if (change < first) assert.isBelow(dayAt(change - 1n), day)
          if (change < first) assert.isBelow(dayAt(change), day)
        }
      }),
      { numRuns: 500 }
    )
  })

  it("never decreases from one date to the next", () => {
    fc.assert(
      fc.property(anyZone, fc.integer({ min: 20_500, max: 20_900 }), (zone, day) => {
        const first = firstInstantOf(zone, dateOfDayNumber(day))
        assert.isTrue(first <= firstInstantOf(zone, dateOfDayNumber(day + 1)))
      })
    )
  })
})

describe("the local date of an instant (part 4)", () => {
  it.each([
    ["the instant of a change has the new offset", apia, "2011-12-30T10:00:00Z", "2011-12-31"],
    ["the moment before has the old", apia, "2011-12-30T09:59:59.999Z", "2011-12-29"],
    ["a date taken back", stJohns, "2010-11-07T02:31:00Z", "2010-11-06"],
    ["before the epoch", utc, "1969-12-31T23:59:59.999Z", "1969-12-31"],
    ["before the epoch, at midnight", utc, "1969-12-31T00:00:00Z", "1969-12-31"]
  ])("%s", (_, table, at, date) => {
    assert.deepStrictEqual(localDateOf(prepareZone(table), instantOf(at)), dateOf(date))
  })

  it("is that of the instant rounded down to its second, before the epoch too", () => {
    assert.strictEqual(epochSecondOf(-1n), -1)
    assert.strictEqual(epochSecondOf(-1_000_000_000n), -1)
    assert.strictEqual(epochSecondOf(999_999_999n), 0)
  })
})

describe("a time zone table from outside (part 4)", () => {
  const withTransitions = (...transitions: ReadonlyArray<{ at: string; offset_seconds: number }>) => ({
    ...utc,
    transitions
  })

  it("is accepted when it is that of a real zone", () => {
    for (const table of realTables) assert.isTrue(isTimeZoneTable(table))
  })

  it("is accepted in ascending order", () => {
    fc.assert(fc.property(anyTable, (table) => assert.isTrue(isTimeZoneTable(table))))
  })

  it.each([
    ["a fraction", withTransitions({ at: "2026-03-29T01:00:00.5Z", offset_seconds: 0 })],
    ["an offset", withTransitions({ at: "2026-03-29T01:00:00+00:00", offset_seconds: 0 })],
    ["no such day", withTransitions({ at: "2026-02-29T01:00:00Z", offset_seconds: 0 })],
    ["month 0", withTransitions({ at: "2026-00-28T01:00:00Z", offset_seconds: 0 })],
    ["month 13", withTransitions({ at: "2026-13-28T01:00:00Z", offset_seconds: 0 })],
    ["day 0", withTransitions({ at: "2026-02-00T01:00:00Z", offset_seconds: 0 })],
    ["minute 60", withTransitions({ at: "2026-02-28T01:60:00Z", offset_seconds: 0 })],
    ["second 60", withTransitions({ at: "2026-02-28T01:00:60Z", offset_seconds: 0 })],
    ["no such hour", withTransitions({ at: "2026-02-28T24:00:00Z", offset_seconds: 0 })],
    ["a whole day", { ...utc, offset_seconds: 86_400 }],
    ["part of a second", { ...utc, offset_seconds: 0.5 }],
    [
      "the same instant twice",
      withTransitions(
        { at: "2026-03-29T01:00:00Z", offset_seconds: 1 },
        { at: "2026-03-29T01:00:00Z", offset_seconds: 2 }
      )
    ],
    [
      "descending order",
      withTransitions(
        { at: "2026-03-29T01:00:00Z", offset_seconds: 1 },
        { at: "2025-03-29T01:00:00Z", offset_seconds: 2 }
      )
    ]
  ])("is refused with %s", (_, table) => {
    assert.isFalse(isTimeZoneTable(table))
  })

  it("has at most 20,000 changes", () => {
    const changes = Array.from({ length: 20_001 }, (_, second) => ({
      at: formatInstant(BigInt(second) * 1_000_000_000n),
      offset_seconds: 0
    }))
    assert.isTrue(isTimeZoneTable(withTransitions(...changes.slice(1))))
    assert.isFalse(isTimeZoneTable(withTransitions(...changes)))
  })

  it("throws if it is prepared with a change that is at no time", () => {
    assert.throws(
      () => prepareZone(withTransitions({ at: "2026-02-29T01:00:00Z", offset_seconds: 0 })),
      RangeError
    )
  })
})
