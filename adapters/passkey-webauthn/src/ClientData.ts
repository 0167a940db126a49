import { isJsonObject } from "@svc/protocol/json/Json"
import { parseStrictJson } from "@svc/protocol/json/StrictJson"
import { Result } from "effect"
import type { PasskeyFault } from "./PasskeyFault.ts"

/**
 * What the library leaves unchecked in client data (WebAuthn Level 3 section 5.8.1): that it is one
 * JSON object that every parser reads alike, and that the page was not framed by another origin.
 * `crossOrigin` must be absent or `false`, `topOrigin` absent, whatever its value. Other members are
 * allowed, as the standard asks.
 */
export const checkClientData = (bytes: Uint8Array): Result.Result<void, PasskeyFault> => {
  const parsed = parseStrictJson(bytes)
  if (Result.isFailure(parsed) || !isJsonObject(parsed.success)) return Result.fail("client_data_malformed")
  const members = parsed.success
  if (Object.hasOwn(members, "topOrigin")) return Result.fail("top_origin")
  if (Object.hasOwn(members, "crossOrigin") && members.crossOrigin !== false) {
    return Result.fail("cross_origin")
  }
  return Result.void
}
