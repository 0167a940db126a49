import { bytesOf } from "./FuzzTarget.ts"

/** Longest input that is tried, in bytes: more than a body may have is refused by its length alone. */
export const MAX_INPUT_BYTES = 8192

/** Most mutations that an input differs by from the one that it is made of. */
const MOST_MUTATIONS = 6

/** Numbers that parsers get wrong, as decimal text. */
const NUMBERS = [
  "0",
  "-0",
  "-1",
  "1e999",
  "9007199254740991",
  "9007199254740992",
  "18446744073709551616",
  "1.5",
  "1e0"
]

/** Bytes that readers of text get wrong. */
const CHARACTERS = [
  "\u0000",
  "\t",
  "\n",
  "\r\n",
  '"',
  "\\",
  "\\u0000",
  "\\ud800",
  "%00",
  "%zz",
  "=",
  ",",
  ";",
  ".",
  "..",
  "{}",
  "[]",
  "null",
  "__proto__",
  "\u00a0",
  "\u2028",
  "\ufeff",
  "\ufffd",
  "\u{1f600}"
]

/** Bytes that are no UTF-8. */
const ILL_FORMED = [
  Uint8Array.of(0xed, 0xa0, 0x80),
  Uint8Array.of(0xff),
  Uint8Array.of(0xc0, 0x80),
  Uint8Array.of(0xf4, 0x90, 0x80, 0x80)
]

/** Numbers below a bound that follow from a seed (mulberry32). */
export const seededNumbers = (seed: number) => {
  let state = seed >>> 0
  return (bound: number): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }
}

type Draw = ReturnType<typeof seededNumbers>

const joined = (...parts: ReadonlyArray<Uint8Array>): Uint8Array => Uint8Array.from(Buffer.concat(parts))

const pick = <A>(list: ReadonlyArray<A>, draw: Draw): A => {
  const found = list[draw(list.length)]
  if (found === undefined) throw new RangeError("there is nothing to pick from")
  return found
}

/** A stretch of the input, mostly a short one. */
const stretch = (input: Uint8Array, draw: Draw): readonly [from: number, to: number] => {
  const from = draw(input.length + 1)
  const longest = draw(4) === 0 ? input.length - from : Math.min(8, input.length - from)
  return [from, from + draw(longest + 1)]
}

/** The stretch of a number or of a word that is there. */
const token = (input: Uint8Array, draw: Draw): readonly [from: number, to: number] => {
  const tokens = [
    ...Buffer.from(input)
      .toString("latin1")
      .matchAll(/\d+|[A-Za-z_]+|"[^"]*"/gu)
  ]
  if (tokens.length === 0) return stretch(input, draw)
  const found = pick(tokens, draw)
  return [found.index, found.index + found[0].length]
}

/** Makes inputs out of inputs. What it makes follows from the seed. */
export const makeMutator = (seed: number, words: ReadonlyArray<string>) => {
  const draw = seededNumbers(seed)
  const pieces = [...words, ...words, ...NUMBERS, ...CHARACTERS].map(bytesOf).concat(ILL_FORMED)

  const once = (input: Uint8Array, others: ReadonlyArray<Uint8Array>): Uint8Array => {
    const replace = ([from, to]: readonly [number, number], by: Uint8Array): Uint8Array =>
      joined(input.subarray(0, from), by, input.subarray(to))
    const at = draw(input.length + 1)
    switch (draw(10)) {
      case 0: {
        const changed = Uint8Array.from(input)
        if (changed.length > 0) changed[at % changed.length]! ^= 1 << draw(8)
        return changed
      }
      case 1:
        return replace([at, Math.min(at + 1, input.length)], Uint8Array.of(draw(256)))
      case 2:
        return replace(stretch(input, draw), new Uint8Array())
      case 3:
        return replace([at, at], pick(pieces, draw))
      case 4:
        return replace(token(input, draw), pick(pieces, draw))
      case 5:
        return replace(stretch(input, draw), pick(pieces, draw))
      case 6: {
        const [from, to] = stretch(input, draw)
        return replace([at, at], input.subarray(from, to))
      }
      case 7: {
        const [from, to] = token(input, draw)
        return replace(token(input, draw), input.subarray(from, to))
      }
      case 8: {
        const other = pick(others, draw)
        const [from, to] = draw(2) === 0 ? stretch(other, draw) : token(other, draw)
        return replace(draw(2) === 0 ? [at, at] : token(input, draw), other.subarray(from, to))
      }
      default: {
        const other = pick(others, draw)
        return joined(input.subarray(0, at), other.subarray(draw(other.length + 1)))
      }
    }
  }

  return {
    draw,
    /** An input that differs from one of those, newer ones being chosen more often. */
    next: (inputs: ReadonlyArray<Uint8Array>): Uint8Array => {
      const newest = draw(2) === 0 ? Math.max(0, inputs.length - 16) : 0
      let input = inputs[newest + draw(inputs.length - newest)] ?? new Uint8Array()
      for (let left = 1 + draw(MOST_MUTATIONS); left > 0; left--) input = once(input, inputs)
      return input.subarray(0, MAX_INPUT_BYTES)
    }
  }
}
