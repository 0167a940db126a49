import { Context, Effect, Semaphore } from "effect"

interface Turn {
  readonly semaphore: Semaphore.Semaphore
  waiting: number
}

/** Turns on a stream within this process: after a few lost races, waiting in line is cheaper than racing on. */
export class StreamTurns extends Context.Reference<{
  /** How many wait for the turn of a key or have it. */
  readonly length: (key: string) => number
  readonly inTurn: (key: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}>("@svc/domain/engine/StreamTurns", {
  defaultValue: () => {
    const turns = new Map<string, Turn>()
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
      inTurn: (key) => (effect) =>
        Effect.acquireUseRelease(enter(key), (turn) => turn.semaphore.withPermits(1)(effect), leave(key))
    }
  }
}) {}
