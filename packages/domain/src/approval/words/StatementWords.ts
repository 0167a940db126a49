import type { Period } from "@svc/protocol/Mandate"
import type { Language } from "../StatementLanguage.ts"

/** Phrases for the amount of a payment. Amounts are passed formatted. */
export interface AmountWords {
  readonly atMost: (amount: string) => string
  readonly between: (least: string, most: string) => string
  readonly exactly: (amount: string) => string
}

/**
 * The words of the statement's lines in one language (part 6). A language with a missing entry does not compile. Phrases are
 * put together only here, because word order differs between languages. All arguments are passed formatted.
 */
export interface StatementWords {
  /** Label of the first line, which summarizes the mandate in a sentence. */
  readonly inShort: string
  /** A sentence. `amount` is one of `ofAmount`, `when` is `until` or `fromUntil`. */
  readonly allowOnce: (said: {
    readonly who: string
    readonly amount: string
    readonly when: string
  }) => string
  /** A sentence. `limits` are `limitEach` and `limitInTotal`, joined as a list. */
  readonly allowRepeatedly: (said: {
    readonly who: string
    readonly amount: string
    readonly limits: string
    readonly when: string
  }) => string
  /** Follows the word for payment in the sentences: "of up to €50.00". */
  readonly ofAmount: AmountWords
  /** "at most €200.00 and 5 payments each month": `each` is `each`, `caps` amount and number of payments as a list. */
  readonly limitEach: (caps: string, each: string) => string
  readonly limitInTotal: (caps: string) => string
  readonly until: (end: string) => string
  readonly fromUntil: (start: string, end: string) => string

  readonly whoAsks: string
  readonly whatFor: string
  /** Label of the amount of a single payment. */
  readonly amount: string
  /** Label of the amount of each of several payments. */
  readonly eachPayment: string
  /** Values of these two labels. */
  readonly amounts: AmountWords
  readonly howOften: string
  readonly once: string
  readonly repeatedly: string
  /** "each month", "every 2 months", as written within a sentence. In a label its first letter is capitalized. */
  readonly each: (unit: Period["unit"], interval: number) => string
  /** The caps of each period of a budget, and the IANA name of the time zone in which the periods begin. */
  readonly inEachPeriod: (caps: string, timeZone: string) => string
  /** One period with its bounds and its caps. */
  readonly inPeriod: (start: string, end: string, caps: string) => string
  readonly inTotal: string
  readonly atMost: (caps: string) => string
  /** A number of payments: "5 payments". `shown` is the number, formatted. */
  readonly payments: (count: number, shown: string) => string
  readonly actions: string
  readonly merchants: string
  readonly anyMerchant: string
  /** A text of the caller, quoted within the service's own words. */
  readonly quoted: (text: string) => string
  /** Label of the values that an attribute of a payment may have. The name is passed quoted. */
  readonly attribute: (name: string) => string
  readonly validFrom: string
  readonly validUntil: string
}

/**
 * Chooses the form of a word for a number, by the plural rules of Unicode CLDR. A language names its categories and needs a
 * form for each.
 */
export const plurals = <Category extends Intl.LDMLPluralRule>(language: Language) => {
  const rules = new Intl.PluralRules(language)
  return (count: number, forms: Readonly<Record<Category | "other", string>>): string =>
    forms[rules.select(count) as Category]
}
