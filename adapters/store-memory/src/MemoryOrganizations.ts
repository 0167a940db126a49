import type { ApiKey, Organization } from "@svc/domain/organization/Organization"
import type { FoundApiKey, Organizations } from "@svc/domain/ports/Organizations"
import type { Instant } from "@svc/protocol/Timestamp"
import type { Effect } from "effect"
import { deepFreeze } from "./DeepFreeze.ts"
import type { MemoryState } from "./MemoryState.ts"

export const findOrganization = (state: MemoryState, organization: string): Organization | undefined =>
  state.tenant(organization)?.settings

export const putOrganization = (state: MemoryState, organization: Organization): void => {
  state.tenantToWrite(organization.id).settings = deepFreeze(organization)
}

/** The key with that hash, if its organization is on record too. */
export const findApiKey = (state: MemoryState, hash: string, now: Instant): FoundApiKey | undefined => {
  const place = state.apiKeys.get(hash)
  const tenant = place === undefined ? undefined : state.tenant(place.organization)
  const apiKey = place === undefined ? undefined : tenant?.apiKeys.get(place.apiKey)
  const organization = tenant?.settings
  if (apiKey === undefined || organization === undefined) return undefined
  const lastUsedAt = tenant?.apiKeyUses.get(apiKey.id)
  return { now, apiKey, organization, ...(lastUsedAt === undefined ? {} : { lastUsedAt }) }
}

/** By identifier, which is in order of creation. */
export const listApiKeys = (
  state: MemoryState,
  organization: string,
  now: Instant
): Effect.Success<ReturnType<Organizations["Service"]["listApiKeys"]>> => {
  const tenant = state.tenant(organization)
  return {
    now,
    apiKeys: [...(tenant?.apiKeys.values() ?? [])].sort((left, right) => (left.id < right.id ? -1 : 1)),
    lastUsedAt: new Map(tenant?.apiKeyUses)
  }
}

export const recordApiKeyUse = (
  state: MemoryState,
  { apiKey, organization, since }: Parameters<Organizations["Service"]["recordApiKeyUse"]>[0],
  now: Instant
): void => {
  const tenant = state.tenant(organization)
  if (tenant === undefined || !tenant.apiKeys.has(apiKey)) return
  const before = tenant.apiKeyUses.get(apiKey)
  if (before === undefined || before < since) tenant.apiKeyUses.set(apiKey, now)
}

/** Throws when another key has the same hash: then one secret would speak for two. */
export const putApiKey = (state: MemoryState, apiKey: ApiKey): void => {
  const holder = state.apiKeys.get(apiKey.hash)
  if (
    holder !== undefined &&
    (holder.organization !== apiKey.organizationId || holder.apiKey !== apiKey.id)
  ) {
    throw new Error("the hash is of another API key")
  }
  const { apiKeys } = state.tenantToWrite(apiKey.organizationId)
  const before = apiKeys.get(apiKey.id)
  if (before !== undefined) state.apiKeys.delete(before.hash)
  apiKeys.set(apiKey.id, deepFreeze(apiKey))
  state.apiKeys.set(apiKey.hash, { organization: apiKey.organizationId, apiKey: apiKey.id })
}
