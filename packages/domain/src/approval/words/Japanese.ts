import type { StatementWords } from "./StatementWords.ts"

const EACH = { DAY: "毎日", WEEK: "毎週", MONTH: "毎月", YEAR: "毎年" } as const

const UNITS = { DAY: "日", WEEK: "週間", MONTH: "か月", YEAR: "年" } as const

/** Lists are joined by the sentence's comma, so each limit puts its own list in brackets. */
export const JAPANESE: StatementWords = {
  inShort: "要約",
  allowOnce: ({ amount, when, who }) =>
    `${when}、${who}に対し、${amount}支払いを1回に限り行うことを許可します。`,
  allowRepeatedly: ({ amount, limits, when, who }) =>
    `${when}、${who}に対し、1回あたり${amount}支払いを、${limits}の範囲内で行うことを許可します。`,
  ofAmount: {
    atMost: (amount) => `${amount}以下の`,
    between: (least, most) => `${least}以上${most}以下の`,
    exactly: (amount) => `${amount}ちょうどの`
  },
  limitEach: (caps, each) => `${each}（上限：${caps}）`,
  limitInTotal: (caps) => `合計（上限：${caps}）`,
  until: (end) => `${end}までの間`,
  fromUntil: (start, end) => `${start}から${end}までの間`,

  whoAsks: "依頼元",
  whatFor: "目的",
  amount: "金額",
  eachPayment: "1回あたりの支払い",
  amounts: {
    atMost: (amount) => `${amount}以下`,
    between: (least, most) => `${least}以上${most}以下`,
    exactly: (amount) => `${amount}ちょうど`
  },
  howOften: "回数",
  once: "1回",
  repeatedly: "複数回（下記の上限の範囲内）",
  each: (unit, interval) => (interval === 1 ? EACH[unit] : `${interval}${UNITS[unit]}ごと`),
  inEachPeriod: (caps, timeZone) => `各期間に許可される上限：${caps}（タイムゾーン：${timeZone}）`,
  inPeriod: (start, end, caps) => `${start}から${end}までの上限：${caps}`,
  inTotal: "合計",
  atMost: (caps) => `上限：${caps}`,
  payments: (_count, shown) => `支払い${shown}件`,
  actions: "許可する操作",
  merchants: "許可する加盟店",
  anyMerchant: "すべての加盟店",
  quoted: (text) => `「${text}」`,
  attribute: (name) => `${name}が次の場合のみ`,
  validFrom: "有効期間の開始",
  validUntil: "有効期間の終了"
}
