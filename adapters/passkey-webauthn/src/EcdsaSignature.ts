const SEQUENCE = 0x30
const INTEGER = 0x02
const SIGN_BIT = 0x80
const SCALAR_BYTES = 32

/** The content of the DER integer at `offset`, if it is positive, minimal and of at most 256 bits. */
const integerAt = (bytes: Uint8Array, offset: number): Uint8Array | undefined => {
  const length = bytes[offset + 1]
  if (bytes[offset] !== INTEGER || length === undefined || length < 1) return undefined
  const content = bytes.subarray(offset + 2, offset + 2 + length)
  if (content.length !== length || (content[0]! & SIGN_BIT) !== 0) return undefined
  const padded = content[0] === 0
  if (padded && (content[1] === undefined || (content[1] & SIGN_BIT) === 0)) return undefined
  return content.length - (padded ? 1 : 0) <= SCALAR_BYTES ? content : undefined
}

/**
 * Whether the bytes are the DER form of a P-256 signature (WebAuthn Level 3 section 6.5.5), the only
 * one that every verifier reads: minimal lengths and integers, nothing before or after. The library's
 * parser is laxer, but an approval must verify offline with any verifier.
 */
export const isDerP256Signature = (bytes: Uint8Array): boolean => {
  if (bytes[0] !== SEQUENCE || bytes[1] !== bytes.length - 2) return false
  const r = integerAt(bytes, 2)
  if (r === undefined) return false
  const s = integerAt(bytes, 4 + r.length)
  return s !== undefined && 6 + r.length + s.length === bytes.length
}
