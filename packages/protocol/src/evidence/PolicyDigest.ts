import { domainHashBase64Url } from "../crypto/DomainHash.ts"
import { canonicalJson } from "../json/CanonicalJson.ts"
import type { JsonValue } from "../json/Json.ts"

/**
 * The digest of a policy as stored, defaults filled in:
 * base64url(SHA-256("svc:mandate:policy:v1" || LF || JCS(policy))), part 4.
 */
export const policyDigest = (policy: JsonValue): string =>
  domainHashBase64Url("svc:mandate:policy:v1", canonicalJson(policy))
