/** What a time zone's offset was and will be, asked of the runtime's own time zone data through Intl. */

/** A change of offset: `offset_seconds` east of UTC holds from `second` (since the epoch) on. */
export interface OffsetChange {
  readonly second: number
  readonly offset_seconds: number
}

/** The offset from UTC, in seconds east, that holds at a second since the epoch. */
export type OffsetAt = (second: number) => number

const SECONDS_PER_DAY = 86_400

/** "GMT", "GMT+05:30", or with seconds, as local mean times had them: "GMT-00:43:08". */
const LONG_OFFSET = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/

/**
 * The offsets of a zone. Throws a `RangeError` when the runtime does not know the name.
 *
 * The formatter names its zone and its locale, so neither the host's zone nor its language has a say. An hour is
 * asked for only because it is shorter than the date that Intl would add.
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
 * Asks once a day and halves the days that differ. Two changes within a day that undo each other would be missed;
 * the time zone database has none.
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
      // Go on from the change itself: the rest of the day may hold another.
      before = firstChange(offsetAt, before, after, offset)
      offset = offsetAt(before)
      changes.push({ second: before, offset_seconds: offset })
    }
  }
  return changes
}

/** A second in (`before`, `after`] from which on `offset` no longer holds, though it does at `before`. */
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
