import { plurals, type StatementWords } from "./StatementWords.ts"

const plural = plurals<"one" | "few" | "many">("pl")

const EACH = {
  DAY: "każdego dnia",
  WEEK: "każdego tygodnia",
  MONTH: "każdego miesiąca",
  YEAR: "każdego roku"
} as const

const UNITS = {
  DAY: { one: "dzień", few: "dni", many: "dni", other: "dnia" },
  WEEK: { one: "tydzień", few: "tygodnie", many: "tygodni", other: "tygodnia" },
  MONTH: { one: "miesiąc", few: "miesiące", many: "miesięcy", other: "miesiąca" },
  YEAR: { one: "rok", few: "lata", many: "lat", other: "roku" }
} as const

const PAYMENT = { one: "płatność", few: "płatności", many: "płatności", other: "płatności" } as const

export const POLISH: StatementWords = {
  inShort: "W skrócie",
  allowOnce: ({ amount, when, who }) =>
    `Zezwalasz firmie ${who} na dokonanie jednej płatności ${amount}, ${when}.`,
  allowRepeatedly: ({ amount, limits, when, who }) =>
    `Zezwalasz firmie ${who} na dokonywanie płatności ${amount} każda, ${limits}, ${when}.`,
  ofAmount: {
    atMost: (amount) => `w kwocie do ${amount}`,
    between: (least, most) => `w kwocie od ${least} do ${most}`,
    exactly: (amount) => `w kwocie dokładnie ${amount}`
  },
  limitEach: (caps, each) => `maksymalnie ${caps} ${each}`,
  limitInTotal: (caps) => `maksymalnie ${caps} łącznie`,
  until: (end) => `w terminie do ${end}`,
  fromUntil: (start, end) => `w terminie od ${start} do ${end}`,

  whoAsks: "Kto o to prosi",
  whatFor: "Na co",
  amount: "Kwota",
  eachPayment: "Każda płatność",
  amounts: {
    atMost: (amount) => `Maksymalnie ${amount}`,
    between: (least, most) => `Od ${least} do ${most}`,
    exactly: (amount) => `Dokładnie ${amount}`
  },
  howOften: "Jak często",
  once: "Jeden raz",
  repeatedly: "Wielokrotnie, w ramach poniższych limitów",
  each: (unit, interval) => (interval === 1 ? EACH[unit] : `co ${interval} ${plural(interval, UNITS[unit])}`),
  inEachPeriod: (caps, timeZone) =>
    `Dozwolone w każdym okresie: maksymalnie ${caps} (strefa czasowa ${timeZone})`,
  inPeriod: (start, end, caps) => `Od ${start} do ${end}: maksymalnie ${caps}`,
  inTotal: "Łącznie",
  atMost: (caps) => `Maksymalnie ${caps}`,
  payments: (count, shown) => `${shown} ${plural(count, PAYMENT)}`,
  actions: "Dozwolone czynności",
  merchants: "Dozwoleni sprzedawcy",
  anyMerchant: "Dowolny sprzedawca",
  quoted: (text) => `„${text}”`,
  attribute: (name) => `Tylko jeśli ${name} ma wartość`,
  validFrom: "Ważne od",
  validUntil: "Ważne do"
}
