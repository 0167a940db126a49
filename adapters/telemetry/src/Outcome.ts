import { Cause, Effect, Exit, Option } from "effect"

const MILLISECONDS_PER_SECOND = 1000

/** `StoreUnavailable` as `store_unavailable`. */
const snakeCased = (tag: string): string =>
  tag.replaceAll(/(?<=[a-z0-9])[A-Z]/gu, (letter) => `_${letter}`).toLowerCase()

const tagOf = (failure: unknown): string | undefined =>
  typeof failure === "object" && failure !== null && "_tag" in failure && typeof failure._tag === "string"
    ? failure._tag
    : undefined

/** How a call ended, as the value of a label: `ok`, the tag of its error, `interrupted`, or `defect`. */
export const resultOf = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return "ok"
  if (Cause.hasInterruptsOnly(exit.cause)) return "interrupted"
  const tag = tagOf(Option.getOrUndefined(Cause.findErrorOption(exit.cause)))
  return tag === undefined ? "defect" : snakeCased(tag)
}

/** Runs an effect, and tells how it ended and how long it took, in seconds. */
export const timed = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  ended: (exit: Exit.Exit<A, E>, seconds: number) => void
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const began = performance.now()
    return Effect.onExit(effect, (exit) =>
      Effect.sync(() => ended(exit, (performance.now() - began) / MILLISECONDS_PER_SECOND))
    )
  })
