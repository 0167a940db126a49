import type { Instant } from "@svc/protocol/Timestamp"
import { Context, type Effect } from "effect"
import type { ApiKey, Organization } from "../Organization.ts"
import type { StoreUnavailable } from "./MandateStore.ts"

/** Organizations and their API keys (part 9). */
export class Organizations extends Context.Service<
  Organizations,
  {
    readonly find: (organization: string) => Effect.Effect<Organization | undefined, StoreUnavailable>
    /** The key with this hash, whatever its condition, its organization, and the store's clock. */
    readonly findApiKey: (
      hash: string
    ) => Effect.Effect<
      { readonly now: Instant; readonly apiKey: ApiKey; readonly organization: Organization } | undefined,
      StoreUnavailable
    >
    /** All keys of the organization, whatever their condition, by identifier, and the store's clock. */
    readonly listApiKeys: (
      organization: string
    ) => Effect.Effect<{ readonly now: Instant; readonly apiKeys: ReadonlyArray<ApiKey> }, StoreUnavailable>
    /** Creates the organization or replaces its settings. */
    readonly put: (organization: Organization) => Effect.Effect<void, StoreUnavailable>
    /** Creates the API key or replaces its record. */
    readonly putApiKey: (apiKey: ApiKey) => Effect.Effect<void, StoreUnavailable>
  }
>()("@svc/domain/ports/Organizations") {}
