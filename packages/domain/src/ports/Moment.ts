import { laterOf, type Nanos } from "@svc/protocol/Timestamp"
import { Clock, Effect } from "effect"

/** A moment of this process by both of its clocks. */
export interface Moment {
  readonly monotonic: bigint
  readonly wall: bigint
}

/** The present one, in nanoseconds of each clock. */
export const thisMoment: Effect.Effect<Moment> = Clock.clockWith((clock) =>
  Effect.sync(() => ({
    monotonic: clock.monotonicTimeNanosUnsafe(),
    wall: clock.currentTimeNanosUnsafe()
  }))
)

/**
 * What has passed between two moments, in nanoseconds, at most. The monotonic clock stands still while the machine is suspended,
 * which the wall clock shows; a wall clock that was set makes it seem more.
 */
export const mostPassed = (from: Moment, to: Moment): Nanos => {
  const byWall = to.wall - from.wall
  return laterOf(to.monotonic - from.monotonic, byWall < 0n ? -byWall : byWall)
}
