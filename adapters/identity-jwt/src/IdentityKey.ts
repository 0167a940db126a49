import type { IdentityAlgorithm } from "@svc/domain/Organization"
import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { Effect, Result } from "effect"
import { type CryptoKey, importJWK } from "jose"
import type { IdentityFault } from "./IdentityFault.ts"

/** An organization's public keys, as parsed JSON of any shape. */
export interface IdentityKeySet {
  readonly keys: ReadonlyArray<object>
}

/** Bits of an RSA modulus; more than the maximum only costs time. */
export const MIN_RSA_BITS = 2048
export const MAX_RSA_BITS = 8192

const POINT_BYTES = 32
const MAX_RSA_EXPONENT_BYTES = 4

type Members = Readonly<Record<string, unknown>>

/** The members of a public key, and nothing else of the JWK. */
type PublicJwk = Readonly<Record<string, string>>

const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"]

/** Own members only, each read once: what follows works on the copy. */
const copyMembers = (key: unknown): Members | undefined =>
  typeof key === "object" && key !== null ? { ...key } : undefined

const own = (members: Members, name: string): unknown =>
  Object.hasOwn(members, name) ? members[name] : undefined

/** A `kid` must name one key exactly; without a `kid` there must be one key exactly (part 6). */
export const selectKey = (
  keySet: IdentityKeySet,
  kid: string | undefined
): Result.Result<object, IdentityFault> => {
  const named =
    kid === undefined ? keySet.keys : keySet.keys.filter((key) => own(copyMembers(key) ?? {}, "kid") === kid)
  if (named.length > 1) return Result.fail("key_ambiguous")
  return named[0] === undefined ? Result.fail("key_unknown") : Result.succeed(named[0])
}

const bytesOf = (members: Members, name: string): Uint8Array | undefined => {
  const text = own(members, name)
  return typeof text === "string" ? decodeBase64Url(text) : undefined
}

const pick = (members: Members, ...names: ReadonlyArray<string>): PublicJwk =>
  Object.fromEntries(names.map((name) => [name, String(members[name])]))

const ecKey = (members: Members): PublicJwk | undefined =>
  members.kty === "EC" &&
  members.crv === "P-256" &&
  bytesOf(members, "x")?.length === POINT_BYTES &&
  bytesOf(members, "y")?.length === POINT_BYTES
    ? pick(members, "kty", "crv", "x", "y")
    : undefined

const edwardsKey = (members: Members): PublicJwk | undefined =>
  members.kty === "OKP" && members.crv === "Ed25519" && bytesOf(members, "x")?.length === POINT_BYTES
    ? pick(members, "kty", "crv", "x")
    : undefined

const bitLength = (bytes: Uint8Array): number => {
  const first = bytes.findIndex((byte) => byte !== 0)
  return first === -1 ? 0 : (bytes.length - first) * 8 - (Math.clz32(bytes[first]!) - 24)
}

const rsaKey = (members: Members): PublicJwk | undefined => {
  const [modulus, exponent] = [bytesOf(members, "n"), bytesOf(members, "e")]
  if (members.kty !== "RSA" || modulus === undefined || exponent === undefined) return undefined
  const bits = bitLength(modulus)
  if (bits < MIN_RSA_BITS || bits > MAX_RSA_BITS || exponent.length > MAX_RSA_EXPONENT_BYTES) return undefined
  const e = exponent.reduce((value, byte) => value * 256 + byte, 0)
  return e >= 3 && e % 2 === 1 ? pick(members, "kty", "n", "e") : undefined
}

const PUBLIC_KEY_OF: Readonly<Record<IdentityAlgorithm, (members: Members) => PublicJwk | undefined>> = {
  ES256: ecKey,
  EdDSA: edwardsKey,
  PS256: rsaKey,
  RS256: rsaKey
}

const mayVerify = (members: Members, algorithm: IdentityAlgorithm): boolean => {
  const [alg, use, operations] = [own(members, "alg"), own(members, "use"), own(members, "key_ops")]
  if (alg !== undefined && alg !== algorithm) return false
  if (use !== undefined && use !== "sig") return false
  return operations === undefined || (Array.isArray(operations) && operations.includes("verify"))
}

/**
 * The public members of a JWK that suits the algorithm. A key says itself what it is for (`alg`, `use`,
 * `key_ops`); one with a private or symmetric member is nobody's public key.
 */
export const publicJwkOf = (
  key: object,
  algorithm: IdentityAlgorithm
): Result.Result<PublicJwk, IdentityFault> => {
  const members = copyMembers(key) ?? {}
  const exposed = PRIVATE_MEMBERS.some((name) => Object.hasOwn(members, name))
  const jwk = exposed || !mayVerify(members, algorithm) ? undefined : PUBLIC_KEY_OF[algorithm](members)
  return jwk === undefined ? Result.fail("key_unsuitable") : Result.succeed(jwk)
}

const importedKeys = new WeakMap<object, Map<IdentityAlgorithm, CryptoKey>>()

const remember = (key: object, algorithm: IdentityAlgorithm, imported: CryptoKey): void => {
  const known = importedKeys.get(key) ?? new Map<IdentityAlgorithm, CryptoKey>()
  importedKeys.set(key, known.set(algorithm, imported))
}

/** Imports a JWK for the algorithm, once as long as the very object is in use. */
export const importKey = (
  key: object,
  algorithm: IdentityAlgorithm
): Effect.Effect<CryptoKey, IdentityFault> =>
  Effect.suspend(() => {
    const known = importedKeys.get(key)?.get(algorithm)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.flatMap(Effect.fromResult(publicJwkOf(key, algorithm)), (jwk) =>
      Effect.tryPromise({
        try: () => importJWK(jwk, algorithm) as Promise<CryptoKey>,
        catch: (): IdentityFault => "key_unsuitable"
      }).pipe(Effect.tap((imported) => Effect.sync(() => remember(key, algorithm, imported))))
    )
  })
