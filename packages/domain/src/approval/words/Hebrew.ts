import { plurals, type StatementWords } from "./StatementWords.ts"

const plural = plurals<"one" | "two">("he")

const withNumber = (one: string, two: string, many: string) => (interval: number) =>
  plural(interval, { one, two, other: `${interval} ${many}` })

const UNITS = {
  DAY: withNumber("יום", "יומיים", "ימים"),
  WEEK: withNumber("שבוע", "שבועיים", "שבועות"),
  MONTH: withNumber("חודש", "חודשיים", "חודשים"),
  YEAR: withNumber("שנה", "שנתיים", "שנים")
} as const

export const HEBREW: StatementWords = {
  inShort: "בקצרה",
  allowOnce: ({ amount, when, who }) => `אתם מרשים ל-${who} לבצע תשלום אחד ${amount}, ${when}.`,
  allowRepeatedly: ({ amount, limits, when, who }) =>
    `אתם מרשים ל-${who} לבצע תשלומים, כל אחד ${amount}, ${limits}, ${when}.`,
  ofAmount: {
    atMost: (amount) => `בסכום של עד ${amount}`,
    between: (least, most) => `בסכום של ${least} עד ${most}`,
    exactly: (amount) => `בסכום של ${amount} בדיוק`
  },
  limitEach: (caps, each) => `לכל היותר ${caps} ${each}`,
  limitInTotal: (caps) => `לכל היותר ${caps} בסך הכול`,
  until: (end) => `עד ${end}`,
  fromUntil: (start, end) => `מ-${start} עד ${end}`,

  whoAsks: "הגורם המבקש",
  whatFor: "המטרה",
  amount: "הסכום",
  eachPayment: "כל תשלום",
  amounts: {
    atMost: (amount) => `לכל היותר ${amount}`,
    between: (least, most) => `מ-${least} עד ${most}`,
    exactly: (amount) => `${amount} בדיוק`
  },
  howOften: "תדירות",
  once: "פעם אחת",
  repeatedly: "באופן חוזר, במסגרת המגבלות שלהלן",
  each: (unit, interval) => `בכל ${UNITS[unit](interval)}`,
  inEachPeriod: (caps, timeZone) => `מורשה בכל תקופה: לכל היותר ${caps} (אזור זמן ${timeZone})`,
  inPeriod: (start, end, caps) => `מ-${start} עד ${end}: לכל היותר ${caps}`,
  inTotal: "בסך הכול",
  atMost: (caps) => `לכל היותר ${caps}`,
  payments: (count, shown) =>
    plural(count, { one: "תשלום אחד", two: "שני תשלומים", other: `${shown} תשלומים` }),
  actions: "הפעולות המותרות",
  merchants: "בתי העסק המותרים",
  anyMerchant: "כל בית עסק",
  quoted: (text) => `”${text}”`,
  attribute: (name) => `רק אם הערך של ${name} הוא`,
  validFrom: "תחילת התוקף",
  validUntil: "תום התוקף"
}
