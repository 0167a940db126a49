/**
 * Where budget periods begin and end (part 4, geometry).
 *
 * Periods are half-open, `[startsAt, endsAt)`, and contiguous: every instant lies in exactly one. Each boundary is the first
 * instant of a local date that is counted from a fixed anchor, so no boundary depends on an earlier one, and any period is
 * found without walking from the first.
 */
import type { Instant } from "@svc/protocol/Timestamp"
import { type DayNumber, dateInMonth, dayNumberOf, type LocalDate, monthNumberOf } from "./LocalDate.ts"
import { firstInstantOfDay, localDateOf, type ZoneClock } from "./TimeZoneTable.ts"

/** One entry of a policy's `periods`, defaults filled. Amounts are in minor units. */
export interface PeriodRule {
  readonly unit: "DAY" | "WEEK" | "MONTH" | "YEAR"
  readonly interval: number
  readonly alignment: "CALENDAR" | "MANDATE"
  readonly time_zone: string
  readonly first_period: "FULL" | "PRORATED"
  readonly max_amount?: number
  readonly max_executions?: number
}

/** A stretch of time that includes `startsAt` and excludes `endsAt`. */
export interface PeriodSpan {
  readonly startsAt: Instant
  readonly endsAt: Instant
}

/** The caps of one period, as far as its rule has them. */
export interface PeriodCaps {
  readonly max_amount?: number
  readonly max_executions?: number
}

/** The stretch of time, in instants, that a time zone table has to cover. */
export interface TableRange {
  readonly from: Instant
  readonly to: Instant
}

const NANOSECONDS_PER_DAY = 86_400_000_000_000n

/** The longest that a unit can last, in days. */
const LONGEST_UNIT_DAYS = { DAY: 1, WEEK: 7, MONTH: 31, YEAR: 366 } as const

/** How far a table reaches before and after the window, in longest intervals. */
const INTERVALS_BEFORE_WINDOW = 2n
const INTERVALS_AFTER_WINDOW = 1n

/** A Monday that begins a month and a year. Every unit that is counted from it falls on its calendar boundaries. */
const CALENDAR_ANCHOR: LocalDate = { year: 2001, month: 1, day: 1 }

/** The one period that contains `instant`, which may lie before the window too. */
export const periodAt = (
  rule: PeriodRule,
  zone: ZoneClock,
  windowStartsAt: Instant,
  instant: Instant
): PeriodSpan => {
  const anchor = rule.alignment === "CALENDAR" ? CALENDAR_ANCHOR : localDateOf(zone, windowStartsAt)
  const boundary = (index: number) => firstInstantOfDay(zone, boundaryDay(rule, anchor, index))
  // The local date gives an approximate index only. A clock that is set back over midnight repeats a date whose successor
  // has already begun, and a skipped date leaves two boundaries that coincide.
  let index = indexNear(rule, anchor, localDateOf(zone, instant))
  let startsAt = boundary(index)
  while (startsAt > instant) startsAt = boundary(--index)
  let endsAt = boundary(index + 1)
  while (endsAt <= instant) {
    startsAt = endsAt
    endsAt = boundary(++index + 1)
  }
  return { startsAt, endsAt }
}

/** The period that follows `span`, skipping empty periods (of skipped dates). */
export const nextPeriod = (
  rule: PeriodRule,
  zone: ZoneClock,
  windowStartsAt: Instant,
  span: PeriodSpan
): PeriodSpan => periodAt(rule, zone, windowStartsAt, span.endsAt)

/**
 * The caps of a period: those of the rule. For the first period of a `PRORATED` rule (the one that contains
 * `windowStartsAt`) each cap is reduced to the remaining share of the period, rounded down; it may be 0.
 */
export const capsIn = (rule: PeriodRule, windowStartsAt: Instant, span: PeriodSpan): PeriodCaps => {
  const isFirst = span.startsAt <= windowStartsAt && windowStartsAt < span.endsAt
  const share =
    rule.first_period === "PRORATED" && isFirst
      ? (cap: number) =>
          Number((BigInt(cap) * (span.endsAt - windowStartsAt)) / (span.endsAt - span.startsAt))
      : (cap: number) => cap
  return {
    ...(rule.max_amount === undefined ? {} : { max_amount: share(rule.max_amount) }),
    ...(rule.max_executions === undefined ? {} : { max_executions: share(rule.max_executions) })
  }
}

/**
 * Up to `limit` consecutive periods with their caps. The first contains `from`, or the window's start if that is later. None
 * starts at or after the window's end.
 */
export const periodsFrom = (
  rule: PeriodRule,
  zone: ZoneClock,
  window: PeriodSpan,
  from: Instant,
  limit: number
): ReadonlyArray<PeriodSpan & PeriodCaps> => {
  const first = from < window.startsAt ? window.startsAt : from
  const periods: Array<PeriodSpan & PeriodCaps> = []
  let span = periodAt(rule, zone, window.startsAt, first)
  while (periods.length < limit && span.startsAt < window.endsAt) {
    periods.push({ ...span, ...capsIn(rule, window.startsAt, span) })
    span = nextPeriod(rule, zone, window.startsAt, span)
  }
  return periods
}

/**
 * The range that a time zone table of a mandate covers (part 4, `time_zones`), given the rules that name the zone: from two of
 * their longest intervals before the window's start to one after its end, where the last period ends.
 */
export const tableRange = (rules: ReadonlyArray<PeriodRule>, window: PeriodSpan): TableRange => {
  const days = Math.max(0, ...rules.map((rule) => rule.interval * LONGEST_UNIT_DAYS[rule.unit]))
  const longest = BigInt(days) * NANOSECONDS_PER_DAY
  return {
    from: window.startsAt - INTERVALS_BEFORE_WINDOW * longest,
    to: window.endsAt + INTERVALS_AFTER_WINDOW * longest
  }
}

/**
 * The local date at which the period with this index begins, `index` intervals from the anchor. Months and years are counted
 * from the anchor itself, so that periods return to the 31st after a shorter month.
 */
const boundaryDay = (rule: PeriodRule, anchor: LocalDate, index: number): DayNumber => {
  const units = index * rule.interval
  switch (rule.unit) {
    case "DAY":
      return dayNumberOf(anchor) + units
    case "WEEK":
      return dayNumberOf(anchor) + 7 * units
    case "MONTH":
      return dayNumberOf(dateInMonth(monthNumberOf(anchor) + units, anchor.day))
    case "YEAR":
      return dayNumberOf(dateInMonth(monthNumberOf(anchor) + 12 * units, anchor.day))
  }
}

/** The index of the period that contains a local date by the calendar: exact or one too high. */
const indexNear = (rule: PeriodRule, anchor: LocalDate, date: LocalDate): number => {
  switch (rule.unit) {
    case "DAY":
      return Math.floor((dayNumberOf(date) - dayNumberOf(anchor)) / rule.interval)
    case "WEEK":
      return Math.floor((dayNumberOf(date) - dayNumberOf(anchor)) / (7 * rule.interval))
    case "MONTH":
      return Math.floor((monthNumberOf(date) - monthNumberOf(anchor)) / rule.interval)
    case "YEAR":
      return Math.floor((date.year - anchor.year) / rule.interval)
  }
}
