/** Nanoseconds since the Unix epoch, leap seconds not counted. */
export type Instant = bigint

/** A duration in nanoseconds. */
export type Nanos = bigint

export const NANOS_PER_SECOND = 1_000_000_000n
export const NANOS_PER_MILLISECOND = 1_000_000n

const MILLISECONDS_PER_SECOND = 1000
const FRACTION_DIGITS = 9
const FIRST_YEAR_IN_REQUESTS = 2000

/** First instant of year 1 and of year 10000: what four year digits can write. */
const FIRST_WRITABLE = -62_135_596_800n * NANOS_PER_SECOND
const END_OF_WRITABLE = 253_402_300_800n * NANOS_PER_SECOND

const FORM = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?Z$/u

const isLeapYear = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)

const daysInMonth = (year: number, month: number): number => {
  if (month === 2) return isLeapYear(year) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/**
 * Reads a timestamp of a request (part 1): RFC 3339 in UTC with upper-case `T` and `Z`, a real calendar
 * date of the years 2000 to 9999, seconds 00 to 59, and at most 9 digits of fraction. Anything else,
 * offsets and leap seconds too, gives `undefined`.
 */
export const parseTimestamp = (text: string): Instant | undefined => {
  const fields = FORM.exec(text)
  if (fields === null) return undefined
  const [year, month, day, hour, minute, second] = fields.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number
  ]
  if (year < FIRST_YEAR_IN_REQUESTS || month < 1 || month > 12) return undefined
  if (day < 1 || day > daysInMonth(year, month)) return undefined
  if (hour > 23 || minute > 59 || second > 59) return undefined
  const milliseconds = Date.UTC(year, month - 1, day, hour, minute, second)
  const fraction = (fields[7] ?? "").padEnd(FRACTION_DIGITS, "0")
  return BigInt(milliseconds) * NANOS_PER_MILLISECOND + BigInt(fraction)
}

/** Whether an instant is of the years 0001 to 9999, which RFC 3339 can write. */
export const isWritableInstant = (instant: Instant): boolean =>
  instant >= FIRST_WRITABLE && instant < END_OF_WRITABLE

/** Date and time to the second, and the nine digits of the fraction. */
const write = (instant: Instant): readonly [seconds: string, fraction: string] => {
  if (!isWritableInstant(instant)) {
    throw new RangeError("an instant outside of the years 0001 to 9999 has no RFC 3339 form")
  }
  const nanos = ((instant % NANOS_PER_SECOND) + NANOS_PER_SECOND) % NANOS_PER_SECOND
  const seconds = (instant - nanos) / NANOS_PER_SECOND
  const dateTime = new Date(Number(seconds) * MILLISECONDS_PER_SECOND).toISOString().slice(0, 19)
  return [dateTime, nanos.toString().padStart(FRACTION_DIGITS, "0")]
}

/**
 * Writes an instant of the years 0001 to 9999 as RFC 3339 UTC, the fraction without trailing zeros and
 * absent when zero. Throws a `RangeError` outside of those years.
 */
export const formatInstant = (instant: Instant): string => {
  const [seconds, fraction] = write(instant)
  const digits = fraction.replace(/0+$/u, "")
  return digits === "" ? `${seconds}Z` : `${seconds}.${digits}Z`
}

/**
 * Writes an instant with exactly nine fraction digits. The one rule of responses, events and evidence (part 1): so is every
 * timestamp that the service sets, whether it says when something happened or until when something holds. One that a caller
 * gave is shown as given, less trailing zeros of its fraction ({@link normalizeTimestamp}), and so where it stands for
 * another: an `execute_before` that is the end of the window, a deadline that is it by default.
 */
export const formatNanos = (instant: Instant): string => {
  const [seconds, fraction] = write(instant)
  return `${seconds}.${fraction}Z`
}

/** The same timestamp text less trailing zeros of its fraction: how a caller's is stored (part 1). */
export const normalizeTimestamp = (text: string): string => {
  const point = text.indexOf(".")
  if (point === -1) return text
  const digits = text.slice(point + 1, -1).replace(/0+$/u, "")
  return digits === "" ? `${text.slice(0, point)}Z` : `${text.slice(0, point)}.${digits}Z`
}

/** The later of two instants. */
export const laterOf = (left: Instant, right: Instant): Instant => (left > right ? left : right)
