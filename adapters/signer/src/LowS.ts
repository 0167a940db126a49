/** Order of the P-256 base point (FIPS 186-5, SEC 2 section 2.4.2). */
export const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

const SCALAR_BYTES = 32
const HALF_ORDER = P256_ORDER >> 1n

const toBigInt = (bytes: Uint8Array): bigint => {
  let value = 0n
  for (const byte of bytes) value = (value << 8n) | BigInt(byte)
  return value
}

const writeBigInt = (value: bigint, target: Uint8Array): void => {
  let rest = value
  for (let index = target.length - 1; index >= 0; index--) {
    target[index] = Number(rest & 0xffn)
    rest >>= 8n
  }
}

/** Whether s, the second half of a 64-byte P-256 signature, is at most half the order. */
export const isLowS = (signature: Uint8Array): boolean =>
  toBigInt(signature.subarray(SCALAR_BYTES)) <= HALF_ORDER

/**
 * The low-S form of a 64-byte P-256 signature (part 7): of the two valid signatures (r, s) and (r, n - s), the one whose s
 * is at most n / 2.
 */
export const toLowS = (signature: Uint8Array): Uint8Array => {
  const s = toBigInt(signature.subarray(SCALAR_BYTES))
  if (s <= HALF_ORDER) return signature
  const normalized = signature.slice()
  writeBigInt(P256_ORDER - s, normalized.subarray(SCALAR_BYTES))
  return normalized
}
