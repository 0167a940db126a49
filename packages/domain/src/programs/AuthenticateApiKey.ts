import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect, type Redacted } from "effect"
import { isRedactedText } from "../approval/BearerSecret.ts"
import { apiKeyHash, isActiveApiKey, isWellFormedApiKey } from "../organization/ApiKey.ts"
import type { ApiKey, Organization } from "../organization/Organization.ts"
import { Deployment } from "../ports/Deployment.ts"
import type { StoreUnavailable } from "../ports/MandateStore.ts"
import { type FoundApiKey, Organizations } from "../ports/Organizations.ts"
import { ApiKeyInvalid, BillingAccountRequired } from "../Refusals.ts"

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

/** Finds the organization of a key. A key of another environment is refused before it is looked up (part 9). */
export const authenticateApiKey = Effect.fn("authenticateApiKey")(function* (
  key: Redacted.Redacted<string>
): Effect.fn.Return<
  { readonly apiKey: ApiKey; readonly organization: Organization },
  ApiKeyInvalid | BillingAccountRequired | StoreUnavailable,
  Organizations | Deployment
> {
  const { environment } = yield* Deployment
  if (!isRedactedText(key) || !isWellFormedApiKey(environment, key)) return yield* new ApiKeyInvalid()
  const organizations = yield* Organizations
  const found = yield* organizations.findApiKey(apiKeyHash(key))
  if (found === undefined || found.organization.environment !== environment) return yield* new ApiKeyInvalid()
  const { apiKey, organization, now } = found
  if (!isActiveApiKey(apiKey, now)) return yield* new ApiKeyInvalid()
  if (environment === "live" && organization.billingAccountReference === undefined) {
    return yield* new BillingAccountRequired()
  }
  yield* recordUse(found)
  return { apiKey, organization }
})
