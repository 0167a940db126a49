import { formatInstant, type Instant, NANOS_PER_MILLISECOND, parseTimestamp } from "@svc/protocol/Timestamp"
import { type Clock, DateTime, Duration, Effect, Option } from "effect"
import { givenWords, isObject } from "../OptionFaults.ts"
import { isThenable } from "../Thenable.ts"

/** How far to go. Years, months, weeks and days are those of a calendar, the rest is exact. */
export interface CalendarDuration {
  readonly years?: number
  readonly months?: number
  readonly weeks?: number
  readonly days?: number
  readonly hours?: number
  readonly minutes?: number
  readonly seconds?: number
  readonly milliseconds?: number
}

/** By which calendar a duration is counted. */
export interface CalendarOptions {
  /** Whose calendar it is, such as `Europe/Berlin`: a day there has 23 to 25 hours. Default: `UTC`. */
  readonly timeZone?: string
}

/** A clock that stands still until it is moved. It never goes back. */
export interface ManualClock {
  /** The time, as RFC 3339 in UTC. */
  readonly now: () => string
  /** The time that is so far from now: for the end of a window, for example. */
  readonly after: (duration: CalendarDuration, options?: CalendarOptions) => string
  /** Moves to a time, given as RFC 3339 in UTC. What falls due on the way is carried out when it does. */
  readonly set: (time: string) => Promise<void>
  /**
   * Moves on. The same time of day is kept in the time zone, and a month that is too short ends at its last day. What falls
   * due on the way is carried out when it does.
   */
  readonly advance: (duration: CalendarDuration, options?: CalendarOptions) => Promise<void>
}

const MEMBERS: ReadonlySet<string> = new Set([
  "years",
  "months",
  "weeks",
  "days",
  "hours",
  "minutes",
  "seconds",
  "milliseconds"
] satisfies ReadonlyArray<keyof CalendarDuration>)

const checkDuration = (duration: CalendarDuration): void => {
  const given: unknown = duration
  if (!isObject(given) || isThenable(given))
    throw new TypeError(`a duration is an object such as { days: 30 }, and was ${givenWords(given)}`)
  for (const [name, count] of Object.entries(duration)) {
    if (!MEMBERS.has(name)) throw new TypeError(`there is no duration in ${JSON.stringify(name)}`)
    if (!Number.isInteger(count) || count < 0)
      throw new RangeError(`${name} must be a whole number from 0: the clock does not go back`)
  }
}

/** The instant that is so far from another one by a calendar. Throws for a duration or a time zone that is none. */
export const instantAfter = (
  from: Instant,
  duration: CalendarDuration,
  { timeZone = "UTC" }: CalendarOptions = {}
): Instant => {
  checkDuration(duration)
  const milliseconds = from / NANOS_PER_MILLISECOND
  const local = Option.getOrUndefined(DateTime.makeZoned(Number(milliseconds), { timeZone }))
  if (local === undefined) throw new RangeError(`there is no time zone ${JSON.stringify(timeZone)}`)
  const moved = BigInt(DateTime.toEpochMillis(DateTime.add(local, duration)))
  return moved * NANOS_PER_MILLISECOND + (from % NANOS_PER_MILLISECOND)
}

/** The instant of a text; throws unless it is RFC 3339 in UTC. */
export const instantOf = (time: string): Instant => {
  if (typeof time !== "string")
    throw new TypeError(`a time is a text such as 2026-03-29T00:59:59Z, and was ${givenWords(time)}`)
  const instant = parseTimestamp(time)
  if (instant === undefined)
    throw new RangeError(
      `${JSON.stringify(time)} is not a time such as 2026-03-29T00:59:59Z: RFC 3339 in UTC, from the year 2000`
    )
  return instant
}

/** A clock for programs in Effect that shows `read`. Sleeps are those of the process: what waits for a promise goes on. */
export const effectClockOf = (read: () => Instant): Clock.Clock => {
  const milliseconds = () => Number(read() / NANOS_PER_MILLISECOND)
  return {
    currentTimeMillisUnsafe: milliseconds,
    currentTimeMillis: Effect.sync(milliseconds),
    currentTimeNanosUnsafe: read,
    currentTimeNanos: Effect.sync(read),
    monotonicTimeNanosUnsafe: read,
    monotonicTimeNanos: Effect.sync(read),
    sleep: (duration) =>
      Effect.callback<void>((resume) => {
        const timer = setTimeout(() => resume(Effect.void), Duration.toMillis(duration))
        return Effect.sync(() => clearTimeout(timer))
      })
  }
}

/** What a clock is moved over. */
export interface Timeline {
  /** Carries out what is due at the present instant, and what that makes due. */
  readonly settle: () => Promise<void>
  /** When something falls due next, after the present instant. */
  readonly nextDue: () => Promise<Instant | undefined>
}

/** A clock that stops at each instant at which something falls due, as in a process that runs all the time. */
export const makeManualClock = (start: Instant, timeline: Timeline) => {
  let now = start
  let moving: Promise<void> = Promise.resolve()

  const moveTo = async (target: Instant): Promise<void> => {
    await timeline.settle()
    for (let next = await timeline.nextDue(); next !== undefined && next <= target; ) {
      now = next
      await timeline.settle()
      next = await timeline.nextDue()
    }
    now = target
    await timeline.settle()
  }
  /** Moves one after the other; the target is worked out when it is its turn. */
  const move = (targetOf: () => Instant): Promise<void> => {
    const moved = moving.then(() => moveTo(targetOf()))
    moving = moved.catch(() => undefined)
    return moved
  }
  const clock: ManualClock = {
    now: () => formatInstant(now),
    after: (duration, options) => formatInstant(instantAfter(now, duration, options)),
    set: async (time) => {
      const target = instantOf(time)
      return move(() => {
        if (target < now) throw new RangeError(`the clock shows ${formatInstant(now)} and does not go back`)
        return target
      })
    },
    advance: async (duration, options) => move(() => instantAfter(now, duration, options))
  }
  return { clock, read: () => now }
}
