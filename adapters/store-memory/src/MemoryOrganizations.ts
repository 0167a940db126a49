import type { ApiKey, Organization } from "@svc/domain/Organization"
import type { Instant } from "@svc/protocol/Timestamp"
import { deepFreeze } from "./DeepFreeze.ts"
import type { MemoryState } from "./MemoryState.ts"

export const findOrganization = (state: MemoryState, organization: string): Organization | undefined =>
  state.tenant(organization)?.settings

export const putOrganization = (state: MemoryState, organization: Organization): void => {
  state.tenantToWrite(organization.id).settings = deepFreeze(organization)
}

/** The key with that hash, if its organization is on record too. */
export const findApiKey = (
  state: MemoryState,
  hash: string,
  now: Instant
): { readonly now: Instant; readonly apiKey: ApiKey; readonly organization: Organization } | undefined => {
  const place = state.apiKeys.get(hash)
  const tenant = place === undefined ? undefined : state.tenant(place.organization)
  const apiKey = place === undefined ? undefined : tenant?.apiKeys.get(place.apiKey)
  const organization = tenant?.settings
  return apiKey === undefined || organization === undefined ? undefined : { now, apiKey, organization }
}

/** By identifier, which is in order of creation. */
export const listApiKeys = (
  state: MemoryState,
  organization: string,
  now: Instant
): { readonly now: Instant; readonly apiKeys: ReadonlyArray<ApiKey> } => {
  const apiKeys = [...(state.tenant(organization)?.apiKeys.values() ?? [])]
  return { now, apiKeys: apiKeys.sort((left, right) => (left.id < right.id ? -1 : 1)) }
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
