/** The part of CBOR that an authenticator writes. Maps keep their order; integers are below 2^32. */
export type CborValue = number | string | Uint8Array | ReadonlyMap<number | string, CborValue>

const UNSIGNED = 0
const NEGATIVE = 1
const BYTES = 2
const TEXT = 3
const MAP = 5

/** Values of the low five bits that announce an argument in the next 1, 2 or 4 bytes. */
const ONE_BYTE_ARGUMENT = 24
const TWO_BYTE_ARGUMENT = 25
const FOUR_BYTE_ARGUMENT = 26

const head = (major: number, argument: number): ReadonlyArray<number> => {
  const type = major << 5
  if (argument < ONE_BYTE_ARGUMENT) return [type | argument]
  if (argument <= 0xff) return [type | ONE_BYTE_ARGUMENT, argument]
  if (argument <= 0xffff) return [type | TWO_BYTE_ARGUMENT, argument >> 8, argument & 0xff]
  const bytes = [24, 16, 8, 0].map((shift) => (argument >>> shift) & 0xff)
  return [type | FOUR_BYTE_ARGUMENT, ...bytes]
}

const write = (value: CborValue, output: Array<number>): void => {
  if (typeof value === "number") {
    output.push(...(value < 0 ? head(NEGATIVE, -1 - value) : head(UNSIGNED, value)))
  } else if (typeof value === "string") {
    const text = new TextEncoder().encode(value)
    output.push(...head(TEXT, text.length), ...text)
  } else if (value instanceof Uint8Array) {
    output.push(...head(BYTES, value.length), ...value)
  } else {
    output.push(...head(MAP, value.size))
    for (const [key, member] of value) {
      write(key, output)
      write(member, output)
    }
  }
}

/** Encodes as CBOR with the shortest heads and definite lengths (RFC 8949 section 4.2.1). */
export const encodeCbor = (value: CborValue): Uint8Array => {
  const output: Array<number> = []
  write(value, output)
  return Uint8Array.from(output)
}
