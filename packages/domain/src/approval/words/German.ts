import { plurals, type StatementWords } from "./StatementWords.ts"

const plural = plurals<"one">("de")

const UNITS = {
  DAY: { one: "Tag", other: "Tage" },
  WEEK: { one: "Woche", other: "Wochen" },
  MONTH: { one: "Monat", other: "Monate" },
  YEAR: { one: "Jahr", other: "Jahre" }
} as const

export const GERMAN: StatementWords = {
  inShort: "Kurz gefasst",
  allowOnce: ({ amount, when, who }) =>
    `Sie erlauben ${who}, eine einzige Zahlung von ${amount} vorzunehmen, ${when}.`,
  allowRepeatedly: ({ amount, limits, when, who }) =>
    `Sie erlauben ${who}, Zahlungen von jeweils ${amount} vorzunehmen, ${limits}, ${when}.`,
  ofAmount: {
    atMost: (amount) => `höchstens ${amount}`,
    between: (least, most) => `mindestens ${least} und höchstens ${most}`,
    exactly: (amount) => `genau ${amount}`
  },
  limitEach: (caps, each) => `${each} höchstens ${caps}`,
  limitInTotal: (caps) => `insgesamt höchstens ${caps}`,
  until: (end) => `gültig bis zum ${end}`,
  fromUntil: (start, end) => `gültig vom ${start} bis zum ${end}`,

  whoAsks: "Anfrage von",
  whatFor: "Zweck",
  amount: "Betrag",
  eachPayment: "Jede Zahlung",
  amounts: {
    atMost: (amount) => `Höchstens ${amount}`,
    between: (least, most) => `Von ${least} bis ${most}`,
    exactly: (amount) => `Genau ${amount}`
  },
  howOften: "Wie oft",
  once: "Einmal",
  repeatedly: "Wiederholt, innerhalb der unten genannten Limits",
  each: (unit, interval) =>
    interval === 1 ? `pro ${UNITS[unit].one}` : `alle ${interval} ${UNITS[unit].other}`,
  inEachPeriod: (caps, timeZone) => `In jedem Zeitraum höchstens ${caps} autorisiert (Zeitzone ${timeZone})`,
  inPeriod: (start, end, caps) => `${start} bis ${end}: höchstens ${caps}`,
  inTotal: "Insgesamt",
  atMost: (caps) => `Höchstens ${caps}`,
  payments: (count, shown) => `${shown} ${plural(count, { one: "Zahlung", other: "Zahlungen" })}`,
  actions: "Erlaubte Aktionen",
  merchants: "Erlaubte Händler",
  anyMerchant: "Alle Händler",
  quoted: (text) => `„${text}“`,
  attribute: (name) => `Nur wenn ${name} lautet`,
  validFrom: "Gültig ab",
  validUntil: "Gültig bis"
}
