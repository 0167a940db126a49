import type { IdentityAlgorithm } from "@svc/domain/organization/Organization"
import { IDENTITY_ASSERTION_MAX_CHARACTERS } from "@svc/protocol/ApprovalSession"
import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { isJsonObject, type JsonObject } from "@svc/protocol/json/Json"
import { parseStrictJson } from "@svc/protocol/json/StrictJson"
import { Result } from "effect"
import type { IdentityFault } from "./IdentityFault.ts"

/** A compact JWS whose form is right; its signature is not verified yet. */
export interface CompactJws {
  readonly algorithm: IdentityAlgorithm
  readonly kid: string | undefined
  /** The payload's bytes as received. */
  readonly payload: Uint8Array
}

/** Header members that change what is signed or bring a key of the sender's: refused whatever they hold. */
const REFUSED_MEMBERS = ["crit", "b64", "jwk", "jku", "x5u", "x5c"]

const parseObject = (bytes: Uint8Array): JsonObject | undefined => {
  const parsed = parseStrictJson(bytes)
  return Result.isSuccess(parsed) && isJsonObject(parsed.success) ? parsed.success : undefined
}

const member = (object: JsonObject, name: string) => (Object.hasOwn(object, name) ? object[name] : undefined)

/**
 * Reads a compact JWS by rules stricter than JOSE libraries': three segments of canonical base64url, a
 * header that is one JSON object without repeated members, and an algorithm of the list alone.
 */
export const readCompactJws = (
  assertion: string,
  algorithms: ReadonlyArray<IdentityAlgorithm>
): Result.Result<CompactJws, IdentityFault> => {
  if (assertion.length > IDENTITY_ASSERTION_MAX_CHARACTERS) return Result.fail("too_long")
  const segments = assertion.split(".")
  const [headerBytes, payload, signature] = segments.map(decodeBase64Url)
  if (segments.length !== 3 || headerBytes === undefined || payload === undefined) {
    return Result.fail("not_compact_jws")
  }
  if (signature === undefined || signature.length === 0) return Result.fail("not_compact_jws")
  const header = parseObject(headerBytes)
  if (header === undefined) return Result.fail("header_malformed")
  if (REFUSED_MEMBERS.some((name) => Object.hasOwn(header, name))) return Result.fail("header_member_refused")
  const algorithm = algorithms.find((allowed) => allowed === member(header, "alg"))
  if (algorithm === undefined) return Result.fail("algorithm_not_allowed")
  const kid = member(header, "kid")
  if (kid !== undefined && typeof kid !== "string") return Result.fail("kid_malformed")
  return Result.succeed({ algorithm, kid, payload })
}

/** The claims of a verified payload. */
export const readClaims = (payload: Uint8Array): Result.Result<JsonObject, IdentityFault> => {
  const claims = parseObject(payload)
  return claims === undefined ? Result.fail("payload_malformed") : Result.succeed(claims)
}
