/** The past and future offsets of a time zone, from the runtime's own data through Intl. */

/** A change of offset: `offset_seconds` east of UTC applies from `second`, counted since the epoch. */
export interface OffsetChange {
  readonly second: number
  readonly offset_seconds: number
}

/** The offset from UTC, in seconds east, at a second since the epoch. */
export type OffsetAt = (second: number) => number

const SECONDS_PER_DAY = 86_400

/** "GMT", "GMT+05:30", or with seconds, as local mean times had them: "GMT-00:43:08". */
const LONG_OFFSET = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/

/**
 * The offsets of a zone. Throws a `RangeError` when the runtime does not know the name.
 *
 * The formatter has an explicit zone and locale, so it does not depend on those of the host. It formats the hour only
 * because that is shorter than the date that Intl would add.
 */
export const offsetsOf = (name: string): OffsetAt => {
  const format = new Intl.DateTimeFormat("en-US-u-nu-latn", {
    timeZone: name,
    hour: "numeric",
    timeZoneName: "longOffset"
  })
  return (second) => {
    const text = format.format(second * 1_000)
    const match = LONG_OFFSET.exec(text)
    if (match === null) throw new RangeError(`no offset from UTC in "${text}"`)
    const [, sign, hours = "0", minutes = "0", seconds = "0"] = match
    const size = Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)
    return sign === "-" ? 0 - size : size
  }
}

/**
 * The changes of offset after the second `from`, up to and including the second `to`, ascending.
 *
 * Checks once a day and bisects the days whose offsets differ. Two changes within a day that cancel each other out would be
 * missed; the time zone database has none.
 */
export const changesBetween = (offsetAt: OffsetAt, from: number, to: number): ReadonlyArray<OffsetChange> => {
  const changes: Array<OffsetChange> = []
  let before = from
  let offset = offsetAt(from)
  while (before < to) {
    const after = Math.min(before + SECONDS_PER_DAY, to)
    if (offsetAt(after) === offset) {
      before = after
    } else {
      // Continue from the change itself, since the rest of the day may have another.
      before = firstChange(offsetAt, before, after, offset)
      offset = offsetAt(before)
      changes.push({ second: before, offset_seconds: offset })
    }
  }
  return changes
}

/** A second in (`before`, `after`] at which `offset` stops applying; it applies at `before`. */
const firstChange = (offsetAt: OffsetAt, before: number, after: number, offset: number): number => {
  let low = before
  let high = after
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(middle) === offset) low = middle
    else high = middle
  }
  return high
}
