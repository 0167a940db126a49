import { NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import { Clock, Effect } from "effect"

/** Pause of a worker that found less than it could do at a time, in milliseconds. */
export const IDLE_PAUSE_MILLISECONDS = 1000
/** Longest pause after failures in a row of the store itself, in milliseconds; it doubles up to there. */
export const LONGEST_PAUSE_MILLISECONDS = 15_000

/** Pause after so many failures in a row of the store, in milliseconds. */
export const pauseAfterFailures = (failures: number): number =>
  Math.min(IDLE_PAUSE_MILLISECONDS * 2 ** (failures - 1), LONGEST_PAUSE_MILLISECONDS)

/**
 * Waits until at least so long has gone by since an instant, both in nanoseconds of this process's monotonic clock; not at
 * all since 0, which stands for never.
 */
export const untilSince = (since: bigint, atLeast: bigint): Effect.Effect<void> =>
  Effect.flatMap(Clock.monotonicTimeNanos, (now) => {
    const wait = since + atLeast - now
    return since > 0n && wait > 0n ? Effect.sleep(Number(wait / NANOS_PER_MILLISECOND) + 1) : Effect.void
  })
