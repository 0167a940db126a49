import { p256 } from "@noble/curves/nist.js"
import { toLowS } from "./LowS.ts"

/**
 * The low-S form of 64 bytes that somebody else gives as the ES256 signature of a digest, or `undefined` if they are not one by
 * this key.
 */
export const verifiedSignature = (
  signature: Uint8Array,
  digest: Uint8Array,
  publicKey: Uint8Array
): Uint8Array | undefined =>
  p256.verify(signature, digest, publicKey, { prehash: false, lowS: false, format: "compact" })
    ? toLowS(signature)
    : undefined
