import { sha256 } from "@noble/hashes/sha2.js"
import * as Schema from "effect/Schema"
import { BASE64URL_OF_32_BYTES, encodeBase64Url } from "./Base64Url.ts"
import { canonicalBytes } from "./CanonicalJson.ts"
import { isP256PublicKey, P256_COORDINATE_BYTES } from "./P256.ts"

const Coordinate = Schema.String.check(Schema.isPattern(BASE64URL_OF_32_BYTES))

/**
 * A public signing key as published: exactly these members (part 7). Decode with
 * `onExcessProperty: "error"`, so that a private member can never pass.
 */
export const JsonWebKeyEs256 = Schema.Struct({
  kty: Schema.Literal("EC"),
  crv: Schema.Literal("P-256"),
  use: Schema.Literal("sig"),
  alg: Schema.Literal("ES256"),
  kid: Schema.String,
  x: Coordinate,
  y: Coordinate
})
export type JsonWebKeyEs256 = typeof JsonWebKeyEs256.Type

/** The signing key set, `GET /.well-known/jwks.json`. */
export const KeySet = Schema.Struct({ keys: Schema.Array(JsonWebKeyEs256) })
export type KeySet = typeof KeySet.Type

/** The RFC 7638 thumbprint (SHA-256, base64url) of an EC key: its `kid`. */
export const jwkThumbprint = (key: Readonly<Pick<JsonWebKeyEs256, "crv" | "kty" | "x" | "y">>): string =>
  encodeBase64Url(sha256(canonicalBytes({ crv: key.crv, kty: key.kty, x: key.x, y: key.y })))

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
