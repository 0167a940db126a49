/** Tables for tests: short stretches of real zones, and arbitrary ones that no legislator has thought of yet. */
import * as fc from "fast-check"
import type { LocalDate } from "../src/calendar/LocalDate.ts"
import { prepareZone, type TimeZoneTable, type ZoneClock } from "../src/calendar/TimeZoneTable.ts"

const HOUR = 3_600
const NANOSECONDS_PER_MILLISECOND = 1_000_000n

const zone = (
  name: string,
  offset_seconds: number,
  ...transitions: ReadonlyArray<readonly [at: string, offset_seconds: number]>
): TimeZoneTable => ({
  name,
  tzdb_version: "2026c",
  offset_seconds,
  transitions: transitions.map(([at, offset]) => ({ at, offset_seconds: offset }))
})

export const utc = zone("UTC", 0)

export const berlin = zone(
  "Europe/Berlin",
  2 * HOUR,
  ["2025-10-26T01:00:00Z", HOUR],
  ["2026-03-29T01:00:00Z", 2 * HOUR],
  ["2026-10-25T01:00:00Z", HOUR],
  ["2027-03-28T01:00:00Z", 2 * HOUR]
)

/** Summer time begins at midnight, which is then missing, and ends at midnight, back into the day before. */
export const saoPaulo = zone(
  "America/Sao_Paulo",
  -3 * HOUR,
  ["2017-10-15T03:00:00Z", -2 * HOUR],
  ["2018-02-18T02:00:00Z", -3 * HOUR],
  ["2018-11-04T03:00:00Z", -2 * HOUR],
  ["2019-02-17T02:00:00Z", -3 * HOUR]
)

/** The same two moments as in São Paulo, east of Greenwich. */
export const beirut = zone(
  "Asia/Beirut",
  3 * HOUR,
  ["2025-10-25T21:00:00Z", 2 * HOUR],
  ["2026-03-28T22:00:00Z", 3 * HOUR],
  ["2026-10-24T21:00:00Z", 2 * HOUR]
)

/** Summer time ends at 01:00, which becomes 00:00: midnight comes twice. */
export const havana = zone(
  "America/Havana",
  -4 * HOUR,
  ["2025-11-02T05:00:00Z", -5 * HOUR],
  ["2026-03-08T05:00:00Z", -4 * HOUR],
  ["2026-11-01T05:00:00Z", -5 * HOUR]
)

/** Summer time ends at 00:01, which becomes 23:01: a date begins, is taken back, and begins again. */
export const stJohns = zone(
  "America/St_Johns",
  -9_000,
  ["2010-11-07T02:31:00Z", -12_600],
  ["2011-03-13T03:31:00Z", -9_000],
  ["2011-11-06T04:30:00Z", -12_600]
)

/** 30 December 2011 did not happen. */
export const apia = zone(
  "Pacific/Apia",
  -10 * HOUR,
  ["2011-04-02T14:00:00Z", -11 * HOUR],
  ["2011-09-24T14:00:00Z", -10 * HOUR],
  ["2011-12-30T10:00:00Z", 14 * HOUR],
  ["2012-03-31T14:00:00Z", 13 * HOUR]
)

/** The clock goes back for Ramadan. */
export const casablanca = zone(
  "Africa/Casablanca",
  HOUR,
  ["2025-02-23T02:00:00Z", 0],
  ["2025-04-06T02:00:00Z", HOUR],
  ["2026-02-15T02:00:00Z", 0],
  ["2026-03-22T02:00:00Z", HOUR]
)

/** Summer time is half an hour. */
export const lordHowe = zone(
  "Australia/Lord_Howe",
  37_800,
  ["2025-10-04T15:30:00Z", 11 * HOUR],
  ["2026-04-04T15:00:00Z", 37_800],
  ["2026-10-03T15:30:00Z", 11 * HOUR]
)

/** An offset that is not of whole minutes. */
export const monrovia = zone("Africa/Monrovia", -2_670, ["1972-01-07T00:44:30Z", 0])

export const realTables: ReadonlyArray<TimeZoneTable> = [
  utc,
  berlin,
  saoPaulo,
  beirut,
  havana,
  stJohns,
  apia,
  casablanca,
  lordHowe,
  monrovia
]

/** Nanoseconds since the epoch of a UTC timestamp of whole milliseconds. */
export const instantOf = (timestamp: string): bigint =>
  BigInt(Date.parse(timestamp)) * NANOSECONDS_PER_MILLISECOND

export const dateOf = (text: string): LocalDate => {
  const [year = 0, month = 0, day = 0] = text.split("-").map(Number)
  return { year, month, day }
}

const offsetSeconds = fc.integer({ min: -86_399, max: 86_399 })

/** Up to 8 changes between any two offsets, hours to weeks apart, around the middle of 2026. */
export const anyTable: fc.Arbitrary<TimeZoneTable> = fc
  .record({
    offset_seconds: offsetSeconds,
    steps: fc.array(
      fc.record({ after: fc.integer({ min: 1, max: 40 * 86_400 }), offset_seconds: offsetSeconds }),
      { maxLength: 8 }
    )
  })
  .map(({ offset_seconds, steps }) => {
    let second = Date.UTC(2026, 4, 1) / 1_000
    const transitions = steps.map((step) => {
      second += step.after
      return {
        at: new Date(second * 1_000).toISOString().replace(".000", ""),
        offset_seconds: step.offset_seconds
      }
    })
    return { name: "Test/Zone", tzdb_version: "test", offset_seconds, transitions }
  })

export const anyZone: fc.Arbitrary<ZoneClock> = fc
  .oneof(anyTable, fc.constantFrom(...realTables))
  .map(prepareZone)
