import type { Period } from "@svc/protocol/Mandate"
import type { Language } from "../StatementLanguage.ts"

/** What a payment may amount to. Amounts come formatted. */
export interface AmountWords {
  readonly atMost: (amount: string) => string
  readonly between: (least: string, most: string) => string
  readonly exactly: (amount: string) => string
}

/**
 * Words of the statement's lines in one language (part 6). A language is complete or it does not compile. Texts are put
 * together here and nowhere else, since every language has an order of its own; what is put in comes formatted.
 */
export interface StatementWords {
  /** Label of the first line, which says the whole in a sentence. */
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
  /** Label of what the one payment may amount to. */
  readonly amount: string
  /** Label of what each of many payments may amount to. */
  readonly eachPayment: string
  /** Values of those two labels. */
  readonly amounts: AmountWords
  readonly howOften: string
  readonly once: string
  readonly repeatedly: string
  /** "each month", "every 2 months", as it is written in mid-sentence. As a label its first letter becomes a capital. */
  readonly each: (unit: Period["unit"], interval: number) => string
  /** What may be authorized in each period of a budget, and the IANA name of the time zone that its periods begin in. */
  readonly inEachPeriod: (caps: string, timeZone: string) => string
  /** One period with its bounds and the most that can be authorized in it. */
  readonly inPeriod: (start: string, end: string, caps: string) => string
  readonly inTotal: string
  readonly atMost: (caps: string) => string
  /** A number of payments: "5 payments". `shown` is the number, formatted. */
  readonly payments: (count: number, shown: string) => string
  readonly actions: string
  readonly merchants: string
  readonly anyMerchant: string
  /** A caller's word within words of ours. */
  readonly quoted: (text: string) => string
  /** Label of the values that an attribute of a payment may have; its name comes quoted. */
  readonly attribute: (name: string) => string
  readonly validFrom: string
  readonly validUntil: string
}

/**
 * Chooses the form of a word that goes with a number, by the plural rules of Unicode CLDR. A language names the categories
 * that it has, and needs a form for each.
 */
export const plurals = <Category extends Intl.LDMLPluralRule>(language: Language) => {
  const rules = new Intl.PluralRules(language)
  return (count: number, forms: Readonly<Record<Category | "other", string>>): string =>
    forms[rules.select(count) as Category]
}
