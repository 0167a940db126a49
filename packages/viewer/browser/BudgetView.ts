import type { Proved } from "@svc/verifier"
import type { Used } from "./Budgets.ts"
import { make, section } from "./Elements.ts"
import type { ShownPeriod } from "./EvidenceLists.ts"
import { pagedList } from "./PagedList.ts"
import { counted, exact, instant, money } from "./ShownText.ts"
import type { Opened } from "./Verification.ts"

/** Periods of a budget that are shown at once. */
const PERIODS_PER_PAGE = 36

const BUCKETS = ["committed", "late", "reserved"] as const
const PERCENT = 100
/** Parts of a percent that a bar can tell apart. */
const PARTS_PER_PERCENT = 100n

const percentOf = (part: bigint, whole: bigint): number =>
  whole === 0n ? 0 : Number((part * BigInt(PERCENT) * PARTS_PER_PERCENT) / whole) / Number(PARTS_PER_PERCENT)

interface Amounts {
  readonly parts: Readonly<Record<(typeof BUCKETS)[number], bigint>>
  readonly cap: bigint | undefined
  readonly shown: (value: bigint) => string
}

const inWords = ({ cap, parts, shown }: Amounts): string => {
  const sum = BUCKETS.reduce((all, bucket) => all + parts[bucket], 0n)
  const said = BUCKETS.filter((bucket) => bucket === "committed" || parts[bucket] > 0n).map(
    (bucket) => `${shown(parts[bucket])} ${bucket}`
  )
  const over = cap !== undefined && sum > cap ? ", which is more: late reports count as used" : ""
  return `${said.join(", ")}${cap === undefined ? "" : ` of at most ${shown(cap)}`}${over}`
}

/** A bar as long as the cap, or as what was used if that is more; without a cap there is nothing to measure against. */
const bar = ({ cap, parts }: Amounts): HTMLElement | undefined => {
  if (cap === undefined) return undefined
  const sum = BUCKETS.reduce((all, bucket) => all + parts[bucket], 0n)
  const whole = sum > cap ? sum : cap
  const stretch = make("div", { class: "bar", "aria-hidden": "true" })
  for (const bucket of BUCKETS) {
    if (parts[bucket] === 0n) continue
    const part = make("span", { "data-bucket": bucket })
    part.style.width = `${percentOf(parts[bucket], whole)}%`
    stretch.append(part)
  }
  if (sum > cap) {
    const mark = make("span", { class: "cap" })
    mark.style.insetInlineStart = `${percentOf(cap, whole)}%`
    stretch.append(mark)
  }
  return stretch
}

const amountsOf = (used: Used, cap: number | undefined, currency: string): Amounts => ({
  parts: used,
  cap: cap === undefined ? undefined : BigInt(cap),
  shown: (value) => money(value, currency)
})

const executionsOf = (used: Used, cap: number | undefined): Amounts => ({
  parts: {
    committed: BigInt(used.committedExecutions),
    late: BigInt(used.lateExecutions),
    reserved: BigInt(used.reservedExecutions)
  },
  cap: cap === undefined ? undefined : BigInt(cap),
  shown: String
})

const measured = (amounts: Amounts, noun: string): ReadonlyArray<Node | undefined> => [
  bar(amounts),
  make("p", {}, `${noun}: ${inWords(amounts)}`)
]

const periodRow =
  (currency: string) =>
  ({ dates, endsAt, maxAmount, maxExecutions, startsAt, used }: ShownPeriod): HTMLElement =>
    make(
      "li",
      {},
      make(
        "p",
        { class: "when" },
        make("strong", {}, dates.first === dates.last ? dates.first : `${dates.first} to ${dates.last}`),
        make("span", { class: "soft" }, instant(startsAt), " until before ", instant(endsAt))
      ),
      make(
        "div",
        {},
        ...measured(amountsOf(used, maxAmount, currency), "Amount"),
        ...measured(executionsOf(used, maxExecutions), "Executions")
      )
    )

type Period = NonNullable<Proved["mandate"]["policy"]["periods"]>[number]

const entryTitle = ({ alignment, interval, unit }: Period): string => {
  const every = counted(interval, unit.toLowerCase())
  return alignment === "CALENDAR"
    ? `Each calendar ${unit.toLowerCase()}`
    : `Each ${interval === 1 ? unit.toLowerCase() : every}, counted from the start`
}

const entry = (opened: Opened, period: Period, index: number, currency: string): HTMLElement => {
  const caps = [
    ...(period.max_amount === undefined ? [] : [`at most ${money(period.max_amount, currency)}`]),
    ...(period.max_executions === undefined ? [] : [`at most ${counted(period.max_executions, "execution")}`])
  ]
  const prorated = period.first_period === "PRORATED" ? "; the first, which is shorter, has its share" : ""
  return make(
    "div",
    {},
    make("h3", {}, `Period ${index + 1}: ${entryTitle(period)}`),
    make("p", { class: "soft" }, `${caps.join(", ")}, by the dates of `, exact(period.time_zone), prorated),
    pagedList(opened, {
      kind: "budgets",
      filters: { [String(index)]: "" },
      pageSize: PERIODS_PER_PAGE,
      noun: "Periods",
      row: periodRow(currency)
    })
  )
}

const LEGEND = {
  committed: "committed: reported as executed",
  late: "late: reported after the reservation had ended",
  reserved: "reserved: not reported yet"
} as const satisfies Record<(typeof BUCKETS)[number], string>

const legend = (): HTMLElement =>
  make(
    "p",
    { class: "legend soft" },
    ...BUCKETS.map((bucket) =>
      make(
        "span",
        {},
        make("span", { class: "swatch", "data-bucket": bucket, "aria-hidden": "true" }),
        ` ${LEGEND[bucket]}`
      )
    )
  )

/** What each budget was used for, in all and period by period. */
export const budgetView = (opened: Opened, { mandate }: Proved): HTMLElement => {
  const { currency, max_executions, max_total_amount, periods = [] } = mandate.policy
  return section(
    "budgets",
    "Budgets",
    legend(),
    make("h3", {}, "In all"),
    ...measured(amountsOf(opened.totals, max_total_amount, currency), "Amount"),
    ...measured(executionsOf(opened.totals, mandate.kind === "SINGLE" ? 1 : max_executions), "Executions"),
    ...periods.map((period, index) => entry(opened, period, index, currency))
  )
}
