import type { ReplayedEvent } from "@svc/verifier"

/** What was used of a budget: amounts in minor units. */
export interface Used {
  readonly committed: bigint
  readonly late: bigint
  readonly reserved: bigint
  readonly committedExecutions: number
  readonly lateExecutions: number
  readonly reservedExecutions: number
}

/** One period of a budget, as it stands after the last event. */
export interface BudgetPeriod {
  /** Index in `policy.periods`. */
  readonly entry: number
  readonly startsAt: string
  readonly endsAt: string
  readonly maxAmount?: number
  readonly maxExecutions?: number
  readonly used: Used
}

/** The budgets of a mandate: its totals, and each period that an event fell into, in order of time. */
export interface Budgets {
  readonly totals: Used
  readonly periods: ReadonlyArray<BudgetPeriod>
}

type Bucket = "committed" | "late" | "reserved"
type Counters = { -readonly [Name in keyof Used]: Used[Name] }

const nothingUsed = (): Counters => ({
  committed: 0n,
  late: 0n,
  reserved: 0n,
  committedExecutions: 0,
  lateExecutions: 0,
  reservedExecutions: 0
})

interface OpenPeriod extends Omit<BudgetPeriod, "used"> {
  readonly used: Counters
}

interface Reservation {
  readonly amount: bigint
  readonly periods: ReadonlyArray<OpenPeriod>
}

const add = (used: Counters, bucket: Bucket, amount: bigint, count: 1 | -1): void => {
  used[bucket] += amount * BigInt(count)
  used[`${bucket}Executions`] += count
}

/**
 * Adds up what each period was used for. A replay tells the usage of the periods that are current at an event; what is
 * reported of an earlier one later on shows here alone.
 */
export const addUpBudgets = (): {
  readonly next: (event: ReplayedEvent) => void
  readonly budgets: () => Budgets
} => {
  const totals = nothingUsed()
  const periods = new Map<string, OpenPeriod>()
  const reservations = new Map<string, Reservation>()

  const periodsOf = ({ usage }: ReplayedEvent): ReadonlyArray<OpenPeriod> =>
    usage.periods.map(({ ends_at, max_amount, max_executions, period, starts_at }) => {
      const key = `${period} ${starts_at}`
      const known = periods.get(key) ?? {
        entry: period,
        startsAt: starts_at,
        endsAt: ends_at,
        ...(max_amount === undefined ? {} : { maxAmount: max_amount }),
        ...(max_executions === undefined ? {} : { maxExecutions: max_executions }),
        used: nothingUsed()
      }
      periods.set(key, known)
      return known
    })

  const count = ({ amount, periods: those }: Reservation, bucket: Bucket, by: 1 | -1): void => {
    for (const used of [totals, ...those.map((period) => period.used)]) add(used, bucket, amount, by)
  }

  return {
    next: (replayed) => {
      const current = periodsOf(replayed)
      const { authorization, event } = replayed
      if (authorization === undefined) return
      if (event.type === "authorization.reserved") {
        const reservation = { amount: BigInt(authorization.amount), periods: current }
        reservations.set(authorization.id, reservation)
        count(reservation, "reserved", 1)
        return
      }
      const reservation = reservations.get(authorization.id)
      if (reservation === undefined) return
      if (event.type === "authorization.committed") {
        count(reservation, "reserved", -1)
        count(reservation, "committed", 1)
      } else if (event.type === "authorization.cancelled" || event.type === "authorization.expired") {
        count(reservation, "reserved", -1)
      } else if (event.type === "authorization.outcome_conflict" && event.data.late) {
        // Instants of the service all have nine digits, so that their texts are in order of time.
        const going = reservation.periods.filter(({ endsAt }) => endsAt > event.occurred_at)
        count({ ...reservation, periods: going }, "late", 1)
      }
    },
    budgets: () => ({
      totals,
      periods: [...periods.values()].sort(
        (one, other) => one.entry - other.entry || (one.startsAt < other.startsAt ? -1 : 1)
      )
    })
  }
}
