import { sha256 } from "@noble/hashes/sha2.js"
import { utf8ToBytes } from "@noble/hashes/utils.js"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { Redacted } from "effect"

/** A secret whose text is the base64url of random bytes: an approval token, a session cookie. */
export const secretOfBytes = (random: Uint8Array, label: string): Redacted.Redacted<string> =>
  Redacted.make(encodeBase64Url(random), { label })

/** How a secret is stored: base64url SHA-256 of its text. 256 random bits need no slow hash. */
export const secretHash = (secret: Redacted.Redacted<string>): string =>
  encodeBase64Url(sha256(utf8ToBytes(Redacted.value(secret))))
