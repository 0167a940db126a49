import { p256 } from "@noble/curves/nist.js"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { jwkThumbprint } from "@svc/protocol/evidence/JwkThumbprint"
import { type JsonWebKeyEs256, publicKeyToJwk } from "@svc/protocol/evidence/KeySet"
import { type Instant, NANOS_PER_MILLISECOND, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { CompactSign, type CryptoKey, importJWK } from "jose"

/** Longest lifetime of an identity assertion, in seconds (part 6). */
const DEFAULT_LIFETIME_SECONDS = 300

const JTI_BYTES = 16

export interface IdentityIssuerOptions {
  readonly issuer: string
  readonly audience: string
  /** A private P-256 key. Default: a new one. */
  readonly privateJwk?: {
    readonly x: string
    readonly y: string
    readonly d: string
    readonly kid?: string
  }
}

export interface AssertionRequest {
  readonly subject: string
  /** Default: 16 random bytes. */
  readonly jti?: string
  /** The instant of issue; its whole seconds are used. Default: the host's clock. */
  readonly now?: Instant
  /** Seconds from issue to expiry. Default 300. */
  readonly expiresIn?: number
  /** Adds `svc_enrol: true`: the subject may create a passkey (part 6). */
  readonly enrol?: boolean
  /** Members that replace those of the header or the claims; `undefined` takes one away. */
  readonly overrides?: {
    readonly header?: Readonly<Record<string, unknown>>
    readonly claims?: Readonly<Record<string, unknown>>
  }
}

/** The caller's backend as it makes identity assertions (part 6): for tests, trials and examples. */
export interface IdentityIssuer {
  readonly issuer: string
  readonly audience: string
  readonly privateJwk: PrivateIdentityJwk
  /** What the organization's settings hold as `jwks`. */
  readonly publicJwks: { readonly keys: ReadonlyArray<JsonWebKeyEs256> }
  /** A compact JWS with ES256. */
  readonly assertion: (request: AssertionRequest) => Promise<string>
}

export interface PrivateIdentityJwk extends JsonWebKeyEs256 {
  readonly d: string
}

const completePrivateJwk = (given: NonNullable<IdentityIssuerOptions["privateJwk"]>): PrivateIdentityJwk => {
  const point = { kty: "EC", crv: "P-256", x: given.x, y: given.y } as const
  return { ...point, use: "sig", alg: "ES256", kid: given.kid ?? jwkThumbprint(point), d: given.d }
}

const generatePrivateJwk = (): PrivateIdentityJwk => {
  const { secretKey } = p256.keygen()
  return { ...publicKeyToJwk(p256.getPublicKey(secretKey, false)), d: encodeBase64Url(secretKey) }
}

const hostNow = (): Instant => BigInt(Date.now()) * NANOS_PER_MILLISECOND

const without = (members: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

const publicHalf = ({ d: _, ...publicJwk }: PrivateIdentityJwk): JsonWebKeyEs256 => publicJwk

const claimsOf = (options: IdentityIssuerOptions, request: AssertionRequest): Record<string, unknown> => {
  const issuedAt = Number((request.now ?? hostNow()) / NANOS_PER_SECOND)
  return without({
    iss: options.issuer,
    sub: request.subject,
    aud: options.audience,
    iat: issuedAt,
    exp: issuedAt + (request.expiresIn ?? DEFAULT_LIFETIME_SECONDS),
    jti: request.jti ?? encodeBase64Url(crypto.getRandomValues(new Uint8Array(JTI_BYTES))),
    svc_enrol: request.enrol === true ? true : undefined,
    ...request.overrides?.claims
  })
}

/**
 * An issuer of identity assertions with one ES256 key, whose `kid` is its thumbprint unless the given
 * key has one.
 */
export const makeIdentityIssuer = (options: IdentityIssuerOptions): IdentityIssuer => {
  const privateJwk =
    options.privateJwk === undefined ? generatePrivateJwk() : completePrivateJwk(options.privateJwk)
  let imported: Promise<CryptoKey> | undefined

  const assertion = async (request: AssertionRequest): Promise<string> => {
    imported ??= importJWK({ ...privateJwk }, "ES256") as Promise<CryptoKey>
    const header = without({ alg: "ES256", kid: privateJwk.kid, typ: "JWT", ...request.overrides?.header })
    const claims = new TextEncoder().encode(JSON.stringify(claimsOf(options, request)))
    return new CompactSign(claims).setProtectedHeader(header as { alg: string }).sign(await imported)
  }

  const { issuer, audience } = options
  return { issuer, audience, privateJwk, publicJwks: { keys: [publicHalf(privateJwk)] }, assertion }
}
