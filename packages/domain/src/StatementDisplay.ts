import { formatMajorUnits, minorUnit } from "@svc/protocol/Currency"
import { MAX_SAFE_INTEGER, type Period, type Policy } from "@svc/protocol/Mandate"
import { type Instant, NANOS_PER_MILLISECOND, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import type { DisplayLine } from "./ApprovalStatement.ts"
import type { MandateTerms } from "./JournalFact.ts"
import { periodsFrom } from "./PeriodGeometry.ts"
import { prepareTerms } from "./PreparedTerms.ts"
import { offsetAt, type ZoneClock } from "./TimeZoneTable.ts"
import { visibleText } from "./VisibleText.ts"

/** Periods whose bounds the page spells out, per policy period. */
const SHOWN_PERIODS = 2

/** Words of the approval page in one language. A language is complete or it does not compile. */
export interface StatementWords {
  readonly whoAsks: string
  readonly whatFor: string
  readonly eachPayment: string
  readonly howOften: string
  readonly inTotal: string
  readonly actions: string
  readonly merchants: string
  readonly anyMerchant: string
  readonly attribute: (name: string) => string
  readonly validFrom: string
  readonly validUntil: string
  readonly once: string
  readonly repeatedly: string
  readonly atMost: (amount: string) => string
  readonly between: (least: string, most: string) => string
  readonly executions: (count: number) => string
  readonly budget: (unit: Period["unit"], interval: number) => string
  readonly authorized: (caps: string, zone: string) => string
  readonly span: (from: string, until: string, caps: string) => string
  readonly and: string
}

const UNITS = { DAY: "day", WEEK: "week", MONTH: "month", YEAR: "year" } as const

const ENGLISH: StatementWords = {
  whoAsks: "Who asks",
  whatFor: "What for",
  eachPayment: "Each payment",
  howOften: "How often",
  inTotal: "In total",
  actions: "Allowed actions",
  merchants: "Allowed merchants",
  anyMerchant: "Any merchant",
  attribute: (name) => `Only if ${name} is`,
  validFrom: "Valid from",
  validUntil: "Valid until",
  once: "Once",
  repeatedly: "Repeatedly, within the limits below",
  atMost: (amount) => `At most ${amount}`,
  between: (least, most) => `From ${least} to ${most}`,
  executions: (count) => (count === 1 ? "1 payment" : `${count} payments`),
  budget: (unit, interval) => (interval === 1 ? `Each ${UNITS[unit]}` : `Every ${interval} ${UNITS[unit]}s`),
  authorized: (caps, zone) => `At most ${caps} authorized in each period (time zone ${zone})`,
  span: (from, until, caps) => `${from} to ${until}: at most ${caps}`,
  and: " and "
}

interface Writer {
  readonly locale: string
  readonly words: StatementWords
  readonly currency: string
  readonly exponent: number
}

/** An amount in major units with the exponent of ISO 4217, not of the locale library (part 6). */
const money = ({ locale, currency, exponent }: Writer, amount: number): string =>
  new Intl.NumberFormat(locale, {
    style: "currency",
    currency,
    minimumFractionDigits: exponent,
    maximumFractionDigits: exponent
  }).format(formatMajorUnits(amount, exponent) as Intl.StringNumericLiteral)

const moment = ({ locale }: Writer, zone: ZoneClock | undefined, instant: Instant): string => {
  const offset = zone === undefined ? 0n : BigInt(offsetAt(zone, instant)) * NANOS_PER_SECOND
  const text = new Intl.DateTimeFormat(locale, {
    calendar: "gregory",
    timeZone: "UTC",
    dateStyle: "medium",
    timeStyle: "short"
  }).format(Number((instant + offset) / NANOS_PER_MILLISECOND))
  return zone === undefined ? `${text} UTC` : text
}

const caps = (
  writer: Writer,
  limits: { readonly max_amount?: number; readonly max_executions?: number }
): string =>
  [
    ...(limits.max_amount === undefined ? [] : [money(writer, limits.max_amount)]),
    ...(limits.max_executions === undefined ? [] : [writer.words.executions(limits.max_executions)])
  ].join(writer.words.and)

const periodLines = (writer: Writer, terms: MandateTerms, now: Instant): ReadonlyArray<DisplayLine> => {
  const { startsAt, endsAt, periods } = prepareTerms(terms)
  return periods.flatMap(({ rule, zone }) => {
    const label = writer.words.budget(rule.unit, rule.interval)
    const next = periodsFrom(rule, zone, { startsAt, endsAt }, now, SHOWN_PERIODS)
    return [
      { label, value: writer.words.authorized(caps(writer, rule), rule.time_zone) },
      ...next.map((period) => ({
        label,
        value: writer.words.span(
          moment(writer, zone, period.startsAt),
          moment(writer, zone, period.endsAt),
          caps(writer, period)
        )
      }))
    ]
  })
}

const amountLine = (writer: Writer, policy: Policy): DisplayLine => ({
  label: writer.words.eachPayment,
  value:
    policy.min_amount > 1
      ? writer.words.between(money(writer, policy.min_amount), money(writer, policy.max_amount))
      : writer.words.atMost(money(writer, policy.max_amount))
})

const totalLines = (writer: Writer, policy: Policy): ReadonlyArray<DisplayLine> => {
  const bounded = policy.max_total_amount !== undefined && policy.max_total_amount < MAX_SAFE_INTEGER
  if (!bounded && policy.max_executions === undefined) return []
  const limits = {
    ...(bounded ? { max_amount: policy.max_total_amount } : {}),
    ...(policy.max_executions === undefined ? {} : { max_executions: policy.max_executions })
  }
  return [{ label: writer.words.inTotal, value: writer.words.atMost(caps(writer, limits)) }]
}

const listed = (entries: ReadonlyArray<string>): string => entries.map(visibleText).join(", ")

/**
 * The lines that the approval page shows of a mandate, and that the passkey signs (part 6): who asks, what for, every
 * rule of the policy, the window, and the next periods with the most that can be authorized in each.
 */
export const displayLines = (
  terms: MandateTerms,
  organizationName: string,
  now: Instant
): { readonly locale: string; readonly lines: ReadonlyArray<DisplayLine> } => {
  const { policy } = terms
  const { startsAt, endsAt } = prepareTerms(terms)
  const words = ENGLISH
  const writer: Writer = {
    locale: "en",
    words,
    currency: policy.currency,
    exponent: minorUnit(policy.currency) ?? 0
  }
  return {
    locale: writer.locale,
    lines: [
      { label: words.whoAsks, value: visibleText(organizationName) },
      ...(terms.description === undefined
        ? []
        : [{ label: words.whatFor, value: visibleText(terms.description) }]),
      amountLine(writer, policy),
      { label: words.howOften, value: terms.kind === "SINGLE" ? words.once : words.repeatedly },
      ...periodLines(writer, terms, now),
      ...totalLines(writer, policy),
      { label: words.actions, value: listed(policy.allowed_actions) },
      {
        label: words.merchants,
        value: policy.allowed_merchants === undefined ? words.anyMerchant : listed(policy.allowed_merchants)
      },
      ...(policy.attribute_rules ?? []).map((rule) => ({
        label: words.attribute(visibleText(rule.name)),
        value: listed(rule.in)
      })),
      { label: words.validFrom, value: moment(writer, undefined, startsAt) },
      { label: words.validUntil, value: moment(writer, undefined, endsAt) }
    ]
  }
}
