/** What the contract says of an operation that was to be refused and was not, or in another way. */
import { Cause, Effect, Exit } from "effect"
import { absentPortOf } from "../AbsentPort.ts"
import { shownValue, wordsOf } from "../FailureWords.ts"

interface Tagged {
  readonly _tag: string
}

const refusedAs = <A, E extends Tagged, R>(
  wanted: string,
  operation: string,
  asked: Effect.Effect<A, E, R>
): Effect.Effect<E, never, R> => {
  const start = `${operation} was to be refused${wanted === "" ? "" : ` with ${wanted}`}`
  return Effect.flatMap(Effect.exit(asked), (exit) => {
    if (Exit.isSuccess(exit)) return Effect.die(new Error(`${start}, but answered ${shownValue(exit.value)}`))
    const error: unknown = Cause.squash(exit.cause)
    if (Cause.hasFails(exit.cause)) {
      const refusal = error as E
      return wanted === "" || refusal._tag === wanted
        ? Effect.succeed(refusal)
        : Effect.die(new Error(`${start}, but was with ${wordsOf(error)}`))
    }
    if (absentPortOf(error) !== undefined) return Effect.die(error)
    const own = wanted === "" ? "the port's own error" : `\`new ${wanted}()\` of svc/store`
    return Effect.die(
      new Error(`${start}, but rejected with ${wordsOf(error)}; the port's refusal is ${own}`, {
        cause: error
      })
    )
  })
}

/** The refusal of an operation; dies, and says what came instead, if it is not refused. */
export const refused = <A, E extends Tagged, R>(
  operation: string,
  asked: Effect.Effect<A, E, R>
): Effect.Effect<E, never, R> => refusedAs("", operation, asked)

/** As `refused`, with the refusal of that tag. */
export const refusedWith = <A, E extends Tagged, R, Tag extends E["_tag"]>(
  wanted: Tag,
  operation: string,
  asked: Effect.Effect<A, E, R>
): Effect.Effect<Extract<E, { readonly _tag: Tag }>, never, R> =>
  Effect.map(refusedAs(wanted, operation, asked), (refusal) => refusal as Extract<E, { readonly _tag: Tag }>)

/** Dies, and says what came instead, unless an operation rejects as for a fault of whoever asked. */
export const rejectedAsFault = <A, E, R>(
  fault: string,
  operation: string,
  asked: Effect.Effect<A, E, R>
): Effect.Effect<void, never, R> =>
  Effect.flatMap(Effect.exit(asked), (exit) => {
    const start = `${operation} was to reject with an error that is no refusal, as for a fault: the change would ${fault}`
    if (Exit.isSuccess(exit)) return Effect.die(new Error(`${start}; it answered ${shownValue(exit.value)}`))
    return Cause.hasDies(exit.cause)
      ? Effect.void
      : Effect.die(new Error(`${start}; it was refused with ${wordsOf(Cause.squash(exit.cause))}`))
  })
