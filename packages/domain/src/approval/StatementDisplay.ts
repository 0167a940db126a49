import { formatMajorUnits, minorUnit } from "@svc/protocol/Currency"
import { ISO_4217_MINOR_UNITS } from "@svc/protocol/Iso4217"
import { MAX_SAFE_INTEGER, type Policy } from "@svc/protocol/Mandate"
import { type Instant, NANOS_PER_MILLISECOND, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { periodsFrom } from "../calendar/PeriodGeometry.ts"
import { offsetAt, type ZoneClock } from "../calendar/TimeZoneTable.ts"
import type { MandateTerms } from "../mandate/JournalFact.ts"
import { prepareTerms } from "../mandate/PreparedTerms.ts"
import type { DisplayLine } from "./ApprovalStatement.ts"
import { isolated } from "./BidiIsolation.ts"
import { directionOf, formattingLocale, type Language } from "./StatementLanguage.ts"
import { exactText, visibleText } from "./VisibleText.ts"
import { STATEMENT_WORDS } from "./words/Dictionaries.ts"
import type { AmountWords, StatementWords } from "./words/StatementWords.ts"

/** Periods whose bounds the page spells out, per policy period. */
const SHOWN_PERIODS = 2

interface Writer {
  readonly language: Language
  readonly locale: string
  readonly words: StatementWords
  readonly currency: string
  readonly exponent: number
  readonly currencyDisplay: "symbol" | "code"
  readonly list: Intl.ListFormat
}

const symbolOf = (locale: string, currency: string): string => {
  const parts = new Intl.NumberFormat(locale, { style: "currency", currency }).formatToParts(0)
  const symbol = parts.find(({ type }) => type === "currency")?.value ?? currency
  // Symbols that differ only in spaces, marks or case look alike.
  return symbol.replaceAll(/[^\p{L}\p{N}\p{S}]/gu, "").toUpperCase()
}

/** How many currencies have each symbol, by locale. */
const symbolCounts = new Map<string, ReadonlyMap<string, number>>()

const countSymbols = (locale: string): ReadonlyMap<string, number> => {
  const known = symbolCounts.get(locale)
  if (known !== undefined) return known
  const counts = new Map<string, number>()
  for (const currency of ISO_4217_MINOR_UNITS.keys()) {
    const symbol = symbolOf(locale, currency)
    counts.set(symbol, (counts.get(symbol) ?? 0) + 1)
  }
  symbolCounts.set(locale, counts)
  return counts
}

/** A currency that shares its symbol with another in the language is shown by its code. */
const currencyDisplayOf = (locale: string, currency: string): Writer["currencyDisplay"] =>
  countSymbols(locale).get(symbolOf(locale, currency)) === 1 ? "symbol" : "code"

const writerIn = (language: Language, currency: string): Writer => ({
  language,
  locale: formattingLocale(language),
  words: STATEMENT_WORDS[language],
  currency,
  exponent: minorUnit(currency) ?? 0,
  currencyDisplay: currencyDisplayOf(formattingLocale(language), currency),
  list: new Intl.ListFormat(language, { type: "conjunction" })
})

/** A text inserted into one of the language, isolated so that it does not reorder its neighbours. */
const embedded = ({ language }: Writer, text: string): string => isolated(text, directionOf(language))

/** An amount in major units with the exponent of ISO 4217, not of the locale library (part 6). */
const money = (writer: Writer, amount: number): string => {
  const { currency, currencyDisplay, exponent, locale } = writer
  const text = new Intl.NumberFormat(locale, {
    style: "currency",
    currency,
    currencyDisplay,
    minimumFractionDigits: exponent,
    maximumFractionDigits: exponent
  }).format(formatMajorUnits(amount, exponent) as Intl.StringNumericLiteral)
  return embedded(writer, text)
}

const SECONDS_PER_MINUTE = 60n

/** Months by name: readers of one language differ in how they order numeric dates. */
const MOMENT = {
  timeZone: "UTC",
  year: "numeric",
  month: "short",
  day: "numeric",
  hour: "numeric",
  minute: "2-digit"
} as const satisfies Intl.DateTimeFormatOptions

const moment = (writer: Writer, zone: ZoneClock | undefined, instant: Instant): string => {
  const offset = zone === undefined ? 0n : BigInt(offsetAt(zone, instant)) * NANOS_PER_SECOND
  // With seconds if there are any: otherwise windows that differ by less than a minute would look alike.
  const seconds =
    (instant / NANOS_PER_SECOND) % SECONDS_PER_MINUTE === 0n ? {} : { second: "2-digit" as const }
  const text = new Intl.DateTimeFormat(writer.locale, { ...MOMENT, ...seconds }).format(
    Number((instant + offset) / NANOS_PER_MILLISECOND)
  )
  return embedded(writer, zone === undefined ? `${text} UTC` : text)
}

const caps = (
  writer: Writer,
  limits: { readonly max_amount?: number; readonly max_executions?: number }
): string => {
  const { list, locale, words } = writer
  const { max_amount: amount, max_executions: count } = limits
  return list.format([
    ...(amount === undefined ? [] : [money(writer, amount)]),
    ...(count === undefined ? [] : [words.payments(count, new Intl.NumberFormat(locale).format(count))])
  ])
}

const amountText = (writer: Writer, words: AmountWords, { max_amount, min_amount }: Policy): string => {
  if (min_amount === max_amount) return words.exactly(money(writer, max_amount))
  return min_amount > 1
    ? words.between(money(writer, min_amount), money(writer, max_amount))
    : words.atMost(money(writer, max_amount))
}

/** The limits of the mandate as a whole; a total that no sum of payments can reach is omitted. */
const totalOf = (policy: Policy): { readonly max_amount?: number; readonly max_executions?: number } => ({
  ...(policy.max_total_amount !== undefined && policy.max_total_amount < MAX_SAFE_INTEGER
    ? { max_amount: policy.max_total_amount }
    : {}),
  ...(policy.max_executions === undefined ? {} : { max_executions: policy.max_executions })
})

const summary = (writer: Writer, terms: MandateTerms, organizationName: string, now: Instant): string => {
  const { words } = writer
  const { policy } = terms
  const { endsAt, periods, startsAt } = prepareTerms(terms)
  const end = moment(writer, undefined, endsAt)
  const said = {
    who: embedded(writer, visibleText(organizationName)),
    amount: amountText(writer, words.ofAmount, policy),
    when: startsAt <= now ? words.until(end) : words.fromUntil(moment(writer, undefined, startsAt), end)
  }
  if (terms.kind === "SINGLE") return words.allowOnce(said)
  const total = caps(writer, totalOf(policy))
  const limits = [
    ...periods.map(({ rule }) => words.limitEach(caps(writer, rule), words.each(rule.unit, rule.interval))),
    ...(total === "" ? [] : [words.limitInTotal(total)])
  ]
  return words.allowRepeatedly({ ...said, limits: writer.list.format(limits) })
}

/** Capitalized, in scripts that have capitals. */
const asLabel = ({ language }: Writer, text: string): string => {
  const [first = "", ...rest] = text
  return first.toLocaleUpperCase(language) + rest.join("")
}

const periodLines = (writer: Writer, terms: MandateTerms, now: Instant): ReadonlyArray<DisplayLine> => {
  const { words } = writer
  const { startsAt, endsAt, periods } = prepareTerms(terms)
  return periods.flatMap(({ rule, zone }) => {
    const label = asLabel(writer, words.each(rule.unit, rule.interval))
    const next = periodsFrom(rule, zone, { startsAt, endsAt }, now, SHOWN_PERIODS)
    return [
      { label, value: words.inEachPeriod(caps(writer, rule), embedded(writer, rule.time_zone)) },
      ...next.map((period) => ({
        label,
        value: words.inPeriod(
          moment(writer, zone, period.startsAt),
          moment(writer, zone, period.endsAt),
          caps(writer, period)
        )
      }))
    ]
  })
}

const totalLines = (writer: Writer, policy: Policy): ReadonlyArray<DisplayLine> => {
  const total = caps(writer, totalOf(policy))
  return total === "" ? [] : [{ label: writer.words.inTotal, value: writer.words.atMost(total) }]
}

/** One line per entry, so that no entry can look like two. */
const listed = (label: string, entries: ReadonlyArray<string>): ReadonlyArray<DisplayLine> =>
  entries.map((entry) => ({ label, value: exactText(entry) }))

/** A merchant that is named like one of the page's own words is quoted. */
const merchantLines = ({ words }: Writer, merchants: ReadonlyArray<string>): ReadonlyArray<DisplayLine> =>
  listed(words.merchants, merchants).map(({ label, value }) => ({
    label,
    value: alike(value) === alike(words.anyMerchant) ? words.quoted(value) : value
  }))

const alike = (text: string): string => text.normalize("NFKC").toLowerCase()

/**
 * The lines that the approval page shows of a mandate, and that the passkey signs (part 6), in the language shown: the
 * whole in a sentence, who asks, what for, every rule of the policy, the next periods with the caps of each,
 * and the window.
 */
export const displayLines = (
  terms: MandateTerms,
  organizationName: string,
  now: Instant,
  language: Language
): { readonly locale: Language; readonly lines: ReadonlyArray<DisplayLine> } => {
  const { policy } = terms
  const { startsAt, endsAt } = prepareTerms(terms)
  const writer = writerIn(language, policy.currency)
  const { words } = writer
  const isOnce = terms.kind === "SINGLE"
  return {
    locale: language,
    lines: [
      { label: words.inShort, value: summary(writer, terms, organizationName, now) },
      { label: words.whoAsks, value: visibleText(organizationName) },
      ...(terms.description === undefined
        ? []
        : [{ label: words.whatFor, value: visibleText(terms.description) }]),
      { label: isOnce ? words.amount : words.eachPayment, value: amountText(writer, words.amounts, policy) },
      { label: words.howOften, value: isOnce ? words.once : words.repeatedly },
      ...periodLines(writer, terms, now),
      ...totalLines(writer, policy),
      ...listed(words.actions, policy.allowed_actions),
      ...(policy.allowed_merchants === undefined
        ? [{ label: words.merchants, value: words.anyMerchant }]
        : merchantLines(writer, policy.allowed_merchants)),
      ...(policy.attribute_rules ?? []).flatMap((rule) =>
        listed(words.attribute(words.quoted(embedded(writer, exactText(rule.name)))), rule.in)
      ),
      { label: words.validFrom, value: moment(writer, undefined, startsAt) },
      { label: words.validUntil, value: moment(writer, undefined, endsAt) }
    ]
  }
}
