/** Budget periods worked out again from a mandate's recorded terms. Shares no code with the domain, on purpose. */
import type { Period } from "@svc/protocol/Mandate"

const SECONDS_PER_DAY = 86_400
const NANOS_PER_MILLISECOND = 1_000_000n
const NANOS_PER_SECOND = 1_000_000_000n

/** Nanoseconds since the epoch of an RFC 3339 text in UTC with up to nine digits of a second. Throws on any other. */
export const nanosOf = (text: string): bigint => {
  const [, seconds, fraction = ""] = /^([^.Z]+)(?:\.(\d{1,9}))?Z$/u.exec(text) ?? []
  const milliseconds = Date.parse(`${seconds}Z`)
  if (Number.isNaN(milliseconds)) throw new RangeError(`${text} is no timestamp`)
  return BigInt(milliseconds) * NANOS_PER_MILLISECOND + BigInt(fraction.padEnd(9, "0"))
}

/** The text of an instant of a whole second, as the service writes it. */
const textOf = (at: bigint): string =>
  new Date(Number(at / NANOS_PER_MILLISECOND)).toISOString().replace("Z", "000000Z")

/** Limits of a budget: an amount in minor units, and a number of executions. */
export interface Cap {
  readonly max_amount?: number | undefined
  readonly max_executions?: number | undefined
}

/** One period of the policy's entry `index`: half-open, in nanoseconds, with the caps that hold in it. */
export interface BudgetPeriod {
  readonly index: number
  readonly startsAt: bigint
  readonly endsAt: bigint
  /** The bounds and caps as the interface shows them. */
  readonly shown: Cap & { readonly starts_at: string; readonly ends_at: string }
}

/** What the calendar needs of the data of `mandate.created`. */
export interface CalendarTerms {
  readonly policy: { readonly periods?: ReadonlyArray<Period> }
  readonly window: { readonly starts_at: string; readonly ends_at: string }
  readonly time_zones: ReadonlyArray<ZoneTable>
}

interface ZoneTable {
  readonly name: string
  readonly offset_seconds: number
  readonly transitions: ReadonlyArray<{ readonly at: string; readonly offset_seconds: number }>
}

interface Segment {
  readonly from: number
  readonly until: number
  readonly offset: number
}

/** Stretches of one offset, in seconds since the epoch. */
const segmentsOf = ({ offset_seconds, transitions }: ZoneTable): ReadonlyArray<Segment> => {
  const starts = [Number.NEGATIVE_INFINITY, ...transitions.map(({ at }) => Date.parse(at) / 1000)]
  const offsets = [offset_seconds, ...transitions.map((transition) => transition.offset_seconds)]
  return starts.map((from, at) => ({
    from,
    until: starts[at + 1] ?? Number.POSITIVE_INFINITY,
    offset: offsets[at] ?? 0
  }))
}

/** The first second at which the local clock shows a day's midnight or anything later. Days count from the epoch. */
const beginningOf = (segments: ReadonlyArray<Segment>, day: number): number => {
  const midnight = day * SECONDS_PER_DAY
  const reached = segments.find(({ offset, until }) => midnight - offset < until)
  if (reached === undefined) throw new RangeError("the last offset of a zone has no end")
  return Math.max(reached.from, midnight - reached.offset)
}

const dayOf = (year: number, month: number, date: number): number =>
  Date.UTC(year, month, date) / (SECONDS_PER_DAY * 1000)

/** The first day of the unit in which a local date lies; that date itself for periods counted from the mandate. */
const anchorOf = ({ alignment, unit }: Period, local: Date): Date => {
  const [year, month, date] = [local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate()]
  const sinceMonday = (local.getUTCDay() + 6) % 7
  if (alignment === "MANDATE" || unit === "DAY") return new Date(Date.UTC(year, month, date))
  if (unit === "WEEK") return new Date(Date.UTC(year, month, date - sinceMonday))
  return new Date(Date.UTC(year, unit === "YEAR" ? 0 : month, 1))
}

/** The day on which the n-th period after the anchor's begins; a month that is too short begins it on its last day. */
const dayAfter = ({ interval, unit }: Period, anchor: Date, count: number): number => {
  const [year, month, date] = [anchor.getUTCFullYear(), anchor.getUTCMonth(), anchor.getUTCDate()]
  const units = count * interval
  if (unit === "DAY") return dayOf(year, month, date + units)
  if (unit === "WEEK") return dayOf(year, month, date + 7 * units)
  const months = month + (unit === "YEAR" ? 12 * units : units)
  return Math.min(dayOf(year, months, date), dayOf(year, months + 1, 0))
}

const capsIn = (rule: Period, opening: bigint, startsAt: bigint, endsAt: bigint): Cap => {
  const isProrated = rule.first_period === "PRORATED" && startsAt <= opening && opening < endsAt
  const share = (cap: number): number =>
    isProrated ? Number((BigInt(cap) * (endsAt - opening)) / (endsAt - startsAt)) : cap
  return {
    ...(rule.max_amount === undefined ? {} : { max_amount: share(rule.max_amount) }),
    ...(rule.max_executions === undefined ? {} : { max_executions: share(rule.max_executions) })
  }
}

/** Finds the period of one rule, walking from the one in which the window opens. */
const periodFinder = (rule: Period, index: number, zone: ZoneTable, opening: bigint) => {
  const segments = segmentsOf(zone)
  const second = Number(opening / NANOS_PER_SECOND)
  const offset = segments.find(({ until }) => second < until)?.offset ?? 0
  const anchor = anchorOf(rule, new Date((second + offset) * 1000))
  const boundaries: Array<bigint> = []
  const boundary = (count: number): bigint => {
    boundaries[count] ??= BigInt(beginningOf(segments, dayAfter(rule, anchor, count))) * NANOS_PER_SECOND
    return boundaries[count]
  }
  return (at: bigint): BudgetPeriod => {
    let count = 0
    // Days that a zone skipped leave boundaries that coincide: those periods contain no instant.
    while (boundary(count + 1) <= at) count++
    const [startsAt, endsAt] = [boundary(count), boundary(count + 1)]
    const caps = capsIn(rule, opening, startsAt, endsAt)
    return {
      index,
      startsAt,
      endsAt,
      shown: { starts_at: textOf(startsAt), ends_at: textOf(endsAt), ...caps }
    }
  }
}

/**
 * Gives the periods that are current at an instant, one per entry of the policy: the first ones before the window, the
 * last ones after it (part 4).
 */
export const recountCalendar = (terms: CalendarTerms): ((at: bigint) => ReadonlyArray<BudgetPeriod>) => {
  const [opening, end] = [nanosOf(terms.window.starts_at), nanosOf(terms.window.ends_at)]
  const finders = (terms.policy.periods ?? []).map((rule, index) => {
    const zone = terms.time_zones.find(({ name }) => name === rule.time_zone)
    if (zone === undefined) throw new RangeError(`${rule.time_zone} has no table`)
    return periodFinder(rule, index, zone, opening)
  })
  return (at) => {
    const within = at < opening ? opening : at >= end ? end - 1n : at
    return finders.map((find) => find(within))
  }
}
