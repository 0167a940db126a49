import { Signer, SignerUnavailable, type Signing } from "@svc/domain/ports/Signer"
import { decodeBase64Url, encodeBase64Url } from "@svc/protocol/Base64Url"
import {
  isP256PublicKey,
  P256_COORDINATE_BYTES,
  P256_PUBLIC_KEY_BYTES,
  verifyP256
} from "@svc/protocol/crypto/P256"
import { JsonWebKeyEs256, type KeySet, publicKeyToJwk } from "@svc/protocol/evidence/KeySet"
import { Data, Effect, Redacted, Schema } from "effect"

/** A private P-256 key as a JWK. Other members are ignored; `kid` follows from the point. */
export interface PrivateJwk {
  readonly kty: "EC"
  readonly crv: "P-256"
  readonly x: string
  readonly y: string
  readonly d: string
}

/** The keys of a signer with fixed keys. */
export interface SigningKeys {
  readonly signing: Redacted.Redacted<PrivateJwk>
  /** Additional public keys; the signing key may be among them. */
  readonly published: ReadonlyArray<JsonWebKeyEs256>
}

/** A signing key is not a P-256 key pair, or a published key is not a public ES256 key. */
export class SigningKeyInvalid extends Data.TaggedError("SigningKeyInvalid")<{
  /** Without key material. */
  readonly detail: string
}> {}

/** A signature in the making: given piece by piece what is to be signed, then 64 bytes of ES256, r then s, low-S. */
export interface OpenSignature {
  readonly update: (piece: Uint8Array) => void
  readonly finish: () => Uint8Array
}

/** Begins a signature with ES256. */
export type BeginSignature = () => OpenSignature

/** A private key that is ready to sign, wherever it is, and its public half. */
export interface SigningKey {
  readonly published: JsonWebKeyEs256
  readonly begin: () => Signing
}

/** A signature as the port has it. */
const signingOf = (begin: BeginSignature): Signing => {
  const { finish, update } = begin()
  return {
    update,
    signature: Effect.try({ try: finish, catch: (cause) => new SignerUnavailable({ cause }) })
  }
}

/** What a new signer signs on trial. */
export const PROBE = new TextEncoder().encode("svc:signer:probe:v1")
const UNCOMPRESSED_POINT = 0x04

const scalarOf = (text: unknown): Uint8Array | undefined => {
  const bytes = typeof text === "string" ? decodeBase64Url(text) : undefined
  return bytes?.length === P256_COORDINATE_BYTES ? bytes : undefined
}

const pointOf = (x: Uint8Array, y: Uint8Array): Uint8Array => {
  const point = new Uint8Array(P256_PUBLIC_KEY_BYTES)
  point[0] = UNCOMPRESSED_POINT
  point.set(x, 1)
  point.set(y, 1 + P256_COORDINATE_BYTES)
  return point
}

/** The point of a public P-256 key, which may not be on the curve; `undefined` for a JWK of another kind. */
export const pointOfJwk = (jwk: {
  readonly kty?: unknown
  readonly crv?: unknown
  readonly x?: unknown
  readonly y?: unknown
}): Uint8Array | undefined => {
  const [x, y] = [scalarOf(jwk.x), scalarOf(jwk.y)]
  return jwk.kty === "EC" && jwk.crv === "P-256" && x !== undefined && y !== undefined
    ? pointOf(x, y)
    : undefined
}

/**
 * Reads a private key and prepares it with `implement`. Refuses a key whose private and public halves do not match, since
 * evidence signed with it would not verify.
 */
export const readSigningKey = (
  redacted: Redacted.Redacted<PrivateJwk>,
  implement: (jwk: PrivateJwk) => BeginSignature
): Effect.Effect<SigningKey, SigningKeyInvalid> =>
  Effect.try({
    try: () => {
      const { kty, crv, x, y, d } = Redacted.value(redacted)
      const publicKey = pointOfJwk({ kty, crv, x, y })
      if (publicKey === undefined || scalarOf(d) === undefined) return undefined
      const begin = implement({ kty, crv, x, y, d })
      const probe = begin()
      probe.update(PROBE)
      return verifyP256({ publicKey, signature: probe.finish(), data: PROBE })
        ? { published: publicKeyToJwk(publicKey), begin: () => signingOf(begin) }
        : undefined
    },
    // Error messages of the library may quote the private key.
    catch: () => new SigningKeyInvalid({ detail: "the signing key cannot be read" })
  }).pipe(
    Effect.flatMap((key) =>
      key === undefined
        ? Effect.fail(new SigningKeyInvalid({ detail: "the signing key is not a P-256 key pair" }))
        : Effect.succeed(key)
    )
  )

const decodePublished = Schema.decodeUnknownEffect(JsonWebKeyEs256, { onExcessProperty: "error" })

const isPublishedForm = (jwk: JsonWebKeyEs256): boolean => {
  const point = pointOfJwk(jwk)
  return point !== undefined && isP256PublicKey(point) && publicKeyToJwk(point).kid === jwk.kid
}

/** Checks that a key may be published: a public ES256 key under its own thumbprint, without other members. */
export const readPublished = (key: JsonWebKeyEs256): Effect.Effect<JsonWebKeyEs256, SigningKeyInvalid> =>
  decodePublished(key).pipe(
    Effect.filterOrFail(isPublishedForm),
    Effect.mapError(() => new SigningKeyInvalid({ detail: "a published key is not a public ES256 key" }))
  )

/** The signing key comes first, and no `kid` is repeated (part 7). */
const publishedKeySet = (
  signing: JsonWebKeyEs256,
  published: ReadonlyArray<JsonWebKeyEs256>
): Effect.Effect<KeySet, SigningKeyInvalid> =>
  Effect.map(Effect.forEach(published, readPublished), (read) => ({
    keys: [...new Map([signing, ...read].map((key) => [key.kid, key])).values()]
  }))

/** A signer with fixed keys, on an implementation of ES256. */
export const signerOfKeys = (
  keys: SigningKeys,
  implement: (jwk: PrivateJwk) => BeginSignature
): Effect.Effect<Signer["Service"], SigningKeyInvalid> =>
  Effect.gen(function* () {
    const key = yield* readSigningKey(keys.signing, implement)
    const keySet = yield* publishedKeySet(key.published, keys.published)
    return Signer.of({
      current: Effect.succeed({ kid: key.published.kid, begin: key.begin }),
      keySet: Effect.succeed(keySet)
    })
  })

/** The private JWK of a scalar and its uncompressed point. */
export const privateJwkOf = (scalar: Uint8Array, publicKey: Uint8Array): Redacted.Redacted<PrivateJwk> => {
  const { kty, crv, x, y } = publicKeyToJwk(publicKey)
  return Redacted.make({ kty, crv, x, y, d: encodeBase64Url(scalar) }, { label: "signing key" })
}
