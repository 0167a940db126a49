import { plurals, type StatementWords } from "./StatementWords.ts"

const plural = plurals<"one" | "many">("fr")

const UNITS = {
  DAY: { one: "par jour", every: "tous les", other: "jours" },
  WEEK: { one: "par semaine", every: "toutes les", other: "semaines" },
  MONTH: { one: "par mois", every: "tous les", other: "mois" },
  YEAR: { one: "par an", every: "tous les", other: "ans" }
} as const

export const FRENCH: StatementWords = {
  inShort: "En résumé",
  allowOnce: ({ amount, when, who }) =>
    `Vous autorisez ${who} à effectuer un seul paiement ${amount}, ${when}.`,
  allowRepeatedly: ({ amount, limits, when, who }) =>
    `Vous autorisez ${who} à effectuer des paiements ${amount} chacun, ${limits}, ${when}.`,
  ofAmount: {
    atMost: (amount) => `d’un montant maximal de ${amount}`,
    between: (least, most) => `d’un montant de ${least} à ${most}`,
    exactly: (amount) => `d’un montant exact de ${amount}`
  },
  limitEach: (caps, each) => `dans la limite de ${caps} ${each}`,
  limitInTotal: (caps) => `dans la limite de ${caps} au total`,
  until: (end) => `jusqu’au ${end}`,
  fromUntil: (start, end) => `du ${start} au ${end}`,

  whoAsks: "Demandeur",
  whatFor: "Objet",
  amount: "Montant",
  eachPayment: "Chaque paiement",
  amounts: {
    atMost: (amount) => `Au maximum ${amount}`,
    between: (least, most) => `De ${least} à ${most}`,
    exactly: (amount) => `Exactement ${amount}`
  },
  howOften: "Fréquence",
  once: "Une seule fois",
  repeatedly: "Plusieurs fois, dans les limites ci-dessous",
  each: (unit, interval) =>
    interval === 1 ? UNITS[unit].one : `${UNITS[unit].every} ${interval} ${UNITS[unit].other}`,
  inEachPeriod: (caps, timeZone) =>
    `Maximum autorisé pour chaque période\u00a0: ${caps} (fuseau horaire ${timeZone})`,
  inPeriod: (start, end, caps) => `Du ${start} au ${end}\u00a0: au maximum ${caps}`,
  inTotal: "Au total",
  atMost: (caps) => `Au maximum ${caps}`,
  payments: (count, shown) =>
    `${shown} ${plural(count, { one: "paiement", many: "de paiements", other: "paiements" })}`,
  actions: "Actions autorisées",
  merchants: "Commerçants autorisés",
  anyMerchant: "Tous les commerçants",
  quoted: (text) => `«\u00a0${text}\u00a0»`,
  attribute: (name) => `Uniquement si ${name} est`,
  validFrom: "Valable à partir du",
  validUntil: "Valable jusqu’au"
}
