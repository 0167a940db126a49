import { mayUseRelyingParty } from "@svc/domain/approval/RelyingParty"
import { allowsLocalhostReturn, isRegistrableReturnOrigin } from "@svc/domain/approval/ReturnUrl"
import type { Organization } from "@svc/domain/organization/Organization"
import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import type { OrganizationDirectory } from "@svc/domain/ports/OrganizationDirectory"
import { Effect, Option } from "effect"
import { optional } from "../config/Setting.ts"
import { APPROVAL_BASE_URL, BASE_URL, ENVIRONMENT, RP_ID } from "../config/Settings.ts"
import { isNoneServed, listedOrganizations, noneServed } from "../start/ServedOrganizations.ts"
import { type Check, counted, failed, namedList, ok, skipped, warning } from "./Check.ts"

/** The settings about origins, each as far as it is set and valid by itself. */
export interface OriginFacts {
  readonly environment: "test" | "live" | undefined
  readonly baseUrl: string | undefined
  readonly approvalBaseUrl: string | undefined
  readonly rpId: string | undefined
}

const ifValid = <A, E>(read: Effect.Effect<A | undefined, E>): Effect.Effect<A | undefined> =>
  Effect.map(Effect.option(read), Option.getOrUndefined)

export const originFacts: Effect.Effect<OriginFacts> = Effect.all({
  environment: ifValid(optional(ENVIRONMENT)),
  baseUrl: ifValid(optional(BASE_URL)),
  approvalBaseUrl: ifValid(optional(APPROVAL_BASE_URL)),
  rpId: ifValid(optional(RP_ID))
})

const UNSET = "the settings that it is about are not set"

export const separateCheck: Check<OriginFacts> = {
  name: "origins.separate",
  judge: ({ approvalBaseUrl, baseUrl }) => {
    if (approvalBaseUrl === undefined || baseUrl === undefined) return skipped(UNSET)
    return approvalBaseUrl === baseUrl
      ? failed(
          `the API and the approval pages are both ${baseUrl}`,
          "serve the approval pages from an origin of their own and set SVC_APPROVAL_BASE_URL to it"
        )
      : ok(`${baseUrl} and ${approvalBaseUrl}`)
  }
}

export const secureCheck: Check<OriginFacts> = {
  name: "origins.https",
  judge: ({ approvalBaseUrl, baseUrl, environment }) => {
    const origins = [baseUrl, approvalBaseUrl].filter((origin) => origin !== undefined)
    if (origins.length === 0 || environment === undefined) return skipped(UNSET)
    const plain = origins.filter((origin) => !origin.startsWith("https:"))
    if (plain.length === 0) return ok("https")
    return environment === "live"
      ? failed(
          `${plain.join(" and ")} in the live environment`,
          "put TLS in front of the service and name its https origins"
        )
      : ok(`${plain.join(" and ")}, in the test environment`)
  }
}

export const relyingPartyCheck: Check<OriginFacts> = {
  name: "origins.relying_party",
  judge: ({ approvalBaseUrl, rpId }) => {
    if (approvalBaseUrl === undefined) return skipped(UNSET)
    const host = new URL(approvalBaseUrl).hostname
    const used = rpId ?? host
    return mayUseRelyingParty(host, used)
      ? ok(`${used} fits ${host}`)
      : failed(
          `no browser lets ${host} use passkeys of ${used}`,
          `set SVC_RP_ID to ${host} or a parent domain of it; passkeys that were made under another are of no use then`
        )
  }
}

/** What the settings about origins tell. */
export const ORIGIN_CHECKS: ReadonlyArray<Check<OriginFacts>> = [
  separateCheck,
  secureCheck,
  relyingPartyCheck
]

export interface OrganizationFacts {
  readonly environment: "test" | "live" | undefined
  readonly organizations: ReadonlyArray<Organization>
}

/** All organizations of the deployment, and the environment that it serves. */
export const organizationFacts = (
  environment: OrganizationFacts["environment"]
): Effect.Effect<OrganizationFacts, StoreUnavailable, OrganizationDirectory> =>
  Effect.map(listedOrganizations(), (organizations) => ({ environment, organizations }))

export const environmentCheck: Check<OrganizationFacts> = {
  name: "organizations.environment",
  judge: ({ environment, organizations }) => {
    if (environment === undefined) return skipped(UNSET)
    if (isNoneServed(environment, organizations)) {
      const { found, remedy } = noneServed(environment)
      return warning(found, remedy)
    }
    const others = organizations.filter((organization) => organization.environment !== environment)
    return others.length === 0
      ? ok(counted(organizations.length, "organization"))
      : warning(
          `${namedList(others.map(({ id }) => id))}: of another environment than ${environment}, so their keys are refused`,
          "serve them by a deployment of their own, with another database"
        )
  }
}

/** Origins that were registered under other rules, or written into the database by hand. */
export const returnOriginsCheck: Check<OrganizationFacts> = {
  name: "organizations.return_origins",
  judge: ({ organizations }) => {
    const faults = organizations.flatMap(({ environment, id, returnOrigins }) =>
      returnOrigins
        .filter((origin) => !isRegistrableReturnOrigin(origin, allowsLocalhostReturn(environment)))
        .map((origin) => `${origin} of ${id}`)
    )
    if (faults.length > 0) {
      return failed(
        `no approval may return to ${namedList(faults)}`,
        "run svc organization update with https origins"
      )
    }
    const without = organizations.filter(({ returnOrigins }) => returnOrigins.length === 0)
    return without.length === 0
      ? ok("every organization has return origins")
      : warning(
          `${namedList(without.map(({ id }) => id))}: approvals cannot return to a site, for want of a return origin`,
          "run svc organization update --organization <id> --return-origin <origin>"
        )
  }
}

export const billingCheck: Check<OrganizationFacts> = {
  name: "organizations.billing",
  judge: ({ organizations }) => {
    const without = organizations.filter(
      ({ billingAccountReference, environment }) =>
        environment === "live" && billingAccountReference === undefined
    )
    return without.length === 0
      ? ok("every live organization has a billing account")
      : warning(
          `${namedList(without.map(({ id }) => id))}: live without a billing account, so their keys are refused`,
          "run svc organization update --billing-account"
        )
  }
}

/** What the organizations on record tell. */
export const ORGANIZATION_CHECKS: ReadonlyArray<Check<OrganizationFacts>> = [
  environmentCheck,
  returnOriginsCheck,
  billingCheck
]
