import { plurals, type StatementWords } from "./StatementWords.ts"

const plural = plurals<"one">("en")

const UNITS = {
  DAY: { one: "day", other: "days" },
  WEEK: { one: "week", other: "weeks" },
  MONTH: { one: "month", other: "months" },
  YEAR: { one: "year", other: "years" }
} as const

export const ENGLISH: StatementWords = {
  inShort: "In short",
  allowOnce: ({ amount, when, who }) => `You allow ${who} to make one payment ${amount}, ${when}.`,
  allowRepeatedly: ({ amount, limits, when, who }) =>
    `You allow ${who} to make payments ${amount} each, ${limits}, ${when}.`,
  ofAmount: {
    atMost: (amount) => `of up to ${amount}`,
    between: (least, most) => `of ${least} to ${most}`,
    exactly: (amount) => `of exactly ${amount}`
  },
  limitEach: (caps, each) => `at most ${caps} ${each}`,
  limitInTotal: (caps) => `at most ${caps} in total`,
  until: (end) => `until ${end}`,
  fromUntil: (start, end) => `from ${start} until ${end}`,

  whoAsks: "Who asks",
  whatFor: "What for",
  amount: "Amount",
  eachPayment: "Each payment",
  amounts: {
    atMost: (amount) => `At most ${amount}`,
    between: (least, most) => `From ${least} to ${most}`,
    exactly: (amount) => `Exactly ${amount}`
  },
  howOften: "How often",
  once: "Once",
  repeatedly: "Repeatedly, within the limits below",
  each: (unit, interval) =>
    interval === 1 ? `each ${UNITS[unit].one}` : `every ${interval} ${plural(interval, UNITS[unit])}`,
  inEachPeriod: (caps, timeZone) => `At most ${caps} authorized in each period (time zone ${timeZone})`,
  inPeriod: (start, end, caps) => `${start} to ${end}: at most ${caps}`,
  inTotal: "In total",
  atMost: (caps) => `At most ${caps}`,
  payments: (count, shown) => `${shown} ${plural(count, { one: "payment", other: "payments" })}`,
  actions: "Allowed actions",
  merchants: "Allowed merchants",
  anyMerchant: "Any merchant",
  quoted: (text) => `“${text}”`,
  attribute: (name) => `Only if ${name} is`,
  validFrom: "Valid from",
  validUntil: "Valid until"
}
