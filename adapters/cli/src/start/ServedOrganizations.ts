import type { Organization } from "@svc/domain/organization/Organization"
import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { OrganizationDirectory } from "@svc/domain/ports/OrganizationDirectory"
import { Effect, Option } from "effect"

/** Organizations that are read at a time. */
const PAGE_ORGANIZATIONS = 500

/** All organizations of the deployment, or those up to the first one that `isLast` accepts. */
export const listedOrganizations = Effect.fnUntraced(function* (
  isLast: (organization: Organization) => boolean = () => false
): Effect.fn.Return<ReadonlyArray<Organization>, StoreUnavailable, OrganizationDirectory> {
  const directory = yield* OrganizationDirectory
  const organizations: Array<Organization> = []
  let page: ReadonlyArray<Organization>
  do {
    page = yield* directory.list(organizations.at(-1)?.id, PAGE_ORGANIZATIONS)
    organizations.push(...page)
  } while (page.length === PAGE_ORGANIZATIONS && !page.some(isLast))
  return organizations
})

type Environment = Organization["environment"]

/** Whether there are organizations, and none of them is of the environment that is served. */
export const isNoneServed = (environment: Environment, organizations: ReadonlyArray<Organization>): boolean =>
  organizations.length > 0 && organizations.every((organization) => organization.environment !== environment)

/** What is then to be said of it. */
export const noneServed = (environment: Environment) => ({
  found: `no organization of the database is of the environment ${environment}, so every API key is refused`,
  remedy: `run svc organization create with SVC_ENVIRONMENT=${environment}; if the database is that of another deployment, name this one's in SVC_STORE`
})

const EMPTY =
  "the database has no organization, so every API key is refused: run svc organization create, or if there are organizations, see that SVC_STORE names the right database"

/**
 * Logs a warning where a server would refuse every API key that there is, and a line where there is none, as in a new
 * deployment. A store without a directory says nothing.
 */
export const tellIfNoneIsServed = Effect.fnUntraced(function* (environment: Environment) {
  const directory = yield* Effect.serviceOption(OrganizationDirectory)
  if (Option.isNone(directory)) return
  const organizations = yield* listedOrganizations((one) => one.environment === environment).pipe(
    Effect.provideService(OrganizationDirectory, directory.value)
  )
  if (organizations.length === 0) return yield* Effect.logInfo(EMPTY)
  if (!isNoneServed(environment, organizations)) return
  const { found, remedy } = noneServed(environment)
  yield* Effect.logWarning(`${found}: ${remedy}`).pipe(
    Effect.annotateLogs({ environment, organizations: organizations.length })
  )
})
