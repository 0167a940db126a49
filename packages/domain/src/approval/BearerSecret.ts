import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { sha256Base64Url } from "@svc/protocol/crypto/Sha256"
import { Redacted } from "effect"

/** A secret whose text is the base64url of random bytes: an approval token, a session cookie. */
export const secretOfBytes = (random: Uint8Array, label: string): Redacted.Redacted<string> =>
  Redacted.make(encodeBase64Url(random), { label })

/** base64url of 32 bytes. */
const SECRET = /^[A-Za-z0-9_-]{43}$/u

/** A secret that a caller gave, or `undefined` for anything that cannot be one. */
export const readSecret = (given: unknown): Redacted.Redacted<string> | undefined =>
  isRedactedText(given) && SECRET.test(Redacted.value(given)) ? given : undefined

/** Whether a value is a secret text that has not been wiped. */
export const isRedactedText = (given: unknown): given is Redacted.Redacted<string> => {
  try {
    return Redacted.isRedacted(given) && typeof Redacted.value(given) === "string"
  } catch {
    // A wiped secret, or a proxy with traps of its own.
    return false
  }
}

/** How a secret is stored: base64url SHA-256 of its text. 256 random bits need no slow hash. */
export const secretHash = (secret: Redacted.Redacted<string>): string =>
  sha256Base64Url(Redacted.value(secret))
