import { checkPrime } from "node:crypto"
import type { IdentityAlgorithm } from "@svc/domain/organization/Organization"
import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { isEd25519PublicKey } from "@svc/protocol/crypto/Ed25519"
import { isP256PublicKey, P256_COORDINATE_BYTES, P256_PUBLIC_KEY_BYTES } from "@svc/protocol/crypto/P256"
import { MAX_RSA_BITS, MIN_RSA_BITS, type RsaKeyFault, rsaKeyFault } from "@svc/protocol/crypto/RsaPublicKey"
import { Effect, Result } from "effect"
import { type CryptoKey, importJWK } from "jose"
import type { IdentityFault } from "./IdentityFault.ts"

/** An organization's public keys, as parsed JSON of any shape. */
export interface IdentityKeySet {
  readonly keys: ReadonlyArray<object>
}

const UNCOMPRESSED_POINT = 0x04

type Members = Readonly<Record<string, unknown>>

/** The members of a public key, and nothing else of the JWK. */
type PublicJwk = Readonly<Record<string, string>>

const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"]

/** Copies the own members, so that each is read only once. */
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

/** What a key of each algorithm is made of; `undefined` for a key of another kind. */
const PUBLIC_KEY_OF: Readonly<Record<IdentityAlgorithm, (members: Members) => PublicJwk | undefined>> = {
  ES256: (members) =>
    members.kty === "EC" && members.crv === "P-256" ? pick(members, "kty", "crv", "x", "y") : undefined,
  EdDSA: (members) =>
    members.kty === "OKP" && members.crv === "Ed25519" ? pick(members, "kty", "crv", "x") : undefined,
  PS256: (members) => (members.kty === "RSA" ? pick(members, "kty", "n", "e") : undefined),
  RS256: (members) => (members.kty === "RSA" ? pick(members, "kty", "n", "e") : undefined)
}

const isP256Point = (jwk: PublicJwk): boolean => {
  const [x, y] = [bytesOf(jwk, "x"), bytesOf(jwk, "y")]
  if (x?.length !== P256_COORDINATE_BYTES || y?.length !== P256_COORDINATE_BYTES) return false
  const point = new Uint8Array(P256_PUBLIC_KEY_BYTES)
  point[0] = UNCOMPRESSED_POINT
  point.set(x, 1)
  point.set(y, 1 + P256_COORDINATE_BYTES)
  return isP256PublicKey(point)
}

/** A message for the person who registers the key. */
const RSA_FAULTS: Readonly<Record<RsaKeyFault, string>> = {
  too_short: `has a modulus of less than ${MIN_RSA_BITS} bits`,
  too_long: `has a modulus of more than ${MAX_RSA_BITS} bits`,
  exponent: "has a public exponent that is even, below 3 or beyond 32 bits",
  small_factor: "has a modulus with a small factor",
  roca: "was made by a faulty generator (CVE-2017-15361, ROCA), so that its private key can be computed",
  close_primes: "has a modulus of two primes close to each other, so that its private key can be computed"
}

/** Off the event loop: a modulus may have thousands of bits. */
const isPrime = (value: Uint8Array): Effect.Effect<boolean> =>
  Effect.callback((resume) => {
    checkPrime(value, (error, answer) => resume(error ? Effect.die(error) : Effect.succeed(answer)))
  })

const rsaFault = (jwk: PublicJwk): Effect.Effect<string | undefined> => {
  const [modulus, exponent] = [bytesOf(jwk, "n"), bytesOf(jwk, "e")]
  if (modulus === undefined || exponent === undefined) {
    return Effect.succeed("has a modulus or an exponent that is not base64url without padding")
  }
  const fault = rsaKeyFault({ modulus, exponent })
  if (fault !== undefined) return Effect.succeed(RSA_FAULTS[fault])
  return Effect.map(isPrime(modulus), (prime) => (prime ? "has a modulus that is a prime" : undefined))
}

/** Why a public key must not be trusted, if the key itself gives a reason. */
const weaknessOf = (jwk: PublicJwk): Effect.Effect<string | undefined> => {
  switch (jwk.kty) {
    case "EC":
      return Effect.succeed(isP256Point(jwk) ? undefined : "is no point of the curve P-256")
    case "OKP":
      return Effect.succeed(
        isEd25519PublicKey(bytesOf(jwk, "x") ?? new Uint8Array())
          ? undefined
          : "is no point of Ed25519 that a key can be"
      )
    default:
      return rsaFault(jwk)
  }
}

const ALL_ALGORITHMS = Object.keys(PUBLIC_KEY_OF) as ReadonlyArray<IdentityAlgorithm>

const mayVerify = (members: Members, algorithm: IdentityAlgorithm): boolean => {
  const [alg, use, operations] = [own(members, "alg"), own(members, "use"), own(members, "key_ops")]
  if (alg !== undefined && alg !== algorithm) return false
  if (use !== undefined && use !== "sig") return false
  return operations === undefined || (Array.isArray(operations) && operations.includes("verify"))
}

const hasPrivateMembers = (members: Members): boolean =>
  PRIVATE_MEMBERS.some((name) => Object.hasOwn(members, name))

/**
 * The public members of a JWK that suits the algorithm. A key says itself what it is for (`alg`, `use`,
 * `key_ops`); one with a private or symmetric member is not a public key. Weakness is checked elsewhere.
 */
const publicJwkOf = (key: object, algorithm: IdentityAlgorithm): Result.Result<PublicJwk, IdentityFault> => {
  const members = copyMembers(key) ?? {}
  const jwk =
    hasPrivateMembers(members) || !mayVerify(members, algorithm)
      ? undefined
      : PUBLIC_KEY_OF[algorithm](members)
  return jwk === undefined ? Result.fail("key_unsuitable") : Result.succeed(jwk)
}

const importedKeys = new WeakMap<object, Map<IdentityAlgorithm, CryptoKey>>()

const remember = (key: object, algorithm: IdentityAlgorithm, imported: CryptoKey): void => {
  const known = importedKeys.get(key) ?? new Map<IdentityAlgorithm, CryptoKey>()
  importedKeys.set(key, known.set(algorithm, imported))
}

/**
 * Imports a JWK for the algorithm, cached for the lifetime of the object. A weak key is unsuitable; the others of its set
 * are not affected.
 */
export const importKey = (
  key: object,
  algorithm: IdentityAlgorithm
): Effect.Effect<CryptoKey, IdentityFault> =>
  Effect.suspend(() => {
    const known = importedKeys.get(key)?.get(algorithm)
    if (known !== undefined) return Effect.succeed(known)
    return Effect.gen(function* () {
      const jwk = yield* Effect.fromResult(publicJwkOf(key, algorithm))
      if ((yield* weaknessOf(jwk)) !== undefined) return yield* Effect.fail<IdentityFault>("key_unsuitable")
      const imported = yield* Effect.tryPromise({
        try: () => importJWK(jwk, algorithm) as Promise<CryptoKey>,
        catch: (): IdentityFault => "key_unsuitable"
      })
      remember(key, algorithm, imported)
      return imported
    })
  })

const nameOf = (members: Members, index: number): string => {
  const kid = own(members, "kid")
  return typeof kid === "string" ? `the key ${JSON.stringify(kid)}` : `key ${index + 1}`
}

/**
 * Why a key set cannot be registered for an organization that takes these algorithms, in words, if there is a reason: a
 * private key, two keys of one name, a weak key, or none that verifies. Keys of other kinds may be in it.
 */
export const keySetFault = Effect.fn("keySetFault")(function* (
  keys: ReadonlyArray<unknown>,
  algorithms: ReadonlyArray<IdentityAlgorithm>
): Effect.fn.Return<string | undefined> {
  const names = new Set<string>()
  let serves = false
  for (const [index, key] of keys.entries()) {
    const members = copyMembers(key)
    if (members === undefined) return `key ${index + 1} is no object`
    const name = nameOf(members, index)
    if (hasPrivateMembers(members))
      return `${name} has members that only its owner may have: register public keys alone`
    if (names.has(name)) return `${name} is there twice: a kid names one key`
    names.add(name)
    const jwk = ALL_ALGORITHMS.map((algorithm) => PUBLIC_KEY_OF[algorithm](members)).find((one) => one)
    const weakness = jwk === undefined ? undefined : yield* weaknessOf(jwk)
    if (weakness !== undefined) return `${name} ${weakness}`
    serves ||= algorithms.some((algorithm) => Result.isSuccess(publicJwkOf(members, algorithm)))
  }
  return serves ? undefined : `no key is for ${algorithms.join(" or ")}`
})
