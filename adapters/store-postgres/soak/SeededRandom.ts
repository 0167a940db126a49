/** Repeatable random choices: the same seed gives the same ones. Not for secrets. */
export interface SeededRandom {
  /** 0 to 1, without 1. */
  readonly next: () => number
  /** An integer of `from` to `to`, both included. */
  readonly integer: (from: number, to: number) => number
  readonly pick: <A>(list: ReadonlyArray<A>) => A | undefined
  /** Another source, which what is drawn from this one does not disturb. */
  readonly fork: () => SeededRandom
}

/** mulberry32. */
export const seededRandom = (seed: number): SeededRandom => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const integer = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1))
  return {
    next,
    integer,
    pick: (list) => list[integer(0, list.length - 1)],
    fork: () => seededRandom(integer(0, 2 ** 32 - 1))
  }
}
