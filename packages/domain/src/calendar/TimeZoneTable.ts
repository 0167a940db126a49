/**
 * A fixed time zone: its offsets from UTC over a stretch of time, recorded when a mandate is created.
 *
 * Every local boundary is computed from such a table with integer arithmetic alone, so that the same policy, window and table
 * give the same periods on every host and when evidence is checked offline (parts 4 and 7).
 */
import { type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { type DayNumber, dateOfDayNumber, dayNumberOf, daysInMonth, type LocalDate } from "./LocalDate.ts"

const SECONDS_PER_DAY = 86_400

/** Bound of an offset, in seconds. No zone has ever been a whole day off UTC, so a table that says so is invalid. */
const MAX_OFFSET_SECONDS = SECONDS_PER_DAY - 1

/** More changes than any zone has had, or will have by the year 9999 at two a year. */
const MAX_TRANSITIONS = 20_000

const WHOLE_SECOND = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})Z$/

/** A change of offset: `offset_seconds` east of UTC applies from `at`, which is RFC 3339 in UTC, in whole seconds. */
export interface ZoneTransition {
  readonly at: string
  readonly offset_seconds: number
}

/**
 * The table as in the journal (`time_zones` of `mandate.created`): `offset_seconds` east of UTC at the table's start, and every
 * later change with the offset that applies from `at`, strictly ascending.
 */
export interface TimeZoneTable {
  readonly name: string
  readonly tzdb_version: string
  readonly offset_seconds: number
  readonly transitions: ReadonlyArray<ZoneTransition>
}

/**
 * A table prepared for look-ups. Segment `i` runs from `startsAt[i]` up to `startsAt[i + 1]`, the first without a beginning
 * and the last without an end, and has the offset `offsets[i]`. All are in whole seconds; `startsAt` since the epoch.
 */
export interface ZoneClock {
  readonly name: string
  readonly startsAt: ReadonlyArray<number>
  readonly offsets: ReadonlyArray<number>
  /** The latest local second that the clock has shown, or was about to show, by the end of each segment. */
  readonly reach: ReadonlyArray<number>
}

/**
 * Prepares a table for look-ups.
 *
 * The table must satisfy {@link isTimeZoneTable}: check tables from outside first.
 * Throws a `RangeError` on a transition that is no timestamp.
 */
export const prepareZone = (table: TimeZoneTable): ZoneClock => {
  const startsAt = [Number.NEGATIVE_INFINITY]
  const offsets = [table.offset_seconds]
  for (const { at, offset_seconds } of table.transitions) {
    const second = secondOfText(at)
    if (second === undefined) throw new RangeError("a transition of a time zone table is not a UTC timestamp")
    startsAt.push(second)
    offsets.push(offset_seconds)
  }
  let furthest = Number.NEGATIVE_INFINITY
  const reach = offsets.map((offset, i) => {
    furthest = Math.max(furthest, (startsAt[i + 1] ?? Number.POSITIVE_INFINITY) + offset)
    return furthest
  })
  return { name: table.name, startsAt, offsets, reach }
}

/**
 * The boundary of a local date (part 4, geometry): the first instant at which the local clock shows that date's
 * midnight or anything later. A missing midnight gives the first instant after the gap, a repeated one the earlier of the
 * two, and a date that is skipped entirely the first instant of the next date.
 */
export const firstInstantOf = (zone: ZoneClock, localDate: LocalDate): Instant =>
  firstInstantOfDay(zone, dayNumberOf(localDate))

/** {@link firstInstantOf} for a date given as its day number. */
export const firstInstantOfDay = (zone: ZoneClock, dayNumber: DayNumber): Instant => {
  const midnight = dayNumber * SECONDS_PER_DAY
  // `reach` never decreases, so a binary search finds the first segment in which the clock passes midnight.
  const segment = firstIndex(zone.reach, (reached) => reached > midnight)
  const second = Math.max(zone.startsAt[segment]!, midnight - zone.offsets[segment]!)
  return BigInt(second) * NANOS_PER_SECOND
}

/** The date that the local clock shows at an instant. */
export const localDateOf = (zone: ZoneClock, instant: Instant): LocalDate =>
  dateOfDayNumber(Math.floor((epochSecondOf(instant) + offsetAt(zone, instant)) / SECONDS_PER_DAY))

/** How far the local clock is ahead of UTC at an instant, in seconds. */
export const offsetAt = (zone: ZoneClock, instant: Instant): number => {
  const second = epochSecondOf(instant)
  return zone.offsets[firstIndex(zone.startsAt, (startsAt) => startsAt > second) - 1]!
}

/** The second, counted from the epoch, in which an instant lies: rounded down, before the epoch too. */
export const epochSecondOf = (instant: Instant): number => {
  const second = instant / NANOS_PER_SECOND
  return Number(instant % NANOS_PER_SECOND < 0n ? second - 1n : second)
}

/** The first index whose value passes the test, or the length if none does. All values after the first must pass too. */
const firstIndex = (values: ReadonlyArray<number>, passes: (value: number) => boolean): number => {
  let low = 0
  let high = values.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (passes(values[middle]!)) high = middle
    else low = middle + 1
  }
  return low
}

const isOffset = (seconds: number): boolean =>
  Number.isInteger(seconds) && Math.abs(seconds) <= MAX_OFFSET_SECONDS

/** Whether a table has offsets that exist, and transitions at whole seconds in strictly ascending order. */
export const isTimeZoneTable = ({ offset_seconds, transitions }: TimeZoneTable): boolean =>
  isOffset(offset_seconds) &&
  transitions.length <= MAX_TRANSITIONS &&
  transitions.every(
    (transition, index) =>
      secondOfText(transition.at) !== undefined &&
      isOffset(transition.offset_seconds) &&
      // Timestamps in a fixed form sort as text.
      (index === 0 || transitions[index - 1]!.at < transition.at)
  )

/** Seconds since the epoch of a UTC timestamp without a fraction; undefined for any other text. */
const secondOfText = (at: string): number | undefined => {
  const match = WHOLE_SECOND.exec(at)
  if (match === null) return undefined
  const [year, month, day, hour, minute, second] = match.slice(1).map(Number) as SixNumbers
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined
  return dayNumberOf({ year, month, day }) * SECONDS_PER_DAY + hour * 3_600 + minute * 60 + second
}

type SixNumbers = [number, number, number, number, number, number]
