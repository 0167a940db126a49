import { p256 } from "@noble/curves/nist.js"

/** Bytes of an uncompressed point: 0x04, x, y (SEC 1 section 2.3.3). */
export const P256_PUBLIC_KEY_BYTES = 65

/** Bytes of one coordinate or scalar. */
export const P256_COORDINATE_BYTES = 32

/** Bytes of a signature: r then s (IEEE P1363). */
export const P256_SIGNATURE_BYTES = 64

/** Whether the bytes are an uncompressed point on P-256 other than infinity. */
export const isP256PublicKey = (publicKey: Uint8Array): boolean =>
  publicKey.length === P256_PUBLIC_KEY_BYTES && p256.utils.isValidPublicKey(publicKey, false)

/**
 * Verifies ECDSA over P-256 with SHA-256, the signature being r then s. High and low s are both
 * accepted (part 7). Bytes of another length, or a point off the curve, are false.
 */
export const verifyP256 = (input: {
  readonly publicKey: Uint8Array
  readonly signature: Uint8Array
  readonly data: Uint8Array
}): boolean => {
  if (input.signature.length !== P256_SIGNATURE_BYTES || !isP256PublicKey(input.publicKey)) return false
  return p256.verify(input.signature, input.data, input.publicKey, {
    prehash: true,
    lowS: false,
    format: "compact"
  })
}
