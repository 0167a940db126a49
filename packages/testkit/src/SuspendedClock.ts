import { Clock, Effect } from "effect"

/** The clock of a machine that is suspended from now on: its wall clock goes on, and its monotonic clock stands still. */
export const suspendedClock: Effect.Effect<Clock.Clock> = Clock.clockWith((clock) =>
  Effect.sync(() => {
    const at = clock.monotonicTimeNanosUnsafe()
    return {
      ...clock,
      monotonicTimeNanosUnsafe: () => at,
      monotonicTimeNanos: Effect.succeed(at)
    }
  })
)
