import { encodeBase64Url } from "../Base64Url.ts"
import { domainHash } from "../crypto/DomainHash.ts"
import { canonicalBytes } from "../json/CanonicalJson.ts"
import type { JsonValue } from "../json/Json.ts"

/**
 * The digest of a policy as stored, defaults filled in:
 * base64url(SHA-256("svc:mandate:policy:v1" || LF || JCS(policy))), part 4.
 */
export const policyDigest = (policy: JsonValue): string =>
  encodeBase64Url(domainHash("svc:mandate:policy:v1", canonicalBytes(policy)))
