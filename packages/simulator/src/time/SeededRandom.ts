/** Repeatable random choices: the same seed gives the same ones. Not for secrets. */
export interface SeededRandom {
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly next: () => number
  /** An integer of `from` to `to`, both included. */
  readonly integer: (from: number, to: number) => number
  readonly chance: (probability: number) => boolean
  /** One of a list that is not empty. */
  readonly pick: <A>(list: ReadonlyArray<A>) => A
  readonly bytes: (count: number) => Uint8Array
  /** Another source, which draws from this one do not disturb. */
  readonly fork: () => SeededRandom
}

/** mulberry32. */
export const seededRandom = (seed: number): SeededRandom => {
  let state = seed >>> 0
  const bits = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const next = (): number => bits() / 2 ** 32
  const integer = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1))
  return {
    next,
    integer,
    chance: (probability) => next() < probability,
    pick: (list) => list[integer(0, list.length - 1)]!,
    bytes: (count) => {
      const bytes = new Uint8Array(count)
      for (let at = 0; at < count; at++) bytes[at] = bits() & 255
      return bytes
    },
    fork: () => seededRandom(bits())
  }
}
