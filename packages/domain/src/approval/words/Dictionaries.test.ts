import { assert, describe, it } from "@effect/vitest"
import type { Policy } from "@svc/protocol/Mandate"
import { CREATED, MONTHLY, recurring, single } from "../../../test/MandateStory.ts"
import { berlin } from "../../../test/ZoneTables.ts"
import { displayLines } from "../StatementDisplay.ts"
import { directionOf, LANGUAGES, type Language } from "../StatementLanguage.ts"
import { STATEMENT_WORDS } from "./Dictionaries.ts"
import type { StatementWords } from "./StatementWords.ts"

const UNITS = ["DAY", "WEEK", "MONTH", "YEAR"] as const
/** Numbers that reach every plural category of every language. */
const COUNTS = [0, 1, 2, 3, 5, 11, 12, 21, 22, 25, 100, 101, 102, 366, 1_000_000]

const EVERYTHING: Partial<Policy> = {
  min_amount: 100,
  allowed_actions: ["card.create"],
  allowed_merchants: ["mrc_42"],
  attribute_rules: [{ name: "category", in: ["books"] }],
  max_total_amount: 60_000,
  max_executions: 24,
  periods: [{ ...MONTHLY, time_zone: "Europe/Berlin", max_executions: 2 }]
}

const linesIn = (language: Language, terms = recurring({ policy: EVERYTHING, time_zones: [berlin] })) =>
  displayLines(terms, "Shop", CREATED, language).lines

const amounts = ["atMost", "between", "exactly"] as const

/** Every text that a dictionary can give, for pieces that stand out. */
const textsOf = (words: StatementWords): ReadonlyArray<string> => {
  const said = { who: "‹who›", amount: "‹amount›", when: "‹when›" }
  const plain = Object.values(words).filter((value): value is string => typeof value === "string")
  return [
    ...plain,
    words.allowOnce(said),
    words.allowRepeatedly({ ...said, limits: "‹limits›" }),
    ...[words.ofAmount, words.amounts].flatMap((forms) =>
      amounts.map((form) => forms[form]("‹least›", "‹most›"))
    ),
    words.limitEach("‹caps›", "‹each›"),
    words.limitInTotal("‹caps›"),
    words.until("‹end›"),
    words.fromUntil("‹start›", "‹end›"),
    ...UNITS.flatMap((unit) => [1, ...COUNTS.slice(2, -1)].map((interval) => words.each(unit, interval))),
    words.inEachPeriod("‹caps›", "‹zone›"),
    words.inPeriod("‹start›", "‹end›", "‹caps›"),
    words.atMost("‹caps›"),
    ...COUNTS.map((count) => words.payments(count, String(count))),
    words.attribute("‹name›")
  ]
}

/** How intervals and numbers of payments are said, one for each form that the grammar of the language has. */
const NUMBERS: Readonly<Record<Language, { readonly each: string; readonly payments: string }>> = {
  en: { each: "each day, every 2 weeks", payments: "1 payment, 2 payments" },
  de: { each: "pro Tag, alle 2 Wochen", payments: "1 Zahlung, 2 Zahlungen" },
  fr: { each: "par jour, toutes les 2 semaines", payments: "1 paiement, 2 paiements, 1000000 de paiements" },
  es: { each: "cada día, cada 2 semanas", payments: "1 pago, 2 pagos, 1000000 de pagos" },
  it: { each: "ogni giorno, ogni 2 settimane", payments: "1 pagamento, 2 pagamenti, 1000000 di pagamenti" },
  pt: { each: "por dia, a cada 2 semanas", payments: "1 pagamento, 2 pagamentos, 1000000 de pagamentos" },
  nl: { each: "per dag, per 2 weken", payments: "1 betaling, 2 betalingen" },
  pl: {
    each: "każdego dnia, co 2 tygodnie, co 5 miesięcy, co 12 lat, co 22 lata",
    payments: "1 płatność, 2 płatności, 5 płatności"
  },
  ja: { each: "毎日, 2週間ごと", payments: "支払い1件, 支払い2件" },
  ar: {
    each: "كل يوم, كل أسبوعين, كل 3 أشهر, كل 11 سنة, كل 100 شهر",
    payments: "دفعة واحدة, دفعتين, 3 دفعات, 11 دفعة, 100 دفعة"
  },
  he: { each: "בכל יום, בכל שבועיים, בכל 3 חודשים", payments: "תשלום אחד, שני תשלומים, 3 תשלומים" }
}

/** The intervals and numbers that occur there. */
const EACH = [
  ["DAY", 1],
  ["WEEK", 2],
  ["MONTH", 3],
  ["MONTH", 5],
  ["YEAR", 11],
  ["YEAR", 12],
  ["YEAR", 22],
  ["MONTH", 100]
] as const
const PAYMENTS = [1, 2, 3, 5, 11, 100, 1_000_000]

const occurrences = (text: string, piece: string) => text.split(piece).length - 1

for (const language of LANGUAGES) {
  describe(language, () => {
    const words = STATEMENT_WORDS[language]

    it("has every form of every word", () => {
      for (const text of textsOf(words)) {
        assert.notMatch(text, /undefined|null|NaN|\[object/u)
        assert.strictEqual(text, text.trim())
        assert.notStrictEqual(text, "")
      }
    })

    it("adds no characters that show nothing", () => {
      for (const text of textsOf(words)) assert.notMatch(text, /[\p{Cc}\p{Cf}\u2066-\u2069]/u)
    })

    it("says each piece that it is given, once", () => {
      const said = { who: "‹who›", amount: "‹amount›", when: "‹when›" }
      const rows: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
        [words.allowOnce(said), ["‹who›", "‹amount›", "‹when›"]],
        [words.allowRepeatedly({ ...said, limits: "‹limits›" }), ["‹who›", "‹amount›", "‹when›", "‹limits›"]],
        ...[words.ofAmount, words.amounts].flatMap((forms) => [
          [forms.atMost("‹most›"), ["‹most›"]] as const,
          [forms.exactly("‹most›"), ["‹most›"]] as const,
          [forms.between("‹least›", "‹most›"), ["‹least›", "‹most›"]] as const
        ]),
        [words.limitEach("‹caps›", "‹each›"), ["‹caps›", "‹each›"]],
        [words.limitInTotal("‹caps›"), ["‹caps›"]],
        [words.until("‹end›"), ["‹end›"]],
        [words.fromUntil("‹start›", "‹end›"), ["‹start›", "‹end›"]],
        [words.inEachPeriod("‹caps›", "‹zone›"), ["‹caps›", "‹zone›"]],
        [words.inPeriod("‹start›", "‹end›", "‹caps›"), ["‹start›", "‹end›", "‹caps›"]],
        [words.atMost("‹caps›"), ["‹caps›"]],
        [words.attribute("‹name›"), ["‹name›"]]
      ]
      for (const [text, pieces] of rows) {
        for (const piece of pieces) assert.strictEqual(occurrences(text, piece), 1, text)
      }
    })

    it("tells apart every interval, and every number of payments", () => {
      const each = UNITS.flatMap((unit) => [1, 2, 3, 12, 21].map((interval) => words.each(unit, interval)))
      assert.lengthOf(new Set(each), each.length)
      const payments = COUNTS.map((count) => words.payments(count, String(count)))
      assert.lengthOf(new Set(payments), payments.length)
      for (const count of COUNTS.filter((count) => count > 2)) {
        assert.include(words.payments(count, String(count)), String(count))
      }
    })

    it("says numbers with the forms of its grammar, and an interval of one without a number", () => {
      const each = EACH.map(([unit, interval]) => words.each(unit, interval))
      assert.includeMembers(each, NUMBERS[language].each.split(", "))
      const payments = PAYMENTS.map((count) => words.payments(count, String(count)))
      assert.includeMembers(payments, NUMBERS[language].payments.split(", "))
    })

    it("has words of its own", () => {
      if (language === "en") return
      const english = STATEMENT_WORDS.en
      for (const key of ["inShort", "whoAsks", "whatFor", "actions", "merchants", "validUntil"] as const) {
        assert.notStrictEqual(words[key], english[key])
      }
    })

    it("shows the same lines as English, with amounts and numbers that read alike", () => {
      const shown = linesIn(language)
      assert.lengthOf(shown, linesIn("en").length)
      const digits = (text: string) => text.match(/\p{Nd}/gu)?.join("") ?? ""
      const amountsOf = (text: string) => ["200", "600", "50", "1"].filter((number) => text.includes(number))
      for (const [index, { value }] of linesIn("en").entries()) {
        assert.match(digits(shown[index]!.value), /^[0-9]*$/u)
        assert.includeMembers(amountsOf(shown[index]!.value), amountsOf(value), shown[index]!.value)
      }
    })

    it("gives amounts the digits of ISO 4217", () => {
      for (const [currency, amount, expected] of [
        ["JPY", 1234, /1.?234(?![.,]?\d)/u],
        ["KWD", 1234, /1[.,]234(?!\d)/u],
        ["HUF", 1234, /12[.,]34(?!\d)/u],
        ["EUR", 1234, /12[.,]34(?!\d)/u]
      ] as const) {
        const [summary, , line] = linesIn(language, single({ policy: { currency, max_amount: amount } }))
        assert.match(summary!.value, expected)
        assert.match(line!.value, expected)
      }
    })

    it("keeps what is put into it apart, where directions meet", () => {
      const texts = linesIn(language).flatMap(({ label, value }) => [label, value])
      for (const text of texts) assert.strictEqual(occurrences(text, "\u2068"), occurrences(text, "\u2069"))
      const isolated = texts.filter((text) => text.includes("\u2068")).length
      if (directionOf(language) === "rtl") assert.isAtLeast(isolated, 8)
      else assert.strictEqual(isolated, 0)
      const hebrew = displayLines(single(), "ספרים", CREATED, language).lines[0]!.value
      assert.include(hebrew, "\u2068ספרים\u2069")
    })
  })
}

describe("Italian", () => {
  const { fromUntil, inPeriod, until } = STATEMENT_WORDS.it

  it("elides before the days whose names begin with a vowel, the 8th and the 11th, and before no other", () => {
    for (const day of ["8", "11"]) {
      const date = `${day} dic 2026`
      assert.strictEqual(until(date), `fino all’${date}`)
      assert.strictEqual(fromUntil(date, date), `dall’${date} fino all’${date}`)
      assert.strictEqual(inPeriod(date, date, "3"), `Dall’${date} all’${date}: al massimo 3`)
    }
    for (const day of ["1", "7", "18", "28"]) {
      const date = `${day} nov 2011, 00:00`
      assert.strictEqual(fromUntil(date, date), `dal ${date} fino al ${date}`)
    }
  })
})
