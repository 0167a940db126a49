import { sha256Base64Url } from "../crypto/Sha256.ts"
import { canonicalJson } from "../json/CanonicalJson.ts"
import type { JsonValue } from "../json/Json.ts"

/**
 * What makes two requests under one idempotency key the same input (part 3): base64url of SHA-256 over
 * JCS of operation (method and route template), path parameters, and the body as received.
 *
 * The body must have no ill-formed strings: such a body has no fingerprint, and this throws.
 */
export const requestFingerprint = (request: {
  readonly operation: string
  readonly path: Readonly<Record<string, string>>
  readonly body: JsonValue
}): string =>
  sha256Base64Url(
    canonicalJson({
      operation: request.operation,
      path_parameters: request.path,
      body: request.body
    })
  )
