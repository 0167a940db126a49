import { sha256 } from "@noble/hashes/sha2.js"
import { encodeBase64Url } from "../Base64Url.ts"
import { canonicalBytes } from "../json/CanonicalJson.ts"

interface EcKeyMembers {
  readonly kty: "EC"
  readonly crv: "P-256"
  readonly x: string
  readonly y: string
}

/** The RFC 7638 thumbprint (SHA-256, base64url) of an EC key: its `kid`. */
export const jwkThumbprint = (key: EcKeyMembers): string =>
  encodeBase64Url(sha256(canonicalBytes({ crv: key.crv, kty: key.kty, x: key.x, y: key.y })))
