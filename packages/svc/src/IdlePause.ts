import { Clock, Context, Effect } from "effect"

/** The clock of a program that has set no other. */
const CLOCK = Context.get(Context.empty(), Clock.Clock)

/** A pause by a timer that does not keep the process alive. By a clock that a test has set, it is a sleep like any other. */
export const pauseUnreferenced = (milliseconds: number): Effect.Effect<void> =>
  Effect.flatMap(Clock.Clock, (clock) =>
    clock === CLOCK
      ? Effect.callback<void>((resume) => {
          const timer = setTimeout(() => resume(Effect.void), milliseconds)
          timer.unref()
          return Effect.sync(() => clearTimeout(timer))
        })
      : Effect.sleep(milliseconds)
  )
