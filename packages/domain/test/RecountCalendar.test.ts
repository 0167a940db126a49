import { assert, describe, it } from "@effect/vitest"
import type { Period } from "@svc/protocol/Mandate"
import { formatNanos } from "@svc/protocol/Timestamp"
import { recountCalendar } from "@svc/testkit/RecountCalendar"
import * as fc from "fast-check"
import { capsIn, periodAt } from "../src/calendar/PeriodGeometry.ts"
import { prepareZone } from "../src/calendar/TimeZoneTable.ts"
import { runSettings } from "./RunSettings.ts"
import { anyTable, instantOf, realTables } from "./ZoneTables.ts"

const { path, replay, runs, seed } = runSettings(300)

const DAY = 86_400_000_000_000n

const rules = fc
  .record({
    unit: fc.constantFrom<Period["unit"]>("DAY", "WEEK", "MONTH", "YEAR"),
    alignment: fc.constantFrom<Period["alignment"]>("CALENDAR", "MANDATE"),
    interval: fc.integer({ min: 1, max: 40 }),
    first_period: fc.constantFrom<Period["first_period"]>("FULL", "PRORATED"),
    max_amount: fc.integer({ min: 1, max: 100_000 }),
    max_executions: fc.integer({ min: 1, max: 50 })
  })
  .map((rule) => (rule.alignment === "CALENDAR" ? { ...rule, interval: 1 } : rule))

/** A table, and an instant near one of its changes. */
const openings = fc
  .oneof(anyTable, fc.constantFrom(...realTables))
  .chain((table) =>
    fc.record({
      table: fc.constant(table),
      change: fc.constantFrom("2026-05-31T12:00:00Z", ...table.transitions.map(({ at }) => at)),
      nanos: fc.bigInt({ min: -3n * DAY, max: 3n * DAY })
    })
  )
  .map(({ change, nanos, table }) => ({ table, opening: instantOf(change) + nanos }))

describe("the calendar of the recount (part 4)", () => {
  it(`finds the domain's periods and caps in any zone, without its code (${replay})`, () => {
    const property = fc.property(
      openings,
      rules,
      fc.array(fc.bigInt({ min: -2n * DAY, max: 800n * DAY }), { minLength: 1, maxLength: 8 }),
      ({ opening, table }, parts, instants) => {
        const rule: Period = { ...parts, time_zone: table.name }
        const end = opening + 500n * DAY
        const periodsAt = recountCalendar({
          policy: { periods: [rule] },
          window: { starts_at: formatNanos(opening), ends_at: formatNanos(end) },
          time_zones: [table]
        })
        const zone = prepareZone(table)
        for (const since of instants) {
          const at = opening + since
          const within = since < 0n ? opening : at >= end ? end - 1n : at
          const span = periodAt(rule, zone, opening, within)
          const { endsAt, startsAt } = span
          const shown = {
            starts_at: formatNanos(startsAt),
            ends_at: formatNanos(endsAt),
            ...capsIn(rule, opening, span)
          }
          assert.deepStrictEqual(periodsAt(at), [{ index: 0, startsAt, endsAt, shown }])
        }
      }
    )
    fc.assert(property, { numRuns: runs, seed, ...(path === undefined ? {} : { path }) })
  })
})
