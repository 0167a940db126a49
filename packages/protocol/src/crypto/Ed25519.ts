import { ed25519 } from "@noble/curves/ed25519.js"

/** Bytes of a public key (RFC 8032 section 5.1.5). */
export const ED25519_PUBLIC_KEY_BYTES = 32

/**
 * Whether the bytes are a point of Ed25519 in its one encoding, and of the group that keys are made in: under a point of
 * small order one signature fits any message.
 */
export const isEd25519PublicKey = (publicKey: Uint8Array): boolean => {
  if (publicKey.length !== ED25519_PUBLIC_KEY_BYTES) return false
  try {
    const point = ed25519.Point.fromBytes(publicKey)
    return !point.isSmallOrder() && point.isTorsionFree()
  } catch {
    return false
  }
}
