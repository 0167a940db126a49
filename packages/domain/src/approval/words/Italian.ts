import { plurals, type StatementWords } from "./StatementWords.ts"

const plural = plurals<"one" | "many">("it")

const UNITS = {
  DAY: { one: "giorno", other: "giorni" },
  WEEK: { one: "settimana", other: "settimane" },
  MONTH: { one: "mese", other: "mesi" },
  YEAR: { one: "anno", other: "anni" }
} as const

/** "al 7 dic", "dal 7 dic", but "all’8 dic", "dall’11 dic": a date begins with its day. */
const joined = (preposition: "a" | "da" | "Da", date: string): string =>
  /^(?:8|11)\D/.test(date) ? `${preposition}ll’${date}` : `${preposition}l ${date}`

export const ITALIAN: StatementWords = {
  inShort: "In breve",
  allowOnce: ({ amount, when, who }) =>
    `Lei autorizza ${who} a effettuare un solo pagamento ${amount}, ${when}.`,
  allowRepeatedly: ({ amount, limits, when, who }) =>
    `Lei autorizza ${who} a effettuare pagamenti ${amount} ciascuno, ${limits}, ${when}.`,
  ofAmount: {
    atMost: (amount) => `per un importo massimo di ${amount}`,
    between: (least, most) => `per un importo da ${least} a ${most}`,
    exactly: (amount) => `per un importo esatto di ${amount}`
  },
  limitEach: (caps, each) => `con un massimo di ${caps} ${each}`,
  limitInTotal: (caps) => `con un massimo di ${caps} in totale`,
  until: (end) => `fino ${joined("a", end)}`,
  fromUntil: (start, end) => `${joined("da", start)} fino ${joined("a", end)}`,

  whoAsks: "Richiedente",
  whatFor: "Finalità",
  amount: "Importo",
  eachPayment: "Ogni pagamento",
  amounts: {
    atMost: (amount) => `Al massimo ${amount}`,
    between: (least, most) => `Da ${least} a ${most}`,
    exactly: (amount) => `Esattamente ${amount}`
  },
  howOften: "Frequenza",
  once: "Una sola volta",
  repeatedly: "Più volte, entro i limiti indicati di seguito",
  each: (unit, interval) =>
    interval === 1 ? `ogni ${UNITS[unit].one}` : `ogni ${interval} ${UNITS[unit].other}`,
  inEachPeriod: (caps, timeZone) => `Massimo autorizzato in ogni periodo: ${caps} (fuso orario ${timeZone})`,
  inPeriod: (start, end, caps) => `${joined("Da", start)} ${joined("a", end)}: al massimo ${caps}`,
  inTotal: "In totale",
  atMost: (caps) => `Al massimo ${caps}`,
  payments: (count, shown) =>
    `${shown} ${plural(count, { one: "pagamento", many: "di pagamenti", other: "pagamenti" })}`,
  actions: "Azioni consentite",
  merchants: "Esercenti consentiti",
  anyMerchant: "Qualsiasi esercente",
  quoted: (text) => `«${text}»`,
  attribute: (name) => `Solo se ${name} è`,
  validFrom: "Inizio validità",
  validUntil: "Fine validità"
}
