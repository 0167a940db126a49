import { plurals, type StatementWords } from "./StatementWords.ts"

const plural = plurals<"one">("nl")

const UNITS = {
  DAY: { one: "dag", other: "dagen" },
  WEEK: { one: "week", other: "weken" },
  MONTH: { one: "maand", other: "maanden" },
  YEAR: { one: "jaar", other: "jaar" }
} as const

export const DUTCH: StatementWords = {
  inShort: "In het kort",
  allowOnce: ({ amount, when, who }) => `U staat ${who} toe één betaling te doen ${amount}, ${when}.`,
  allowRepeatedly: ({ amount, limits, when, who }) =>
    `U staat ${who} toe betalingen te doen ${amount} per betaling, ${limits}, ${when}.`,
  ofAmount: {
    atMost: (amount) => `van maximaal ${amount}`,
    between: (least, most) => `van ${least} tot en met ${most}`,
    exactly: (amount) => `van precies ${amount}`
  },
  limitEach: (caps, each) => `maximaal ${caps} ${each}`,
  limitInTotal: (caps) => `maximaal ${caps} in totaal`,
  until: (end) => `tot ${end}`,
  fromUntil: (start, end) => `van ${start} tot ${end}`,

  whoAsks: "Wie vraagt dit",
  whatFor: "Waarvoor",
  amount: "Bedrag",
  eachPayment: "Elke betaling",
  amounts: {
    atMost: (amount) => `Maximaal ${amount}`,
    between: (least, most) => `Van ${least} tot en met ${most}`,
    exactly: (amount) => `Precies ${amount}`
  },
  howOften: "Hoe vaak",
  once: "Eén keer",
  repeatedly: "Meerdere keren, binnen de limieten hieronder",
  each: (unit, interval) =>
    interval === 1 ? `per ${UNITS[unit].one}` : `per ${interval} ${plural(interval, UNITS[unit])}`,
  inEachPeriod: (caps, timeZone) => `Maximaal ${caps} toegestaan in elke periode (tijdzone ${timeZone})`,
  inPeriod: (start, end, caps) => `${start} tot ${end}: maximaal ${caps}`,
  inTotal: "In totaal",
  atMost: (caps) => `Maximaal ${caps}`,
  payments: (count, shown) => `${shown} ${plural(count, { one: "betaling", other: "betalingen" })}`,
  actions: "Toegestane handelingen",
  merchants: "Toegestane verkopers",
  anyMerchant: "Elke verkoper",
  quoted: (text) => `‘${text}’`,
  attribute: (name) => `Alleen als ${name} is`,
  validFrom: "Geldig vanaf",
  validUntil: "Geldig tot"
}
