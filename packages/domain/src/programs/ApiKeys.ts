import { sha256 } from "@noble/hashes/sha2.js"
import { utf8ToBytes } from "@noble/hashes/utils.js"
import { decodeBase64Url, encodeBase64Url } from "@svc/protocol/Base64Url"
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect, Redacted } from "effect"
import type { Environment } from "../mandate/JournalFact.ts"
import { instantOf } from "../mandate/PreparedTerms.ts"
import type { ApiKey, ApiKeyScope, Organization } from "../organization/Organization.ts"
import { Deployment } from "../ports/Deployment.ts"
import type { StoreUnavailable } from "../ports/MandateStore.ts"
import { type FoundApiKey, Organizations } from "../ports/Organizations.ts"
import { ApiKeyInvalid, BillingAccountRequired } from "../Refusals.ts"

/** Random bytes of an API key (part 9). */
export const API_KEY_BYTES = 32

/** What every key of an environment begins with (part 9). */
export const apiKeyPrefix = (environment: Environment): string => `svc_${environment}_`

/** The text of a key: prefix and base64url of 32 random bytes. */
export const formatApiKey = (environment: Environment, random: Uint8Array): Redacted.Redacted<string> =>
  Redacted.make(`${apiKeyPrefix(environment)}${encodeBase64Url(random)}`, { label: "api_key" })

/** How a key is stored: base64url SHA-256 of its text. 256 random bits need no slow hash. */
export const apiKeyHash = (key: Redacted.Redacted<string>): string =>
  encodeBase64Url(sha256(utf8ToBytes(Redacted.value(key))))

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
  scopes: key.scopes ?? ["read", "write", "webhooks"],
  createdAt: key.createdAt,
  ...(key.expiresAt === undefined ? {} : { expiresAt: key.expiresAt })
})

const isWellFormed = (environment: Environment, text: string): boolean => {
  const prefix = apiKeyPrefix(environment)
  return text.startsWith(prefix) && decodeBase64Url(text.slice(prefix.length))?.length === API_KEY_BYTES
}

/** How coarsely the last use of a key is recorded (part 9): one write of a key in that time, however busy it is. */
export const LAST_USE_RESOLUTION_SECONDS = 3600n

/** The request goes on without it: whether the store is there, its own write finds out. */
const recordUse = ({ apiKey, lastUsedAt, now }: FoundApiKey): Effect.Effect<void, never, Organizations> => {
  const since = now - LAST_USE_RESOLUTION_SECONDS * NANOS_PER_SECOND
  if (lastUsedAt !== undefined && lastUsedAt > since) return Effect.void
  const use = { organization: apiKey.organizationId, apiKey: apiKey.id, since }
  return Organizations.use((organizations) => organizations.recordApiKeyUse(use)).pipe(
    Effect.catch((error) =>
      Effect.logWarning("the last use of an API key is not recorded", error.cause).pipe(
        Effect.annotateLogs({ organization_id: use.organization, api_key_id: use.apiKey })
      )
    )
  )
}

/** Who holds this key. A key of another environment is refused before it is looked up (part 9). */
export const authenticateApiKey = Effect.fn("authenticateApiKey")(function* (
  key: Redacted.Redacted<string>
): Effect.fn.Return<
  { readonly apiKey: ApiKey; readonly organization: Organization },
  ApiKeyInvalid | BillingAccountRequired | StoreUnavailable,
  Organizations | Deployment
> {
  const { environment } = yield* Deployment
  if (!isWellFormed(environment, Redacted.value(key))) return yield* new ApiKeyInvalid()
  const organizations = yield* Organizations
  const found = yield* organizations.findApiKey(apiKeyHash(key))
  if (found === undefined || found.organization.environment !== environment) return yield* new ApiKeyInvalid()
  const { apiKey, organization, now } = found
  if (apiKey.revokedAt !== undefined) return yield* new ApiKeyInvalid()
  if (apiKey.expiresAt !== undefined && now >= instantOf(apiKey.expiresAt)) return yield* new ApiKeyInvalid()
  if (environment === "live" && organization.billingAccountReference === undefined) {
    return yield* new BillingAccountRequired()
  }
  yield* recordUse(found)
  return { apiKey, organization }
})
