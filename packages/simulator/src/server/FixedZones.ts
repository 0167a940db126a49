import { TimeZones, UnknownTimeZone } from "@svc/domain/ports/TimeZones"
import { Effect } from "effect"

const NANOS_PER_MILLISECOND = 1_000_000n
const FIRST_YEAR = 2020
const YEARS = 25
const HOUR_SECONDS = 3600

/** The last Sunday of a month at 01:00 UTC, when the clocks of the European Union change. */
const lastSunday = (year: number, month: number): number => {
  const last = new Date(Date.UTC(year, month + 1, 0, 1))
  return last.getTime() - last.getUTCDay() * 86_400_000
}

const BERLIN = Array.from({ length: YEARS }, (_, at) => FIRST_YEAR + at).flatMap((year) => [
  { at: lastSunday(year, 2), offset_seconds: 2 * HOUR_SECONDS },
  { at: lastSunday(year, 9), offset_seconds: HOUR_SECONDS }
])

/** The zones that simulated mandates name: one without changes of its offset, and one with them. */
export const ZONES = ["UTC", "Europe/Berlin"] as const

export const fixedZones = TimeZones.of({
  isKnown: (name) => (ZONES as ReadonlyArray<string>).includes(name),
  table: ({ from, name, to }) => {
    if (name === "UTC") {
      return Effect.succeed({ name, tzdb_version: "simulated", offset_seconds: 0, transitions: [] })
    }
    if (name !== "Europe/Berlin") return Effect.fail(new UnknownTimeZone({ time_zone: name }))
    const nanos = (at: number): bigint => BigInt(at) * NANOS_PER_MILLISECOND
    const before = BERLIN.findLast(({ at }) => nanos(at) <= from)
    return Effect.succeed({
      name,
      tzdb_version: "simulated",
      offset_seconds: before?.offset_seconds ?? HOUR_SECONDS,
      transitions: BERLIN.filter(({ at }) => nanos(at) > from && nanos(at) <= to).map(
        ({ at, offset_seconds }) => ({ at: new Date(at).toISOString().replace(".000", ""), offset_seconds })
      )
    })
  }
})
