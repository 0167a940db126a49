import { Effect } from "effect"
import {
  type ClaimTaken,
  type LoadQuery,
  MandateStore,
  type OutOfTime,
  type Stale,
  StoreUnavailable
} from "../ports/MandateStore.ts"
import { StreamTurns } from "./StreamTurns.ts"

/** Races that an attempt may lose before it waits for its turn. */
export const RACES_BEFORE_TURN = 3
/** Attempts after which a write is given up as 503: something else is wrong. */
export const MAX_TRIES = 100

const isRace = (error: unknown): boolean =>
  typeof error === "object" &&
  error !== null &&
  "_tag" in error &&
  (error._tag === "Stale" || error._tag === "OutOfTime" || error._tag === "ClaimTaken")

/**
 * Runs an attempt, which loads, decides and appends, again for as long as others are faster. A claim that is taken is a
 * race too: the next load sees its holder. After a few lost races attempts with the same turn key wait for one another.
 */
export const untilAppended = <A, E, R, R2>(
  turnKey: Effect.Effect<string, StoreUnavailable, R2>,
  attempt: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, Stale | OutOfTime | ClaimTaken> | StoreUnavailable, R | R2> => {
  const race = attempt.pipe(Effect.retry({ while: isRace, times: RACES_BEFORE_TURN }))
  const turn = Effect.flatMap(turnKey, (key) =>
    StreamTurns.use((turns) =>
      turns.inTurn(key)(attempt.pipe(Effect.retry({ while: isRace, times: MAX_TRIES })))
    )
  )
  return race.pipe(
    Effect.catchIf(isRace, () => turn),
    Effect.catchIf(isRace, (cause) => Effect.fail(new StoreUnavailable({ cause, retryAfterSeconds: 1 })))
  ) as Effect.Effect<A, Exclude<E, Stale | OutOfTime | ClaimTaken> | StoreUnavailable, R | R2>
}

/**
 * The turn key of a stream, the same whether it is named by its mandate, an authorization or a session. It takes a load,
 * so it is for after lost races.
 */
export const streamTurnKey = Effect.fnUntraced(function* (
  query: Pick<LoadQuery, "organization" | "stream">
): Effect.fn.Return<string, StoreUnavailable, MandateStore> {
  const store = yield* MandateStore
  const { stream } = yield* store.load(query)
  return JSON.stringify(
    stream === undefined
      ? [query.organization, query.stream]
      : [stream.organization, stream.state.mandate.terms.mandate_id]
  )
})
