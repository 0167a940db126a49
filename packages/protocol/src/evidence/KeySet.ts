import * as Schema from "effect/Schema"
import { BASE64URL_OF_32_BYTES, encodeBase64Url } from "../Base64Url.ts"
import { isP256PublicKey, P256_COORDINATE_BYTES } from "../crypto/P256.ts"
import { described } from "../Described.ts"
import { jwkThumbprint } from "./JwkThumbprint.ts"

const Coordinate = Schema.String.check(Schema.isPattern(BASE64URL_OF_32_BYTES))

/**
 * A public signing key as published: exactly these members (part 7). Decode with
 * `onExcessProperty: "error"`, so that a private member can never pass.
 */
export const JsonWebKeyEs256 = Schema.Struct({
  kty: described(Schema.Literal("EC"), "Key type.", "EC"),
  crv: described(Schema.Literal("P-256"), "Curve.", "P-256"),
  use: described(Schema.Literal("sig"), "It signs.", "sig"),
  alg: described(Schema.Literal("ES256"), "ECDSA with SHA-256.", "ES256"),
  kid: described(
    Schema.String,
    "Its RFC 7638 thumbprint; kid of the protected header of evidence.",
    "2bUG2JrhD-iKJvrUzjTVl_BcZiNQPMfpV1VZXi2JzHs"
  ),
  x: described(
    Coordinate,
    "First coordinate: base64url of 32 bytes.",
    "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4"
  ),
  y: described(
    Coordinate,
    "Second coordinate: base64url of 32 bytes.",
    "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"
  )
})
export type JsonWebKeyEs256 = typeof JsonWebKeyEs256.Type

/** The signing key set, `GET /.well-known/jwks.json`. */
export const KeySet = Schema.Struct({
  keys: described(
    Schema.Array(JsonWebKeyEs256),
    "The current key, the next one, and retired ones, so that old evidence stays verifiable."
  )
})
export type KeySet = typeof KeySet.Type

/**
 * The published form of a public key given as an uncompressed point of 65 bytes. Throws a `RangeError`
 * when the bytes are not a point on P-256.
 */
export const publicKeyToJwk = (publicKey: Uint8Array): JsonWebKeyEs256 => {
  if (!isP256PublicKey(publicKey)) throw new RangeError("not an uncompressed point on P-256")
  const x = encodeBase64Url(publicKey.subarray(1, 1 + P256_COORDINATE_BYTES))
  const y = encodeBase64Url(publicKey.subarray(1 + P256_COORDINATE_BYTES))
  const kid = jwkThumbprint({ crv: "P-256", kty: "EC", x, y })
  return { kty: "EC", crv: "P-256", use: "sig", alg: "ES256", kid, x, y }
}
