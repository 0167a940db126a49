/**
 * Calendar dates of the proleptic Gregorian calendar, and their place on the line of days.
 *
 * Everything here is integer arithmetic, exact for every year that a safe integer can name, so that the same
 * date comes out on every host, whatever its locale, time zone or time zone data.
 */

/** A date on a wall calendar: `month` 1 to 12, `day` 1 to 31. Year 0 is the year before year 1. */
export interface LocalDate {
  readonly year: number
  readonly month: number
  readonly day: number
}

/** Days counted from 1970-01-01, which is day 0. */
export type DayNumber = number

const DAYS_IN_YEAR = 365
const DAYS_IN_4_YEARS = 4 * DAYS_IN_YEAR + 1
const DAYS_IN_100_YEARS = 25 * DAYS_IN_4_YEARS - 1
const DAYS_IN_400_YEARS = 4 * DAYS_IN_100_YEARS + 1

/** 1 March of year 0 lies this many days before 1970-01-01. */
const DAYS_FROM_MARCH_0_TO_EPOCH = 719_468

/** The five months that begin in March, and again in August, have 153 days: 31, 30, 31, 30, 31. */
const DAYS_IN_5_MONTHS = 153

/** The day number of a date. Years are taken from March, so that a leap day is the last day of its year. */
export const dayNumberOf = ({ year, month, day }: LocalDate): DayNumber => {
  const marchYear = month > 2 ? year : year - 1
  const monthsSinceMarch = (month + 9) % 12
  return (
    marchYear * DAYS_IN_YEAR +
    Math.floor(marchYear / 4) -
    Math.floor(marchYear / 100) +
    Math.floor(marchYear / 400) +
    Math.floor((monthsSinceMarch * DAYS_IN_5_MONTHS + 2) / 5) +
    (day - 1) -
    DAYS_FROM_MARCH_0_TO_EPOCH
  )
}

/** The date of a day number: the inverse of {@link dayNumberOf}. */
export const dateOfDayNumber = (dayNumber: DayNumber): LocalDate => {
  let rest = dayNumber + DAYS_FROM_MARCH_0_TO_EPOCH
  const cycles = Math.floor(rest / DAYS_IN_400_YEARS)
  rest -= cycles * DAYS_IN_400_YEARS
  // The last century of a cycle and the last year of four are a day longer, hence the two bounds of 3.
  const centuries = Math.min(3, Math.floor(rest / DAYS_IN_100_YEARS))
  rest -= centuries * DAYS_IN_100_YEARS
  const fours = Math.floor(rest / DAYS_IN_4_YEARS)
  rest -= fours * DAYS_IN_4_YEARS
  const years = Math.min(3, Math.floor(rest / DAYS_IN_YEAR))
  rest -= years * DAYS_IN_YEAR
  const monthsSinceMarch = Math.floor((5 * rest + 2) / DAYS_IN_5_MONTHS)
  const day = rest - Math.floor((monthsSinceMarch * DAYS_IN_5_MONTHS + 2) / 5) + 1
  const month = monthsSinceMarch < 10 ? monthsSinceMarch + 3 : monthsSinceMarch - 9
  const marchYear = 400 * cycles + 100 * centuries + 4 * fours + years
  return { year: month > 2 ? marchYear : marchYear + 1, month, day }
}

/** Months counted from January of year 0, which is month 0. */
export const monthNumberOf = ({ year, month }: LocalDate): number => year * 12 + month - 1

/** The `day` of the month with this number, or the month's last day if it has no such day. */
export const dateInMonth = (monthNumber: number, day: number): LocalDate => {
  const year = Math.floor(monthNumber / 12)
  const month = monthNumber - year * 12 + 1
  return { year, month, day: Math.min(day, daysInMonth(year, month)) }
}

/** The number of days, 28 to 31, of a month. */
export const daysInMonth = (year: number, month: number): number =>
  month === 2
    ? isLeapYear(year)
      ? 29
      : 28
    : month === 4 || month === 6 || month === 9 || month === 11
      ? 30
      : 31

const isLeapYear = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
