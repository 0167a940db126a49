import { sha256Base64Url } from "../crypto/Sha256.ts"
import { canonicalJson } from "../json/CanonicalJson.ts"

interface EcKeyMembers {
  readonly kty: "EC"
  readonly crv: "P-256"
  readonly x: string
  readonly y: string
}

/** The RFC 7638 thumbprint (SHA-256, base64url) of an EC key: its `kid`. */
export const jwkThumbprint = (key: EcKeyMembers): string =>
  sha256Base64Url(canonicalJson({ crv: key.crv, kty: key.kty, x: key.x, y: key.y }))
