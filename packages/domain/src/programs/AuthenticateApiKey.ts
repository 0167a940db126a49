import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect, type Redacted } from "effect"
import { isRedactedText } from "../approval/BearerSecret.ts"
import { inSpan } from "../engine/InSpan.ts"
import { apiKeyHash, isActiveApiKey, isWellFormedApiKey } from "../organization/ApiKey.ts"
import { Deployment } from "../ports/Deployment.ts"
import type { StoreUnavailable } from "../ports/MandateStore.ts"
import { type FoundApiKey, Organizations } from "../ports/Organizations.ts"
import { ApiKeyInvalid, BillingAccountRequired } from "../Refusals.ts"
import { ApiKeyCache, type KeyHolder } from "./ApiKeyCache.ts"

/** Resolution of a key's last use (part 9): at most one write per key in that time, however busy it is. */
export const LAST_USE_RESOLUTION_SECONDS = 3600n

/** Best effort: a request is not refused because its key's last use could not be recorded. */
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

/** A key that lets its caller in, as the store has it. */
const lookUp = Effect.fnUntraced(function* (
  hash: string
): Effect.fn.Return<
  FoundApiKey,
  ApiKeyInvalid | BillingAccountRequired | StoreUnavailable,
  Organizations | Deployment
> {
  const { environment } = yield* Deployment
  const organizations = yield* Organizations
  const found = yield* organizations.findApiKey(hash)
  if (found === undefined || found.organization.environment !== environment) return yield* new ApiKeyInvalid()
  if (!isActiveApiKey(found.apiKey, found.now)) return yield* new ApiKeyInvalid()
  if (environment === "live" && found.organization.billingAccountReference === undefined) {
    return yield* new BillingAccountRequired()
  }
  return found
})

/**
 * Finds the organization of a key, in the store or among the look-ups that {@link ApiKeyCache} remembers, which record no
 * further use. A key of another environment is refused before it is looked up (part 9).
 */
export const authenticateApiKey = Effect.fnUntraced(function* (
  key: Redacted.Redacted<string>
): Effect.fn.Return<
  KeyHolder,
  ApiKeyInvalid | BillingAccountRequired | StoreUnavailable,
  Organizations | Deployment
> {
  const { environment } = yield* Deployment
  if (!isRedactedText(key) || !isWellFormedApiKey(environment, key)) return yield* new ApiKeyInvalid()
  const cache = yield* ApiKeyCache
  const hash = apiKeyHash(key)
  const recent = yield* cache.recent(hash)
  if (recent !== undefined) return recent
  const found = yield* cache.remembering(hash, lookUp(hash))
  yield* recordUse(found)
  return { apiKey: found.apiKey, organization: found.organization }
}, inSpan("authenticateApiKey"))
