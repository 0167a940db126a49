import type { PeriodUsage, Usage } from "@svc/protocol/Mandate"
import { formatNanos, type Instant } from "@svc/protocol/Timestamp"
import { capsIn } from "../calendar/PeriodGeometry.ts"
import { NO_USE, shownCounters } from "./Counters.ts"
import type { Counters, MandateState, PinnedPeriod } from "./MandateState.ts"
import { currentPeriods, prepareTerms } from "./PreparedTerms.ts"

/** What was used of one period. */
export const countersIn = (mandate: MandateState, pinned: PinnedPeriod): Counters =>
  mandate.periods.find((entry) => entry.period === pinned.period && entry.startsAt === pinned.startsAt)
    ?.counters ?? NO_USE

const periodUsage = (mandate: MandateState, pinned: PinnedPeriod): PeriodUsage => {
  const { startsAt, periods } = prepareTerms(mandate.terms)
  const entry = periods[pinned.period]
  return {
    period: pinned.period,
    starts_at: formatNanos(pinned.startsAt),
    ends_at: formatNanos(pinned.endsAt),
    ...(entry === undefined ? {} : capsIn(entry.rule, startsAt, pinned)),
    ...shownCounters(countersIn(mandate, pinned))
  }
}

/** The `usage` of a mandate at an instant: totals and current periods (part 4). */
export const usageAt = (mandate: MandateState, instant: Instant): Usage => ({
  ...shownCounters(mandate.totals),
  periods: currentPeriods(mandate.terms, instant).map((pinned) => periodUsage(mandate, pinned))
})
