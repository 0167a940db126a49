const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
const NOT_IN_ALPHABET = -1

const CODES = Uint8Array.from(ALPHABET, (character) => character.charCodeAt(0))
const SEXTETS = new Int8Array(128).fill(NOT_IN_ALPHABET)
CODES.forEach((code, sextet) => {
  SEXTETS[code] = sextet
})

const sextetAt = (text: string, index: number): number => {
  const code = text.charCodeAt(index)
  return code < 128 ? SEXTETS[code]! : NOT_IN_ALPHABET
}

/** The one base64url text of exactly 32 bytes: 43 characters, the last with two zero bits (part 1). */
export const BASE64URL_OF_32_BYTES = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/u

/** The characters of {@link encodeBase64Url} as the bytes that they are in ASCII, for text that is hashed or sent. */
export const encodeBase64UrlBytes = (bytes: Uint8Array): Uint8Array<ArrayBuffer> => {
  const output = new Uint8Array(Math.ceil((bytes.length * 4) / 3))
  let position = 0
  // Evidence may have tens of megabytes, so whole groups of three bytes take the short way.
  const whole = bytes.length - (bytes.length % 3)
  for (let index = 0; index < whole; index += 3) {
    const group = (bytes[index]! << 16) | (bytes[index + 1]! << 8) | bytes[index + 2]!
    output[position++] = CODES[group >> 18]!
    output[position++] = CODES[(group >> 12) & 63]!
    output[position++] = CODES[(group >> 6) & 63]!
    output[position++] = CODES[group & 63]!
  }
  const left = bytes.length - whole
  if (left > 0) {
    const group = (bytes[whole]! << 16) | ((left === 2 ? bytes[whole + 1]! : 0) << 8)
    output[position++] = CODES[group >> 18]!
    output[position++] = CODES[(group >> 12) & 63]!
    if (left === 2) output[position++] = CODES[(group >> 6) & 63]!
  }
  return output
}

const ascii = new TextDecoder()

/** Encodes bytes as unpadded base64url (RFC 4648 section 5). */
export const encodeBase64Url = (bytes: Uint8Array): string => ascii.decode(encodeBase64UrlBytes(bytes))

/**
 * Decodes unpadded, canonical base64url (part 1). Padding, `+`, `/`, white space, a length that no
 * byte sequence has, and non-zero unused trailing bits all give `undefined`.
 */
export const decodeBase64Url = (text: string): Uint8Array | undefined => {
  if (text.length % 4 === 1) return undefined
  const output = new Uint8Array(Math.floor((text.length * 3) / 4))
  let position = 0
  let pending = 0
  let bits = 0
  for (let index = 0; index < text.length; index++) {
    const sextet = sextetAt(text, index)
    if (sextet === NOT_IN_ALPHABET) return undefined
    pending = ((pending << 6) | sextet) & 0xffff
    bits += 6
    if (bits >= 8) {
      bits -= 8
      output[position++] = (pending >> bits) & 0xff
    }
  }
  return (pending & ((1 << bits) - 1)) === 0 ? output : undefined
}

/** Whether `decodeBase64Url` would accept the text, without decoding it. */
export const isBase64Url = (text: string): boolean => {
  const remainder = text.length % 4
  if (remainder === 1) return false
  for (let index = 0; index < text.length; index++) {
    if (sextetAt(text, index) === NOT_IN_ALPHABET) return false
  }
  if (remainder === 0) return true
  const unusedBits = remainder === 2 ? 0b1111 : 0b11
  return (sextetAt(text, text.length - 1) & unusedBits) === 0
}
