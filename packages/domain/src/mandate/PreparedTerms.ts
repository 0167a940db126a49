import type { Period } from "@svc/protocol/Mandate"
import { type Instant, parseTimestamp } from "@svc/protocol/Timestamp"
import { periodAt } from "../calendar/PeriodGeometry.ts"
import { prepareZone, type ZoneClock } from "../calendar/TimeZoneTable.ts"
import type { MandateTerms } from "./JournalFact.ts"
import type { PinnedPeriod } from "./MandateState.ts"

/** The instants and clocks that the immutable terms of a mandate spell out as text. */
export interface PreparedTerms {
  readonly startsAt: Instant
  readonly endsAt: Instant
  readonly approvalDeadline: Instant
  /** One entry per policy period, with the clock of its zone. */
  readonly periods: ReadonlyArray<{ readonly rule: Period; readonly zone: ZoneClock }>
}

/** An instant from text that was checked when it was recorded. */
export const instantOf = (text: string): Instant => {
  const instant = parseTimestamp(text)
  if (instant === undefined) throw new Error("a recorded timestamp does not parse")
  return instant
}

const prepare = (terms: MandateTerms): PreparedTerms => {
  const zones = new Map(terms.time_zones.map((table) => [table.name, prepareZone(table)]))
  return {
    startsAt: instantOf(terms.window.starts_at),
    endsAt: instantOf(terms.window.ends_at),
    approvalDeadline: instantOf(terms.approval_deadline),
    periods: (terms.policy.periods ?? []).map((rule) => {
      const zone = zones.get(rule.time_zone)
      if (zone === undefined) throw new Error("the time zone of a period was not recorded")
      return { rule, zone }
    })
  }
}

const prepared = new WeakMap<MandateTerms, PreparedTerms>()

/** Parses the terms of a mandate once for as long as they are in use. */
export const prepareTerms = (terms: MandateTerms): PreparedTerms => {
  const known = prepared.get(terms)
  if (known !== undefined) return known
  const fresh = prepare(terms)
  prepared.set(terms, fresh)
  return fresh
}

/** An instant, or the last one of the window if it lies after that. */
export const clampToWindowEnd = ({ endsAt }: Pick<PreparedTerms, "endsAt">, instant: Instant): Instant =>
  instant < endsAt ? instant : endsAt - 1n

/** The periods that were current when they were last asked for. */
const lastPeriods = new WeakMap<PreparedTerms, ReadonlyArray<PinnedPeriod>>()

/**
 * The periods that are current at `instant`, one per policy period: before the window the first ones, after it the
 * last ones (part 4). A command asks several times at one instant, so the last ones are kept while each is current.
 */
export const currentPeriods = (terms: MandateTerms, instant: Instant): ReadonlyArray<PinnedPeriod> => {
  const own = prepareTerms(terms)
  const { periods, startsAt } = own
  const within = instant < startsAt ? startsAt : clampToWindowEnd(own, instant)
  const last = lastPeriods.get(own)
  if (last?.every((period) => period.startsAt <= within && within < period.endsAt)) return last
  const current = periods.map(({ rule, zone }, period) => ({
    period,
    ...periodAt(rule, zone, startsAt, within)
  }))
  lastPeriods.set(own, current)
  return current
}
