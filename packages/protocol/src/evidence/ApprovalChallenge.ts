import { domainHash } from "../crypto/DomainHash.ts"
import { canonicalJson } from "../json/CanonicalJson.ts"
import type { JsonValue } from "../json/Json.ts"

/**
 * The 32 bytes that the passkey signs when it approves a statement:
 * SHA-256("svc:mandate:approval:v1" || LF || JCS(statement)), part 6.
 */
export const approvalChallenge = (statement: JsonValue): Uint8Array =>
  domainHash("svc:mandate:approval:v1", canonicalJson(statement))
