import { Effect, Fiber, type Scope } from "effect"

/**
 * Shares one run among all callers that come while it is under way; a caller after its end starts another. The run belongs
 * to the scope, so it goes on when the caller that started it is interrupted.
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
