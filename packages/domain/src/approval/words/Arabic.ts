import { plurals, type StatementWords } from "./StatementWords.ts"

const plural = plurals<"zero" | "one" | "two" | "few" | "many">("ar")

const withNumber = (one: string, two: string, few: string, many: string) => (interval: number) =>
  plural(interval, {
    zero: `${interval} ${one}`,
    one,
    two,
    few: `${interval} ${few}`,
    many: `${interval} ${many}`,
    other: `${interval} ${one}`
  })

const UNITS = {
  DAY: withNumber("يوم", "يومين", "أيام", "يومًا"),
  WEEK: withNumber("أسبوع", "أسبوعين", "أسابيع", "أسبوعًا"),
  MONTH: withNumber("شهر", "شهرين", "أشهر", "شهرًا"),
  YEAR: withNumber("سنة", "سنتين", "سنوات", "سنة")
} as const

/** The dual is in the genitive, because caps follow a preposition. */
export const ARABIC: StatementWords = {
  inShort: "باختصار",
  allowOnce: ({ amount, when, who }) => `موافقتك تسمح لـ\u00a0${who} بإجراء دفعة واحدة ${amount}، ${when}.`,
  allowRepeatedly: ({ amount, limits, when, who }) =>
    `موافقتك تسمح لـ\u00a0${who} بإجراء دفعات، كل منها ${amount}، ${limits}، ${when}.`,
  ofAmount: {
    atMost: (amount) => `بقيمة لا تتجاوز ${amount}`,
    between: (least, most) => `بقيمة من ${least} إلى ${most}`,
    exactly: (amount) => `بقيمة ${amount} بالضبط`
  },
  limitEach: (caps, each) => `بحد أقصى ${caps} ${each}`,
  limitInTotal: (caps) => `بحد أقصى ${caps} إجمالًا`,
  until: (end) => `حتى ${end}`,
  fromUntil: (start, end) => `من ${start} حتى ${end}`,

  whoAsks: "الجهة الطالبة",
  whatFor: "الغرض",
  amount: "المبلغ",
  eachPayment: "كل دفعة",
  amounts: {
    atMost: (amount) => `بحد أقصى ${amount}`,
    between: (least, most) => `من ${least} إلى ${most}`,
    exactly: (amount) => `${amount} بالضبط`
  },
  howOften: "التكرار",
  once: "مرة واحدة",
  repeatedly: "بشكل متكرر، ضمن الحدود أدناه",
  each: (unit, interval) => `كل ${UNITS[unit](interval)}`,
  inEachPeriod: (caps, timeZone) => `المصرّح به في كل فترة: بحد أقصى ${caps} (المنطقة الزمنية ${timeZone})`,
  inPeriod: (start, end, caps) => `من ${start} حتى ${end}: بحد أقصى ${caps}`,
  inTotal: "الإجمالي",
  atMost: (caps) => `بحد أقصى ${caps}`,
  payments: (count, shown) =>
    plural(count, {
      zero: `${shown} دفعة`,
      one: "دفعة واحدة",
      two: "دفعتين",
      few: `${shown} دفعات`,
      many: `${shown} دفعة`,
      other: `${shown} دفعة`
    }),
  actions: "العمليات المسموح بها",
  merchants: "التجار المسموح بهم",
  anyMerchant: "أي تاجر",
  quoted: (text) => `«${text}»`,
  attribute: (name) => `فقط إذا كانت قيمة ${name} هي`,
  validFrom: "يسري من",
  validUntil: "يسري حتى"
}
