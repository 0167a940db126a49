import { Effect } from "effect"
import {
  type ClaimTaken,
  type LoadedStream,
  type OutOfTime,
  type Stale,
  StoreUnavailable
} from "../ports/MandateStore.ts"
import { type MandatePlace, StreamTurns } from "./StreamTurns.ts"

/** Races that an attempt may lose before it waits for its turn. */
export const RACES_BEFORE_TURN = 3
/** Longest wait for a turn, in seconds: those ahead may all wait for a store that does not answer. */
export const TURN_PATIENCE_SECONDS = 10
/** Attempts after which a write is given up as 503: something else is wrong. */
export const MAX_TRIES = 100

/** Whether an append failed because another came first. */
export const isRace = (error: unknown): error is Stale | OutOfTime | ClaimTaken =>
  typeof error === "object" &&
  error !== null &&
  "_tag" in error &&
  (error._tag === "Stale" || error._tag === "OutOfTime" || error._tag === "ClaimTaken")

/** What those have in common that wait for one another. A key that takes a load to learn is learnt after lost races. */
export type TurnKey<R = never> = string | Effect.Effect<string, StoreUnavailable, R>

/**
 * Runs an attempt, which loads, decides and appends, again for as long as others are faster. A claim that is taken is a
 * race too: the next load sees its holder. Attempts with the same turn key wait for one another: from the beginning if
 * the key is known, so that within this process none of them ever loses a race, else after a few lost races.
 */
export const untilAppended = <A, E, R, R2 = never>(
  turnKey: TurnKey<R2>,
  attempt: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, Stale | OutOfTime | ClaimTaken> | StoreUnavailable, R | R2> => {
  const inTurn = (key: string) =>
    StreamTurns.use((turns) =>
      turns.inTurn(
        key,
        TURN_PATIENCE_SECONDS
      )(attempt.pipe(Effect.retry({ while: isRace, times: MAX_TRIES })))
    )
  const appended =
    typeof turnKey === "string"
      ? inTurn(turnKey)
      : attempt.pipe(
          Effect.retry({ while: isRace, times: RACES_BEFORE_TURN }),
          Effect.catchIf(isRace, () => Effect.flatMap(turnKey, inTurn))
        )
  return appended.pipe(
    Effect.catchIf(isRace, (cause) => Effect.fail(new StoreUnavailable({ cause, retryAfterSeconds: 1 })))
  ) as Effect.Effect<A, Exclude<E, Stale | OutOfTime | ClaimTaken> | StoreUnavailable, R | R2>
}

/** The mandate that a loaded stream is of. */
export const mandateOf = ({ organization, state }: LoadedStream): MandatePlace => ({
  organization,
  mandate: state.mandate.terms.mandate_id
})
