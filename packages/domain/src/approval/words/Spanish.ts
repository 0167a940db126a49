import { plurals, type StatementWords } from "./StatementWords.ts"

const plural = plurals<"one" | "many">("es")

const UNITS = {
  DAY: { one: "día", other: "días" },
  WEEK: { one: "semana", other: "semanas" },
  MONTH: { one: "mes", other: "meses" },
  YEAR: { one: "año", other: "años" }
} as const

export const SPANISH: StatementWords = {
  inShort: "En resumen",
  allowOnce: ({ amount, when, who }) =>
    `Usted autoriza a ${who} a realizar un único pago ${amount}, ${when}.`,
  allowRepeatedly: ({ amount, limits, when, who }) =>
    `Usted autoriza a ${who} a realizar pagos ${amount} cada uno, ${limits}, ${when}.`,
  ofAmount: {
    atMost: (amount) => `por un importe máximo de ${amount}`,
    between: (least, most) => `por un importe de ${least} a ${most}`,
    exactly: (amount) => `por un importe exacto de ${amount}`
  },
  limitEach: (caps, each) => `con un máximo de ${caps} ${each}`,
  limitInTotal: (caps) => `con un máximo de ${caps} en total`,
  until: (end) => `hasta el ${end}`,
  fromUntil: (start, end) => `desde el ${start} hasta el ${end}`,

  whoAsks: "Solicitante",
  whatFor: "Finalidad",
  amount: "Importe",
  eachPayment: "Cada pago",
  amounts: {
    atMost: (amount) => `Como máximo ${amount}`,
    between: (least, most) => `De ${least} a ${most}`,
    exactly: (amount) => `Exactamente ${amount}`
  },
  howOften: "Frecuencia",
  once: "Una sola vez",
  repeatedly: "Varias veces, dentro de los límites que se indican abajo",
  each: (unit, interval) =>
    interval === 1 ? `cada ${UNITS[unit].one}` : `cada ${interval} ${UNITS[unit].other}`,
  inEachPeriod: (caps, timeZone) => `Máximo autorizado en cada período: ${caps} (zona horaria ${timeZone})`,
  inPeriod: (start, end, caps) => `Del ${start} al ${end}: como máximo ${caps}`,
  inTotal: "En total",
  atMost: (caps) => `Como máximo ${caps}`,
  payments: (count, shown) => `${shown} ${plural(count, { one: "pago", many: "de pagos", other: "pagos" })}`,
  actions: "Acciones permitidas",
  merchants: "Comercios permitidos",
  anyMerchant: "Cualquier comercio",
  quoted: (text) => `«${text}»`,
  attribute: (name) => `Solo si ${name} es`,
  validFrom: "Vigente desde",
  validUntil: "Vigente hasta"
}
