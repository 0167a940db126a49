import { Effect, Scope } from "effect"

/**
 * Makes something at once that is closed with the scope, as `Effect.acquireRelease` does, which would also copy all services of
 * its caller for the closing: of an attempt's processor time that was a thirtieth.
 */
export const closedWithScope = <A>(
  make: () => A,
  close: (made: A) => Effect.Effect<unknown>
): Effect.Effect<A, never, Scope.Scope> =>
  Effect.uninterruptible(
    Effect.flatMap(Effect.scope, (scope) => {
      const made = make()
      return Effect.as(
        Scope.addFinalizer(
          scope,
          Effect.suspend(() => close(made))
        ),
        made
      )
    })
  )
