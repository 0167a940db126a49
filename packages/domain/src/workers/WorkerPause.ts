import { NANOS_PER_MILLISECOND, type Nanos } from "@svc/protocol/Timestamp"
import { Clock, Context, Effect } from "effect"

/** Pause of a worker that found less than a whole batch, in milliseconds. */
export const IDLE_PAUSE_MILLISECONDS = 1000
/** Longest pause after failures of the store in a row, in milliseconds; pauses double up to it. */
export const LONGEST_PAUSE_MILLISECONDS = 15_000

/**
 * How an idle worker pauses, for a number of milliseconds. A host that should be able to end while its workers are idle pauses
 * with a timer that does not keep its process alive. Default: by the clock.
 */
export class IdlePause extends Context.Reference<(milliseconds: number) => Effect.Effect<void>>(
  "@svc/domain/workers/IdlePause",
  { defaultValue: () => Effect.sleep }
) {}

/** Pauses an idle worker. */
export const pauseWhileIdle = (milliseconds: number): Effect.Effect<void> =>
  Effect.flatMap(IdlePause, (pause) => pause(milliseconds))

/** Pause after a number of failures of the store in a row, in milliseconds. */
export const pauseAfterFailures = (failures: number): number =>
  Math.min(IDLE_PAUSE_MILLISECONDS * 2 ** (failures - 1), LONGEST_PAUSE_MILLISECONDS)

/**
 * Sleeps until `duration` has elapsed since `since`, a reading of this process's monotonic clock; 0 stands for never, and
 * needs no sleep.
 */
export const sleepUntilElapsed = (since: bigint, duration: Nanos): Effect.Effect<void> =>
  Effect.flatMap(Clock.monotonicTimeNanos, (now) => {
    const wait = since + duration - now
    return since > 0n && wait > 0n ? Effect.sleep(Number(wait / NANOS_PER_MILLISECOND) + 1) : Effect.void
  })
