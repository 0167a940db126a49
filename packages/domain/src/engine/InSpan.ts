import { Effect, References } from "effect"

/**
 * A span of that name around a program, where spans are collected. `Effect.fn` with a name captures a stack trace for each call
 * also where none is, which is about 3 of the 250 µs that a write takes; the programs that callers wait for most do without.
 */
export const inSpan =
  (name: string) =>
  <A, E, R>(program: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(References.TracerEnabled, (isCollected) =>
      isCollected ? Effect.withSpan(program, name) : program
    )
