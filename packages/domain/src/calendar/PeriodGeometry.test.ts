import { assert, describe, it } from "@effect/vitest"
import { formatInstant } from "@svc/protocol/Timestamp"
import * as fc from "fast-check"
import {
  anyZone,
  apia,
  beirut,
  berlin,
  havana,
  instantOf,
  saoPaulo,
  stJohns,
  utc
} from "../../test/ZoneTables.ts"
import {
  capsIn,
  nextPeriod,
  type PeriodRule,
  type PeriodSpan,
  periodAt,
  periodsFrom,
  tableRange
} from "./PeriodGeometry.ts"
import { prepareZone, type TimeZoneTable } from "./TimeZoneTable.ts"

const DAY = 86_400_000_000_000n

const rule = (
  unit: PeriodRule["unit"],
  alignment: PeriodRule["alignment"] = "CALENDAR",
  more: Partial<PeriodRule> = {}
): PeriodRule => ({
  unit,
  interval: 1,
  alignment,
  time_zone: "UTC",
  first_period: "FULL",
  max_amount: 1_000,
  ...more
})

const show = ({ startsAt, endsAt }: PeriodSpan) => `${formatInstant(startsAt)} ${formatInstant(endsAt)}`

const at = (table: TimeZoneTable, r: PeriodRule, windowStartsAt: string, instant: string) =>
  show(periodAt(r, prepareZone(table), instantOf(windowStartsAt), instantOf(instant)))

describe("a CALENDAR period (part 4)", () => {
  it.each([
    ["DAY", "2026-10-24T22:00:00Z 2026-10-25T23:00:00Z"],
    ["WEEK", "2026-10-18T22:00:00Z 2026-10-25T23:00:00Z"],
    ["MONTH", "2026-09-30T22:00:00Z 2026-10-31T23:00:00Z"],
    ["YEAR", "2025-12-31T23:00:00Z 2026-12-31T23:00:00Z"]
  ] as const)("%s in Berlin, on the Sunday on which the clock goes back", (unit, expected) => {
    assert.strictEqual(at(berlin, rule(unit), "2026-10-01T00:00:00Z", "2026-10-25T12:00:00Z"), expected)
  })

  it.each([
    ["missing midnight", saoPaulo, "2018-11-04T03:00:00Z", "2018-11-04T03:00:00Z 2018-11-05T02:00:00Z"],
    [
      "the instant before it",
      saoPaulo,
      "2018-11-04T02:59:59.999Z",
      "2018-11-03T03:00:00Z 2018-11-04T03:00:00Z"
    ],
    ["a 25-hour day", beirut, "2026-10-24T21:30:00Z", "2026-10-23T21:00:00Z 2026-10-24T22:00:00Z"],
    ["first of two midnights", havana, "2026-11-01T04:00:00Z", "2026-11-01T04:00:00Z 2026-11-02T05:00:00Z"],
    ["second of two midnights", havana, "2026-11-01T05:00:00Z", "2026-11-01T04:00:00Z 2026-11-02T05:00:00Z"],
    ["a date taken back", stJohns, "2010-11-07T03:00:00Z", "2010-11-07T02:30:00Z 2010-11-08T03:30:00Z"],
    ["before a skipped date", apia, "2011-12-30T09:59:00Z", "2011-12-29T10:00:00Z 2011-12-30T10:00:00Z"],
    ["after a skipped date", apia, "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z 2011-12-31T10:00:00Z"]
  ])("DAY: %s", (_, table, instant, expected) => {
    assert.strictEqual(at(table, rule("DAY"), instant, instant), expected)
  })

  it("runs from the day before a skipped date to the day after", () => {
    const zone = prepareZone(apia)
    const start = instantOf("2011-12-29T12:00:00Z")
    const before = periodAt(rule("DAY"), zone, start, start)
    assert.strictEqual(
      show(nextPeriod(rule("DAY"), zone, start, before)),
      "2011-12-30T10:00:00Z 2011-12-31T10:00:00Z"
    )
  })
})

describe("a MANDATE period (part 4)", () => {
  it.each([
    ["2026-01-31T08:30:00Z", "2026-01-31T00:00:00Z 2026-02-28T00:00:00Z"],
    ["2026-02-27T23:59:59.999Z", "2026-01-31T00:00:00Z 2026-02-28T00:00:00Z"],
    ["2026-02-28T00:00:00Z", "2026-02-28T00:00:00Z 2026-03-31T00:00:00Z"],
    ["2026-03-01T00:00:00Z", "2026-02-28T00:00:00Z 2026-03-31T00:00:00Z"],
    ["2026-03-31T00:00:00Z", "2026-03-31T00:00:00Z 2026-04-30T00:00:00Z"],
    ["2028-02-29T00:00:00Z", "2028-02-29T00:00:00Z 2028-03-31T00:00:00Z"],
    ["2026-01-30T23:59:59Z", "2025-12-31T00:00:00Z 2026-01-31T00:00:00Z"]
  ])("MONTH from 31 January, at %s", (instant, expected) => {
    assert.strictEqual(at(utc, rule("MONTH", "MANDATE"), "2026-01-31T08:30:00Z", instant), expected)
  })

  it.each([
    ["DAY", 10, "2026-02-14T12:00:00Z", "2026-02-10T00:00:00Z 2026-02-20T00:00:00Z"],
    ["WEEK", 2, "2026-02-20T12:00:00Z", "2026-02-14T00:00:00Z 2026-02-28T00:00:00Z"],
    ["MONTH", 3, "2026-12-01T00:00:00Z", "2026-10-31T00:00:00Z 2027-01-31T00:00:00Z"],
    ["YEAR", 2, "2029-06-01T00:00:00Z", "2028-01-31T00:00:00Z 2030-01-31T00:00:00Z"],
    ["YEAR", 366, "2030-06-01T00:00:00Z", "2026-01-31T00:00:00Z 2392-01-31T00:00:00Z"]
  ] as const)("%s by %i from 31 January", (unit, interval, instant, expected) => {
    const r = rule(unit, "MANDATE", { interval })
    assert.strictEqual(at(utc, r, "2026-01-31T08:30:00Z", instant), expected)
  })

  it("of a year from 29 February begins on the 28th until the next leap year", () => {
    const start = instantOf("2028-02-29T01:00:00Z")
    const window = { startsAt: start, endsAt: instantOf("2033-01-01T00:00:00Z") }
    const periods = periodsFrom(rule("YEAR", "MANDATE"), prepareZone(utc), window, start, 5)
    assert.deepStrictEqual(
      periods.map(({ startsAt }) => formatInstant(startsAt).slice(0, 10)),
      ["2028-02-29", "2029-02-28", "2030-02-28", "2031-02-28", "2032-02-29"]
    )
  })

  it("is anchored at the local date of the window's start", () => {
    assert.strictEqual(
      at(berlin, rule("MONTH", "MANDATE"), "2026-01-30T23:30:00Z", "2026-02-27T22:59:59Z"),
      "2026-01-30T23:00:00Z 2026-02-27T23:00:00Z"
    )
  })

  it("starts with the next date if the clock was set back over the window's first", () => {
    assert.strictEqual(
      at(stJohns, rule("DAY", "MANDATE"), "2010-11-07T03:00:00Z", "2010-11-07T03:00:00Z"),
      "2010-11-07T02:30:00Z 2010-11-08T03:30:00Z"
    )
  })
})

const anyRule: fc.Arbitrary<PeriodRule> = fc
  .record({
    unit: fc.constantFrom("DAY", "WEEK", "MONTH", "YEAR"),
    alignment: fc.constantFrom("CALENDAR", "MANDATE"),
    interval: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 366 }))
  })
  .map(({ unit, alignment, interval }) =>
    rule(unit, alignment, { interval: alignment === "CALENDAR" ? 1 : interval })
  )

const anyInstant = fc.bigInt({
  min: instantOf("2025-01-01T00:00:00Z"),
  max: instantOf("2028-01-01T00:00:00Z")
})

/** A zone and two instants, often close to one of its changes. */
const anyZoneAndInstants = anyZone.chain((zone) => {
  const changes = zone.startsAt.slice(1).map((second) => BigInt(second) * 1_000_000_000n)
  const near = changes.flatMap((change) => [
    fc.constant(change),
    fc.bigInt({ min: change - 2n * DAY, max: change + 2n * DAY })
  ])
  const instant = fc.oneof(anyInstant, ...near)
  return fc.record({ zone: fc.constant(zone), start: instant, instant })
})

describe("the periods of a rule (part 4)", () => {
  it("contain every instant exactly once", () => {
    fc.assert(
      fc.property(anyRule, anyZoneAndInstants, (r, { zone, start, instant }) => {
        const span = periodAt(r, zone, start, instant)
        assert.isTrue(span.startsAt <= instant && instant < span.endsAt)
        for (const other of [span.startsAt, span.endsAt - 1n]) {
          assert.deepStrictEqual(periodAt(r, zone, start, other), span)
        }
        const before = periodAt(r, zone, start, span.startsAt - 1n)
        assert.strictEqual(before.endsAt, span.startsAt)
        const after = nextPeriod(r, zone, start, span)
        assert.strictEqual(after.startsAt, span.endsAt)
        assert.isTrue(after.endsAt > after.startsAt)
      }),
      { numRuns: 1_000 }
    )
  })

  it("are listed without gaps, from the one that contains the window's start", () => {
    fc.assert(
      fc.property(anyRule, anyZoneAndInstants, (r, { zone, start, instant }) => {
        const window = { startsAt: start, endsAt: start + 400n * DAY }
        const periods = periodsFrom(r, zone, window, instant, 20)
        const [from] = [instant, start].sort((a, b) => (a < b ? 1 : -1)) as [bigint, bigint]
        if (periods.length > 0) assert.isTrue(periods[0]!.startsAt <= from && from < periods[0]!.endsAt)
        else assert.isTrue(periodAt(r, zone, start, from).startsAt >= window.endsAt)
        for (let i = 1; i < periods.length; i++)
          assert.strictEqual(periods[i]!.startsAt, periods[i - 1]!.endsAt)
        if (periods.length > 0 && periods.length < 20) assert.isTrue(periods.at(-1)!.endsAt >= window.endsAt)
      }),
      { numRuns: 300 }
    )
  })
})

describe("the caps of a period (part 4)", () => {
  const span = { startsAt: instantOf("2026-12-01T00:00:00Z"), endsAt: instantOf("2027-01-01T00:00:00Z") }
  const prorated = rule("MONTH", "CALENDAR", {
    first_period: "PRORATED",
    max_amount: 20_000,
    max_executions: 5
  })

  it.each([
    ["a full period", "2026-12-01T00:00:00Z", { max_amount: 20_000, max_executions: 5 }],
    ["from the 16th: 16 of 31 days", "2026-12-16T00:00:00Z", { max_amount: 10_322, max_executions: 2 }],
    ["the last hour", "2026-12-31T23:00:00Z", { max_amount: 26, max_executions: 0 }],
    ["a later period", "2026-11-16T00:00:00Z", { max_amount: 20_000, max_executions: 5 }],
    ["an earlier period", "2027-01-01T00:00:00Z", { max_amount: 20_000, max_executions: 5 }]
  ])("PRORATED, %s", (_, windowStartsAt, caps) => {
    assert.deepStrictEqual(capsIn(prorated, instantOf(windowStartsAt), span), caps)
  })

  it("are whole in a first period under FULL", () => {
    const full = { ...prorated, first_period: "FULL" } as const
    assert.deepStrictEqual(capsIn(full, instantOf("2026-12-16T00:00:00Z"), span), {
      max_amount: 20_000,
      max_executions: 5
    })
  })

  it("are only those of the rule", () => {
    assert.deepStrictEqual(capsIn(rule("DAY"), 0n, span), { max_amount: 1_000 })
    const { max_amount: _, ...executionsOnly } = prorated
    assert.deepStrictEqual(capsIn(executionsOnly, instantOf("2026-12-16T00:00:00Z"), span), {
      max_executions: 2
    })
  })

  it("are the floor of the exact share, up to the largest amount", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        fc.bigInt({ min: 1n, max: 366n * 366n * DAY }),
        fc.bigInt({ min: 0n, max: 366n * 366n * DAY }),
        (cap, length, skipped) => {
          const elapsed = skipped % length
          const r = { ...prorated, max_amount: cap }
          const share = capsIn(r, span.startsAt + elapsed, {
            startsAt: span.startsAt,
            endsAt: span.startsAt + length
          })
          const amount = BigInt(share.max_amount!)
          const exact = BigInt(cap) * (length - elapsed)
          assert.isTrue(amount * length <= exact && exact < (amount + 1n) * length)
        }
      )
    )
  })
})

describe("the list of periods (part 4)", () => {
  const window = { startsAt: instantOf("2026-12-15T00:00:00Z"), endsAt: instantOf("2027-03-01T00:00:00Z") }
  const r = rule("MONTH", "CALENDAR", { first_period: "PRORATED", max_amount: 3_100 })
  const list = (from: string, limit: number) =>
    periodsFrom(r, prepareZone(utc), window, instantOf(from), limit).map((period) => [
      formatInstant(period.startsAt).slice(0, 7),
      period.max_amount
    ])

  it("begins with the window's first period for an earlier from, and ends with the window", () => {
    assert.deepStrictEqual(list("2020-01-01T00:00:00Z", 12), [
      ["2026-12", 1_700],
      ["2027-01", 3_100],
      ["2027-02", 3_100]
    ])
  })

  it("has at most as many periods as the limit", () => {
    assert.deepStrictEqual(list("2027-01-31T23:59:59Z", 1), [["2027-01", 3_100]])
  })

  it("is empty if the period of from starts at or after the window's end", () => {
    assert.deepStrictEqual(list("2027-03-01T00:00:00Z", 12), [])
  })

  it("does not prorate caps at the end of the window", () => {
    const cut = { ...window, endsAt: instantOf("2027-01-10T00:00:00Z") }
    const periods = periodsFrom(r, prepareZone(utc), cut, instantOf("2027-01-20T00:00:00Z"), 12)
    assert.deepStrictEqual(
      periods.map((period) => [show(period), period.max_amount]),
      [["2027-01-01T00:00:00Z 2027-02-01T00:00:00Z", 3_100]]
    )
  })
})

describe("the range of a time zone table (part 4)", () => {
  const window = { startsAt: instantOf("2026-12-01T00:00:00Z"), endsAt: instantOf("2027-12-01T00:00:00Z") }

  it.each([
    ["DAY", 1, 1n],
    ["WEEK", 3, 21n],
    ["MONTH", 1, 31n],
    ["YEAR", 366, 133_956n]
  ] as const)("%s by %i reaches two times %s days back and once after the end", (unit, interval, days) => {
    assert.deepStrictEqual(tableRange([rule("DAY"), rule(unit, "MANDATE", { interval })], window), {
      from: window.startsAt - 2n * days * DAY,
      to: window.endsAt + days * DAY
    })
  })
})
