/** The budget of a mandate added up again: in all and by period. Shares no code with the domain, on purpose. */
import { MAX_SAFE_INTEGER, type Policy } from "@svc/protocol/Mandate"
import { type BudgetPeriod, type CalendarTerms, type Cap, recountCalendar } from "./RecountCalendar.ts"

export const COUNTERS = ["committed", "reserved", "late"] as const
export type Counter = (typeof COUNTERS)[number]

/** Use of one budget: per counter an amount in minor units, and a number of executions. */
export type Use = Readonly<Record<Counter, { amount: bigint; executions: number }>>

const noUse = (): Use => ({
  committed: { amount: 0n, executions: 0 },
  reserved: { amount: 0n, executions: 0 },
  late: { amount: 0n, executions: 0 }
})

/** Six counters as the interface shows them. */
const shownUse = (use: Use): Readonly<Record<string, number>> =>
  Object.fromEntries(
    COUNTERS.flatMap((counter) => [
      [`${counter}_amount`, Math.min(Number(use[counter].amount), MAX_SAFE_INTEGER)],
      [`${counter}_executions`, use[counter].executions]
    ])
  )

const isOver = (use: Use, { max_amount, max_executions }: Cap, counters: ReadonlyArray<Counter>): boolean => {
  const amount = counters.reduce((sum, counter) => sum + use[counter].amount, 0n)
  const executions = counters.reduce((sum, counter) => sum + use[counter].executions, 0)
  const isAmountOver = max_amount !== undefined && amount > BigInt(max_amount)
  return isAmountOver || (max_executions !== undefined && executions > max_executions)
}

/** A period in which something was reserved. */
export interface UsedPeriod {
  readonly period: BudgetPeriod
  readonly use: Use
}

export interface BudgetTerms extends CalendarTerms {
  readonly kind: "SINGLE" | "RECURRING"
  readonly policy: Policy
}

export interface RecountBudget {
  readonly totals: Use
  /** By `index:start in nanoseconds`. */
  readonly periods: ReadonlyMap<string, UsedPeriod>
  /** Adds to a counter, in all and in the periods given, or takes from it. */
  readonly spend: (
    counter: Counter,
    amount: bigint,
    periods: ReadonlyArray<BudgetPeriod>,
    times?: 1 | -1
  ) => void
  /** Where these counters together are over a cap, in all and in the periods given or in every one; empty when they are not. */
  readonly overspent: (
    counters: ReadonlyArray<Counter>,
    within?: ReadonlyArray<BudgetPeriod>
  ) => ReadonlyArray<string>
  /** Whether what is committed leaves nothing to authorize. */
  readonly isUsedUp: () => boolean
  readonly periodsAt: (at: bigint) => ReadonlyArray<BudgetPeriod>
  /** The `usage` that the interface shows at an instant. */
  readonly usageAt: (at: bigint) => object
}

const keyOf = ({ index, startsAt }: BudgetPeriod): string => `${index}:${startsAt}`

export const recountBudget = (terms: BudgetTerms): RecountBudget => {
  const { max_amount, max_executions, max_total_amount } = terms.policy
  const cap: Cap =
    terms.kind === "SINGLE"
      ? { max_amount, max_executions: 1 }
      : { max_amount: max_total_amount, max_executions }
  const periodsAt = recountCalendar(terms)
  const totals = noUse()
  const periods = new Map<string, UsedPeriod>()

  const useIn = (period: BudgetPeriod): Use => {
    const { use } = periods.get(keyOf(period)) ?? { use: noUse() }
    periods.set(keyOf(period), { period, use })
    return use
  }
  return {
    totals,
    periods,
    periodsAt,
    spend: (counter, amount, within, times = 1) => {
      for (const use of [totals, ...within.map(useIn)]) {
        use[counter].amount += amount * BigInt(times)
        use[counter].executions += times
      }
    },
    overspent: (counters, within) => [
      ...(isOver(totals, cap, counters) ? ["the total"] : []),
      ...[...periods]
        .filter(([key]) => within?.some((period) => keyOf(period) === key) ?? true)
        .filter(([, { period, use }]) => isOver(use, period.shown, counters))
        .map(([key]) => `period ${key}`)
    ],
    isUsedUp: () =>
      (terms.kind === "RECURRING" &&
        cap.max_amount !== undefined &&
        totals.committed.amount >= BigInt(cap.max_amount)) ||
      (cap.max_executions !== undefined && totals.committed.executions >= cap.max_executions),
    usageAt: (at) => ({
      ...shownUse(totals),
      periods: periodsAt(at).map((period) => ({
        period: period.index,
        ...period.shown,
        ...shownUse(periods.get(keyOf(period))?.use ?? noUse())
      }))
    })
  }
}
