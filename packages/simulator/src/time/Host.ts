import { Clock, Context, Duration, Effect, type Fiber, References, Scheduler } from "effect"
import type { Micros } from "./Micros.ts"
import type { SimulatedTime } from "./SimulatedTime.ts"

/** Operations after which a fiber lets others go on, as in Effect's own scheduler. */
const OPERATIONS_BEFORE_YIELD = 2048
const NANOS_PER_MICRO = 1000n
const MICROS_PER_MILLISECOND = 1000

/**
 * A machine with a clock of its own, whose fibers run in the simulated time. A dead one never does anything again: its
 * fibers stop where they are, and nothing is cleaned up. A paused one goes on later, with everything that waits for it.
 */
export class Host {
  readonly name: string
  isAlive = true
  pausedUntil: Micros = 0
  /** How far its wall clock is from the simulated time. */
  clockOffset: Micros = 0
  /** By how many parts in a million its monotonic clock goes faster. */
  drift = 0
  /** For how long its monotonic clock stands still while the machine is suspended, and when it does so last. */
  #suspended: Micros = 0
  #suspension = { from: 0, until: 0 }
  readonly #mourners = new Set<() => void>()
  readonly #time: SimulatedTime
  readonly #startedAt: Micros
  readonly #idlePause: number | undefined

  /** `idlePause` is the pause of a worker without anything to do, in milliseconds. */
  constructor(name: string, time: SimulatedTime, idlePause?: number) {
    this.name = name
    this.#time = time
    this.#startedAt = time.now
    this.#idlePause = idlePause
  }

  /** What its fibers find in their context, beside ports. */
  readonly context = (): Context.Context<never> =>
    Context.make(Scheduler.Scheduler, this.#scheduler).pipe(
      Context.add(Clock.Clock, this.#clock),
      Context.add(References.MinimumLogLevel, "None"),
      Context.add(References.TracerEnabled, false)
    )

  /** Calls back when it dies, unless it is told not to before. */
  whenDead(call: () => void): () => void {
    this.#mourners.add(call)
    return () => this.#mourners.delete(call)
  }

  die(): void {
    this.isAlive = false
    for (const call of this.#mourners) call()
    this.#mourners.clear()
  }

  /** Stops its fibers, and with the machine suspended its monotonic clock too. */
  pause(lasts: Micros, isSuspended = false): void {
    const from = Math.max(this.#time.now, this.pausedUntil)
    this.pausedUntil = Math.max(from, this.#time.now + lasts)
    if (!isSuspended) return
    this.#suspension = { from, until: this.pausedUntil }
    this.#suspended += this.pausedUntil - from
  }

  resume(): void {
    const { from, until } = this.#suspension
    this.#suspended -= Math.max(0, until - Math.max(from, this.#time.now))
    this.pausedUntil = 0
  }

  get #scheduler(): Scheduler.Scheduler {
    const dispatcher: Scheduler.SchedulerDispatcher = {
      scheduleTask: (task) => this.#time.ready(this, task),
      flush: () => undefined
    }
    return {
      executionMode: "async",
      shouldYield: (fiber: Fiber.Fiber<unknown, unknown>) => fiber.currentOpCount >= OPERATIONS_BEFORE_YIELD,
      makeDispatcher: () => dispatcher
    }
  }

  get #clock(): Clock.Clock {
    const wall = (): Micros => this.#time.now + this.clockOffset
    const millis = (): number => Math.floor(wall() / MICROS_PER_MILLISECOND)
    const nanos = (): bigint => BigInt(wall()) * NANOS_PER_MICRO
    const monotonic = (): bigint => {
      const passed = this.#time.now - this.#startedAt - this.#suspended
      return BigInt(Math.floor(passed * (1 + this.drift / 1_000_000))) * NANOS_PER_MICRO
    }
    return {
      currentTimeMillisUnsafe: millis,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: monotonic,
      monotonicTimeNanos: Effect.sync(monotonic),
      sleep: (duration) => this.#sleep(Duration.toMillis(duration))
    }
  }

  #sleep(milliseconds: number): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      const delay = Math.ceil(milliseconds * MICROS_PER_MILLISECOND)
      const wake = () => resume(Effect.void)
      const timer =
        milliseconds === this.#idlePause
          ? this.#time.idle(delay, "idle", this, wake)
          : this.#time.after(delay, "sleep", this, wake)
      return Effect.sync(() => {
        timer.isCancelled = true
      })
    })
  }
}
