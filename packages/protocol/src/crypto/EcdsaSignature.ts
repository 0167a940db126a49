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
 * A P-256 signature as authenticators give it (DER, WebAuthn Level 3 section 6.5.5) in the form of WebCrypto: R then S, 64
 * bytes. Undefined for bytes that are not the one DER form of a signature.
 */
export const rawEcdsaSignature = (der: Uint8Array): Uint8Array | undefined => {
  if (der[0] !== SEQUENCE || der[1] !== der.length - 2) return undefined
  const r = integerAt(der, 2)
  const s = r === undefined ? undefined : integerAt(der, 4 + r.length)
  if (r === undefined || s === undefined || 6 + r.length + s.length !== der.length) return undefined
  const raw = new Uint8Array(2 * SCALAR_BYTES)
  for (const [index, scalar] of [r, s].entries()) {
    const digits = scalar[0] === 0 ? scalar.subarray(1) : scalar
    raw.set(digits, (index + 1) * SCALAR_BYTES - digits.length)
  }
  return raw
}
