import { plurals, type StatementWords } from "./StatementWords.ts"

const plural = plurals<"one" | "many">("pt")

const UNITS = {
  DAY: { one: "dia", other: "dias" },
  WEEK: { one: "semana", other: "semanas" },
  MONTH: { one: "mês", other: "meses" },
  YEAR: { one: "ano", other: "anos" }
} as const

/** Words that Portugal and Brazil share. */
export const PORTUGUESE: StatementWords = {
  inShort: "Em resumo",
  allowOnce: ({ amount, when, who }) =>
    `Ao aprovar, autoriza ${who} a efetuar um único pagamento ${amount}, ${when}.`,
  allowRepeatedly: ({ amount, limits, when, who }) =>
    `Ao aprovar, autoriza ${who} a efetuar pagamentos ${amount} cada um, ${limits}, ${when}.`,
  ofAmount: {
    atMost: (amount) => `no valor máximo de ${amount}`,
    between: (least, most) => `no valor de ${least} a ${most}`,
    exactly: (amount) => `no valor exato de ${amount}`
  },
  limitEach: (caps, each) => `com um máximo de ${caps} ${each}`,
  limitInTotal: (caps) => `com um máximo de ${caps} no total`,
  until: (end) => `até ${end}`,
  fromUntil: (start, end) => `de ${start} até ${end}`,

  whoAsks: "Quem solicita",
  whatFor: "Finalidade",
  amount: "Valor",
  eachPayment: "Cada pagamento",
  amounts: {
    atMost: (amount) => `No máximo ${amount}`,
    between: (least, most) => `De ${least} a ${most}`,
    exactly: (amount) => `Exatamente ${amount}`
  },
  howOften: "Frequência",
  once: "Uma única vez",
  repeatedly: "Várias vezes, dentro dos limites abaixo",
  each: (unit, interval) =>
    interval === 1 ? `por ${UNITS[unit].one}` : `a cada ${interval} ${UNITS[unit].other}`,
  inEachPeriod: (caps, timeZone) => `Máximo autorizado em cada período: ${caps} (fuso horário ${timeZone})`,
  inPeriod: (start, end, caps) => `De ${start} até ${end}: no máximo ${caps}`,
  inTotal: "No total",
  atMost: (caps) => `No máximo ${caps}`,
  payments: (count, shown) =>
    `${shown} ${plural(count, { one: "pagamento", many: "de pagamentos", other: "pagamentos" })}`,
  actions: "Ações permitidas",
  merchants: "Comerciantes permitidos",
  anyMerchant: "Qualquer comerciante",
  quoted: (text) => `“${text}”`,
  attribute: (name) => `Apenas se ${name} for`,
  validFrom: "Válido a partir de",
  validUntil: "Válido até"
}
