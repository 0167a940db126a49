import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"

/** HMAC-SHA-256 (RFC 2104) over the concatenation of the parts, 32 bytes. */
export const hmacSha256 = (input: {
  readonly key: Uint8Array
  readonly parts: ReadonlyArray<Uint8Array>
}): Uint8Array => {
  const mac = hmac.create(sha256, input.key)
  for (const part of input.parts) mac.update(part)
  return mac.digest()
}
