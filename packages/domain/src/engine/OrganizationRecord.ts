import { Effect } from "effect"
import type { Organization } from "../organization/Organization.ts"
import { Deployment } from "../ports/Deployment.ts"
import type { StoreUnavailable } from "../ports/MandateStore.ts"
import { Organizations } from "../ports/Organizations.ts"
import { OrganizationUnknown } from "../Refusals.ts"

/** An organization of the deployment's environment as it is on record, whatever a caller said of its settings. */
export const organizationOnRecord = Effect.fnUntraced(function* (
  id: string
): Effect.fn.Return<Organization, OrganizationUnknown | StoreUnavailable, Organizations | Deployment> {
  const { environment } = yield* Deployment
  const organizations = yield* Organizations
  const found = yield* organizations.find(id)
  if (found?.environment !== environment) return yield* new OrganizationUnknown()
  return found
})
