import { Effect, Fiber, type Scope } from "effect"

/**
 * One run for all who ask while it is under way. It goes on in the scope when the first of them has gone, and whoever asks
 * after its end begins another.
 */
export const sharedRun = <A, E>(run: Effect.Effect<A, E>, scope: Scope.Scope): Effect.Effect<A, E> => {
  let underWay: Fiber.Fiber<A, E> | undefined
  return Effect.suspend(() =>
    underWay === undefined
      ? run.pipe(
          Effect.ensuring(
            Effect.sync(() => {
              underWay = undefined
            })
          ),
          Effect.forkIn(scope),
          Effect.tap((fiber) =>
            Effect.sync(() => {
              if (fiber.pollUnsafe() === undefined) underWay = fiber
            })
          )
        )
      : Effect.succeed(underWay)
  ).pipe(Effect.flatMap(Fiber.join))
}
