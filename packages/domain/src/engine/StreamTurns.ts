import { Context, Effect, Semaphore } from "effect"
import { StoreUnavailable } from "../ports/MandateStore.ts"

/** Authorizations whose mandate is remembered. */
const MAX_REMEMBERED = 10_000

interface Turn {
  readonly semaphore: Semaphore.Semaphore
  waiting: number
}

/** Turns of the writes and reads of one process. */
export interface Turns {
  /** How many wait for the turn of a key or have it. */
  readonly length: (key: string) => number
  /** Waits for so many seconds for its turn, by default for any time. */
  readonly inTurn: (
    key: string,
    patienceSeconds?: number
  ) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | StoreUnavailable, R>
  /** The mandate of an authorization, if it is remembered. */
  readonly mandateOf: (organization: string, authorization: string) => string | undefined
  readonly rememberMandate: (organization: string, authorization: string, mandate: string) => void
}

const oneAtATime = <A, E, R>(
  semaphore: Semaphore.Semaphore,
  patienceSeconds: number | undefined,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E | StoreUnavailable, R> => {
  const take = semaphore.take(1)
  const turn =
    patienceSeconds === undefined
      ? take
      : Effect.timeoutOrElse(take, {
          duration: `${patienceSeconds} seconds`,
          orElse: () => Effect.fail(new StoreUnavailable({ cause: "no turn in time", retryAfterSeconds: 1 }))
        })
  return Effect.uninterruptibleMask((restore) =>
    Effect.andThen(restore(turn), Effect.ensuring(restore(effect), semaphore.release(1)))
  )
}

export const makeTurns = (): Turns => {
  const turns = new Map<string, Turn>()
  const mandates = new Map<string, string>()
  const enter = (key: string) =>
    Effect.sync(() => {
      const turn = turns.get(key) ?? { semaphore: Semaphore.makeUnsafe(1), waiting: 0 }
      turn.waiting++
      turns.set(key, turn)
      return turn
    })
  const leave = (key: string) => (turn: Turn) =>
    Effect.sync(() => {
      if (--turn.waiting === 0) turns.delete(key)
    })
  return {
    length: (key) => turns.get(key)?.waiting ?? 0,
    inTurn: (key, patienceSeconds) => (effect) =>
      Effect.acquireUseRelease(
        enter(key),
        ({ semaphore }) => oneAtATime(semaphore, patienceSeconds, effect),
        leave(key)
      ),
    mandateOf: (organization, authorization) => mandates.get(`${organization} ${authorization}`),
    rememberMandate: (organization, authorization, mandate) => {
      mandates.set(`${organization} ${authorization}`, mandate)
      if (mandates.size > MAX_REMEMBERED) mandates.delete(mandates.keys().next().value!)
    }
  }
}

/**
 * Turns within this process: of those with one key, one at a time goes on, in the order in which they came. Waiting in line
 * is cheaper than losing races, and nobody starves.
 */
export class StreamTurns extends Context.Reference<Turns>("@svc/domain/engine/StreamTurns", {
  defaultValue: makeTurns
}) {}
