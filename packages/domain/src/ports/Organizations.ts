import type { Instant } from "@svc/protocol/Timestamp"
import { Context, type Effect } from "effect"
import type { ApiKey, Organization } from "../organization/Organization.ts"
import type { StoreUnavailable } from "./MandateStore.ts"

/** A key as it is on record now. */
export interface FoundApiKey {
  readonly now: Instant
  readonly apiKey: ApiKey
  readonly organization: Organization
  /** The last use on record; absent when it was never used. */
  readonly lastUsedAt?: Instant
}

/** Organizations and their API keys (part 9). */
export class Organizations extends Context.Service<
  Organizations,
  {
    readonly find: (organization: string) => Effect.Effect<Organization | undefined, StoreUnavailable>
    /** The key with this hash, even if revoked or expired, its organization, and the store's clock. */
    readonly findApiKey: (hash: string) => Effect.Effect<FoundApiKey | undefined, StoreUnavailable>
    /** All keys of the organization by identifier, also revoked and expired ones, and the store's clock. */
    readonly listApiKeys: (organization: string) => Effect.Effect<
      {
        readonly now: Instant
        readonly apiKeys: ReadonlyArray<ApiKey>
        /** By identifier of the key. Absent: it was never used. */
        readonly lastUsedAt: ReadonlyMap<string, Instant>
      },
      StoreUnavailable
    >
    /**
     * Records that a key is in use at the store's clock, unless a use from `since` on is on record. Replacing the key's
     * record leaves its last use as it is.
     */
    readonly recordApiKeyUse: (use: {
      readonly organization: string
      readonly apiKey: string
      readonly since: Instant
    }) => Effect.Effect<void, StoreUnavailable>
    /** Creates the organization or replaces its settings. */
    readonly put: (organization: Organization) => Effect.Effect<void, StoreUnavailable>
    /** Creates the API key or replaces its record. */
    readonly putApiKey: (apiKey: ApiKey) => Effect.Effect<void, StoreUnavailable>
  }
>()("@svc/domain/ports/Organizations") {}
