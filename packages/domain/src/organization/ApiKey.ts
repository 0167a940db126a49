import { decodeBase64Url, encodeBase64Url } from "@svc/protocol/Base64Url"
import { sha256Base64Url } from "@svc/protocol/crypto/Sha256"
import { formatIdentifier, IDENTIFIER_RANDOM_BYTES } from "@svc/protocol/Identifier"
import { formatNanos, type Instant, NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import { Redacted } from "effect"
import type { Environment } from "../mandate/JournalFact.ts"
import { instantOf } from "../mandate/PreparedTerms.ts"
import { API_KEY_SCOPES, type ApiKey, type ApiKeyScope, type Organization } from "./Organization.ts"

/** Random bytes of an API key (part 9). */
export const API_KEY_BYTES = 32

/** What every key of an environment begins with (part 9). */
export const apiKeyPrefix = (environment: Environment): string => `svc_${environment}_`

/** The text of a key: prefix and base64url of 32 random bytes. */
export const formatApiKey = (environment: Environment, random: Uint8Array): Redacted.Redacted<string> =>
  Redacted.make(`${apiKeyPrefix(environment)}${encodeBase64Url(random)}`, { label: "api_key" })

/** How a key is stored: base64url SHA-256 of its text. 256 random bits need no slow hash. */
export const apiKeyHash = (key: Redacted.Redacted<string>): string => sha256Base64Url(Redacted.value(key))

/** A record for a new key. Scopes default to all (part 9). */
export const apiKeyRecord = (key: {
  readonly id: string
  readonly organizationId: string
  readonly key: Redacted.Redacted<string>
  readonly createdAt: string
  readonly scopes?: ReadonlyArray<ApiKeyScope>
  readonly expiresAt?: string
}): ApiKey => ({
  id: key.id,
  organizationId: key.organizationId,
  hash: apiKeyHash(key.key),
  scopes: key.scopes ?? API_KEY_SCOPES,
  createdAt: key.createdAt,
  ...(key.expiresAt === undefined ? {} : { expiresAt: key.expiresAt })
})

/** A key that nobody has yet, and the record that it is recognized by. `bytes` gives random ones. */
export const newApiKey = (
  { environment, id: organizationId }: Pick<Organization, "environment" | "id">,
  { bytes, now }: { readonly bytes: (length: number) => Uint8Array; readonly now: Instant },
  grant: Partial<Pick<ApiKey, "scopes" | "expiresAt">> = {}
): { readonly key: Redacted.Redacted<string>; readonly record: ApiKey } => {
  const key = formatApiKey(environment, bytes(API_KEY_BYTES))
  const milliseconds = Number(now / NANOS_PER_MILLISECOND)
  const record = apiKeyRecord({
    id: formatIdentifier("key_", milliseconds, bytes(IDENTIFIER_RANDOM_BYTES)),
    organizationId,
    key,
    createdAt: formatNanos(now),
    ...grant
  })
  return { key, record }
}

/** Whether a text has the form of an API key of the environment. */
export const isWellFormedApiKey = (environment: Environment, key: Redacted.Redacted<string>): boolean => {
  const prefix = apiKeyPrefix(environment)
  const text = Redacted.value(key)
  return text.startsWith(prefix) && decodeBase64Url(text.slice(prefix.length))?.length === API_KEY_BYTES
}

/** Whether a key is valid: neither revoked nor expired (part 9). */
export const isActiveApiKey = ({ expiresAt, revokedAt }: ApiKey, now: Instant): boolean =>
  revokedAt === undefined && (expiresAt === undefined || now < instantOf(expiresAt))
