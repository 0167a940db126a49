/**
 * The time zone database of the runtime, read through Intl, behind the port `TimeZones`.
 *
 * Intl gives offsets but lists no changes, accepts names in any case, and accepts offsets as names. So the changes are found
 * by probing, and a name is valid only in the exact case of the list in `TimeZoneNames.ts`.
 */
import { dateOfDayNumber, dayNumberOf } from "@svc/domain/calendar/LocalDate"
import { epochSecondOf, type TimeZoneTable } from "@svc/domain/calendar/TimeZoneTable"
import { TimeZones, UnknownTimeZone } from "@svc/domain/ports/TimeZones"
import { formatInstant, type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { TIME_ZONE_NAMES } from "./TimeZoneNames.ts"
import { changesBetween, type OffsetAt, offsetsOf } from "./ZoneOffsets.ts"

/** No zone changed its offset before this year, so earlier years are not probed. */
export const FIRST_YEAR_OF_CHANGES = 1840

/**
 * Last year that is cached once probed. A table made today reaches no further: 20 years of a window and one interval of 366
 * years. Together with the list of names it bounds the cache.
 */
const LAST_YEAR_KEPT = 2500

/** The last year of RFC 3339. */
const LAST_YEAR = 9999

const SECONDS_PER_DAY = 86_400

/** A transition in the table's form, with its instant. */
interface Change {
  readonly instant: Instant
  readonly transition: TimeZoneTable["transitions"][number]
}

type Years = Map<number, ReadonlyArray<Change>>

/** Shared by the many years without a change. */
const NO_CHANGES: ReadonlyArray<Change> = []

/**
 * Tables from Intl. `tzdb_version` is that of the runtime's data. Results are cached by zone and year. A year that is not
 * cached takes about half a millisecond, and other fibers can run after each.
 */
export const layer: Layer.Layer<TimeZones> = Layer.sync(TimeZones, () => {
  const known = new Map<string, boolean>()
  const kept = new Map<string, Years>()

  const isKnown = (name: string): boolean => {
    if (!TIME_ZONE_NAMES.has(name)) return false
    let accepted = known.get(name)
    if (accepted === undefined) {
      accepted = isAcceptedByIntl(name)
      known.set(name, accepted)
    }
    return accepted
  }

  const yearsOf = (name: string): Years => {
    let years = kept.get(name)
    if (years === undefined) {
      years = new Map()
      kept.set(name, years)
    }
    return years
  }

  const table = Effect.fn("TimeZonesIntl.table")(function* (request: {
    readonly name: string
    readonly from: Instant
    readonly to: Instant
  }) {
    const { name, from, to } = request
    if (!isKnown(name)) return yield* new UnknownTimeZone({ time_zone: name })
    const offsetAt = offsetsOf(name)
    const years = yearsOf(name)
    const transitions: Array<Change["transition"]> = []
    const lastYear = Math.min(yearOf(to), LAST_YEAR)
    for (let year = Math.max(yearOf(from), FIRST_YEAR_OF_CHANGES); year <= lastYear; year++) {
      let changes = years.get(year)
      if (changes === undefined) {
        changes = changesInYear(offsetAt, year)
        if (year <= LAST_YEAR_KEPT) years.set(year, changes)
        yield* Effect.yieldNow
      }
      for (const { instant, transition } of changes) {
        if (from < instant && instant <= to) transitions.push(transition)
      }
    }
    return {
      name,
      tzdb_version: process.versions.tz ?? "unknown",
      offset_seconds: offsetAt(epochSecondOf(from)),
      transitions
    }
  })

  return TimeZones.of({ isKnown, table })
})

const isAcceptedByIntl = (name: string): boolean => {
  try {
    offsetsOf(name)
    return true
  } catch {
    // The constructor throws only if the runtime's data lack the name, so there can be no table.
    return false
  }
}

/** The changes after the first instant of a UTC year, up to and including the first instant of the next. */
const changesInYear = (offsetAt: OffsetAt, year: number): ReadonlyArray<Change> => {
  const changes = changesBetween(offsetAt, firstSecondOf(year), firstSecondOf(year + 1))
  if (changes.length === 0) return NO_CHANGES
  return changes.map(({ second, offset_seconds }) => {
    const instant = BigInt(second) * NANOS_PER_SECOND
    return { instant, transition: { at: formatInstant(instant), offset_seconds } }
  })
}

const firstSecondOf = (year: number): number => dayNumberOf({ year, month: 1, day: 1 }) * SECONDS_PER_DAY

const yearOf = (instant: Instant): number =>
  dateOfDayNumber(Math.floor(epochSecondOf(instant) / SECONDS_PER_DAY)).year
