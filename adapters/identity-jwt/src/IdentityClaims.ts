import type { VerifiedIdentity } from "@svc/domain/ports/IdentityVerifier"
import type { JsonObject, JsonValue } from "@svc/protocol/json/Json"
import { isWellFormedText, TEXT_MAX_CODE_POINTS } from "@svc/protocol/Text"
import { type Instant, NANOS_PER_SECOND, type Nanos } from "@svc/protocol/Timestamp"
import { Result } from "effect"
import type { IdentityFault } from "./IdentityFault.ts"

/** Longest time from `iat` to `exp`: 300 s (part 6). */
export const MAX_LIFETIME: Nanos = 300n * NANOS_PER_SECOND

/** How far the issuer's clock may be from ours, for each of `exp`, `iat` and `nbf`: 30 s (part 6). */
export const LEEWAY: Nanos = 30n * NANOS_PER_SECOND

/** Largest NumericDate that is read, in seconds: the end of the year 9999. */
const MAX_NUMERIC_DATE = 253_402_300_799

const NANOS_IN_A_SECOND = 1e9

type Checked<A> = Result.Result<A, IdentityFault>

const claim = (claims: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(claims, name) ? claims[name] : undefined

/**
 * A NumericDate (RFC 7519 section 2), which may have a fraction. Only the fraction passes through a
 * double's arithmetic, so that whole seconds stay exact.
 */
const instantOf = (value: JsonValue | undefined): Checked<Instant> => {
  if (typeof value !== "number" || !(value >= 0 && value <= MAX_NUMERIC_DATE)) {
    return Result.fail("time_malformed")
  }
  const seconds = Math.floor(value)
  const fraction = Math.round((value - seconds) * NANOS_IN_A_SECOND)
  return Result.succeed(BigInt(seconds) * NANOS_PER_SECOND + BigInt(fraction))
}

const isText = (value: JsonValue | undefined): value is string =>
  typeof value === "string" &&
  value !== "" &&
  isWellFormedText(value) &&
  (value.length <= TEXT_MAX_CODE_POINTS || [...value].length <= TEXT_MAX_CODE_POINTS)

/** `aud` is one audience, or a list of them that holds ours; every entry must be a string. */
const isForAudience = (value: JsonValue | undefined, audience: string): boolean => {
  if (typeof value === "string") return value === audience
  if (!Array.isArray(value)) return false
  return value.every((entry) => typeof entry === "string") && value.includes(audience)
}

const checkTimes = (claims: JsonObject, now: Instant): Checked<Instant> =>
  Result.gen(function* () {
    const expiresAt = yield* instantOf(claim(claims, "exp"))
    const issuedAt = yield* instantOf(claim(claims, "iat"))
    const notBefore = Object.hasOwn(claims, "nbf") ? yield* instantOf(claims.nbf) : undefined
    const lifetime: Nanos = expiresAt - issuedAt
    if (lifetime <= 0n || lifetime > MAX_LIFETIME)
      return yield* Result.fail("lifetime_out_of_bounds" as const)
    if (now >= expiresAt + LEEWAY) return yield* Result.fail("expired" as const)
    if (issuedAt > now + LEEWAY) return yield* Result.fail("issued_in_the_future" as const)
    if (notBefore !== undefined && notBefore > now + LEEWAY) {
      return yield* Result.fail("not_yet_valid" as const)
    }
    return expiresAt
  })

/**
 * Checks the claims of an assertion whose signature verifies (part 6). `iss` and `aud` are compared
 * exactly; `sub` and `jti` are well-formed strings of 1 to 255 characters; `exp`, `iat` and, if there,
 * `nbf` are numbers. `expiresAt` is `exp` without leeway.
 */
export const checkClaims = (
  claims: JsonObject,
  expected: { readonly issuer: string; readonly audience: string; readonly now: Instant }
): Checked<VerifiedIdentity> => {
  const [subject, jti] = [claim(claims, "sub"), claim(claims, "jti")]
  if (claim(claims, "iss") !== expected.issuer) return Result.fail("issuer_mismatch")
  if (!isForAudience(claim(claims, "aud"), expected.audience)) return Result.fail("audience_mismatch")
  if (!isText(subject)) return Result.fail("subject_malformed")
  if (!isText(jti)) return Result.fail("jti_malformed")
  return Result.map(checkTimes(claims, expected.now), (expiresAt) => ({
    issuer: expected.issuer,
    subject,
    jti,
    expiresAt,
    enrolmentAllowed: claim(claims, "svc_enrol") === true
  }))
}
