import { Context, type Effect } from "effect"
import type { Organization } from "../organization/Organization.ts"
import type { StoreUnavailable } from "./MandateStore.ts"

/** The organizations of a deployment, for its operators. No request looks beyond one organization. */
export class OrganizationDirectory extends Context.Service<
  OrganizationDirectory,
  {
    /** The organizations after a given one by identifier, which is the order in which they were made; at most so many. */
    readonly list: (
      after: string | undefined,
      limit: number
    ) => Effect.Effect<ReadonlyArray<Organization>, StoreUnavailable>
  }
>()("@svc/domain/ports/OrganizationDirectory") {}
