import { localDateOf, prepareZone } from "@svc/domain/calendar/TimeZoneTable"
import { formatNanos, parseTimestamp } from "@svc/protocol/Timestamp"
import type { ReplayedEvent } from "@svc/verifier"
import { addUpBudgets, type BudgetPeriod, type Used } from "./Budgets.ts"

/** A decision, what became of it, and the events that were reported of it later. */
export interface DecisionRow {
  readonly decision: ReplayedEvent
  readonly later: ReadonlyArray<ReplayedEvent>
}

/** A period with its first and last date in its time zone, by the table that the mandate carries. */
export interface ShownPeriod extends BudgetPeriod {
  readonly dates: { readonly first: string; readonly last: string }
}

/** What the viewer shows in pages. A budget is named by its index in `policy.periods`. */
export interface ListItems {
  readonly events: ReplayedEvent
  readonly decisions: DecisionRow
  readonly budgets: ShownPeriod
}

export type ListKind = keyof ListItems

/** Part of a list. */
export interface Slice {
  readonly kind: ListKind
  /** `all`, the source of events, what was decided, or the index of a budget. */
  readonly filter: string
  readonly from: number
  readonly count: number
}

/** The name of a list. */
export const listName = (kind: ListKind, filter: string): string => `${kind} ${filter}`

export interface EvidenceLists {
  readonly totals: Used
  /** How long each list is, by the name of its kind and filter. */
  readonly lengths: Readonly<Record<string, number>>
  readonly slice: (slice: Slice) => ReadonlyArray<ListItems[ListKind]>
}

const TWO_DIGITS = 2
const FOUR_DIGITS = 4

type Created = Extract<ReplayedEvent["event"], { readonly type: "mandate.created" }>

/** The dates of periods, by the tables of a mandate. */
const datesBy = ({ data }: Created) => {
  const zones = (data.policy.periods ?? []).map(({ time_zone }) => {
    const table = data.time_zones.find(({ name }) => name === time_zone)
    return table && prepareZone(table)
  })
  const dateOf = (entry: number, instant: bigint): string => {
    const zone = zones[entry]
    if (zone === undefined) return formatNanos(instant)
    const { day, month, year } = localDateOf(zone, instant)
    const padded = (value: number, digits: number) => String(value).padStart(digits, "0")
    return `${padded(year, FOUR_DIGITS)}-${padded(month, TWO_DIGITS)}-${padded(day, TWO_DIGITS)}`
  }
  return ({ endsAt, entry, startsAt }: BudgetPeriod): ShownPeriod["dates"] => ({
    first: dateOf(entry, parseTimestamp(startsAt) ?? 0n),
    last: dateOf(entry, (parseTimestamp(endsAt) ?? 1n) - 1n)
  })
}

/** Sorts a replay into the lists that are shown. */
export const listEvidence = (replay: Iterable<ReplayedEvent>): EvidenceLists => {
  const lists = new Map<string, Array<ListItems[ListKind]>>()
  const listOf = (kind: ListKind, filter: string) => {
    const name = listName(kind, filter)
    const list = lists.get(name) ?? []
    lists.set(name, list)
    return list
  }
  const put = (kind: ListKind, filter: string, item: ListItems[ListKind]): void => {
    listOf(kind, filter).push(item)
  }
  const decisions = new Map<string, Array<ReplayedEvent>>()
  const { budgets, next } = addUpBudgets()
  let datesOf: ReturnType<typeof datesBy> | undefined
  for (const replayed of replay) {
    next(replayed)
    if (replayed.event.type === "mandate.created") datesOf = datesBy(replayed.event)
    put("events", "all", replayed)
    put("events", replayed.event.source, replayed)
    const { authorization, decided } = replayed
    if (authorization === undefined) continue
    if (decided === undefined) {
      decisions.get(authorization.id)?.push(replayed)
      continue
    }
    const later: Array<ReplayedEvent> = []
    decisions.set(authorization.id, later)
    for (const filter of ["all", decided.decision]) put("decisions", filter, { decision: replayed, later })
  }
  const { periods, totals } = budgets()
  for (const period of periods) {
    const dates = datesOf?.(period) ?? { first: period.startsAt, last: period.endsAt }
    put("budgets", String(period.entry), { ...period, dates })
  }
  return {
    totals,
    lengths: Object.fromEntries([...lists].map(([name, list]) => [name, list.length])),
    slice: ({ count, filter, from, kind }) =>
      (lists.get(listName(kind, filter)) ?? []).slice(from, from + count)
  }
}
