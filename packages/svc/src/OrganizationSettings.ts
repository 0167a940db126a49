import { allowsLocalhostReturn, isRegistrableReturnOrigin } from "@svc/domain/approval/ReturnUrl"
import {
  IDENTITY_ALGORITHMS,
  isOrganizationName,
  type Organization,
  REPORT_GRACE_MAX_SECONDS
} from "@svc/domain/organization/Organization"
import { parseTarget } from "@svc/domain/webhook/WebhookTarget"
import { isIdentifier } from "@svc/protocol/Identifier"
import { identityOfHost } from "./HostIdentity.ts"
import { type Faults, isObject, unknownNames } from "./OptionFaults.ts"

/** An organization of a service: whoever creates mandates, for end users of its own. */
export interface OrganizationSettings
  extends Omit<Organization, "environment" | "reportGraceSeconds" | "passkeyEnrolment"> {
  /**
   * How long after the deadline of an authorization its outcome may still be reported, 0 to 3600 s. Required in live.
   * Default in test: 0.
   */
  readonly reportGraceSeconds?: number
  /** `FIRST_USE`: an end user without a passkey registers one with the first approval. Default: `FIRST_USE`. */
  readonly passkeyEnrolment?: Organization["passkeyEnrolment"]
}

/** What the settings of an organization depend on. */
interface OrganizationRules {
  readonly environment: Organization["environment"]
  /** Whether key sets may be fetched from this machine. */
  readonly loopbackAllowed: boolean
}

const NAMES: Readonly<Record<keyof OrganizationSettings, true>> = {
  id: true,
  name: true,
  billingAccountReference: true,
  identity: true,
  returnOrigins: true,
  reportGraceSeconds: true,
  passkeyEnrolment: true
}

const isText = (value: unknown): boolean => typeof value === "string" && isOrganizationName(value)

const keysFaults = (keys: unknown, at: string, { loopbackAllowed }: OrganizationRules): Faults => {
  const oneOf = `${at} must be { jwks: { keys: [...] } }, or { jwksUri: "https://..." }`
  if (!isObject(keys)) return [`${oneOf}.`]
  const unknown = unknownNames(keys, ["jwks", "jwksUri"], ` of ${at}`)
  if (unknown.length > 0) return unknown
  const { jwks, jwksUri } = keys
  if ((jwks === undefined) === (jwksUri === undefined)) return [`${oneOf}, and not both.`]
  if (jwksUri !== undefined)
    return typeof jwksUri === "string" && parseTarget(jwksUri, { loopbackAllowed }) !== undefined
      ? []
      : [`${at}.jwksUri must be a URL that begins with https://, to a host name, without a user name.`]
  const list = isObject(jwks) ? jwks.keys : undefined
  return Array.isArray(list) && list.length > 0 && list.every(isObject)
    ? []
    : [`${at}.jwks must be a key set with at least one public key: { keys: [...] }.`]
}

const identityFaults = (identity: unknown, at: string, rules: OrganizationRules): Faults => {
  if (identity === undefined) return []
  if (!isObject(identity)) return [`${at} must be an object with issuer, audience, algorithms and keys.`]
  const { algorithms, audience, issuer, keys } = identity
  const isAlgorithms =
    Array.isArray(algorithms) &&
    algorithms.length > 0 &&
    algorithms.every((name) => IDENTITY_ALGORITHMS.includes(name))
  return [
    ...unknownNames(identity, ["issuer", "audience", "algorithms", "keys"], ` of ${at}`),
    ...(isText(issuer) ? [] : [`${at}.issuer must be a text: the iss of its assertions.`]),
    ...(isText(audience) ? [] : [`${at}.audience must be a text: the aud of its assertions.`]),
    ...(isAlgorithms
      ? []
      : [`${at}.algorithms must be a list of some of ${IDENTITY_ALGORITHMS.join(", ")}.`]),
    ...keysFaults(keys, `${at}.keys`, rules)
  ]
}

const graceFaults = (seconds: unknown, at: string, { environment }: OrganizationRules): Faults => {
  if (seconds === undefined && environment === "test") return []
  const isGrace =
    Number.isInteger(seconds) && Number(seconds) >= 0 && Number(seconds) <= REPORT_GRACE_MAX_SECONDS
  if (isGrace) return []
  const given = seconds === undefined ? " be given in the live environment:" : " be"
  return [`${at}.reportGraceSeconds must${given} a whole number of 0 to ${REPORT_GRACE_MAX_SECONDS}.`]
}

const originFaults = (origins: unknown, at: string, { environment }: OrganizationRules): Faults => {
  if (!Array.isArray(origins)) return [`${at}.returnOrigins must be a list of origins, which may be empty.`]
  return origins
    .filter(
      (origin) =>
        typeof origin !== "string" || !isRegistrableReturnOrigin(origin, allowsLocalhostReturn(environment))
    )
    .map(
      (origin) =>
        `${at}.returnOrigins has ${JSON.stringify(origin)}, which is not an origin such as https://shop.example, without a path or slash (in test also http://localhost with a port).`
    )
}

/** What is wrong with the settings of an organization, which stand at `at` in the options. */
export const organizationFaults = (settings: unknown, at: string, rules: OrganizationRules): Faults => {
  if (!isObject(settings)) return [`${at} must be an object with id, name and returnOrigins.`]
  const { billingAccountReference: account, id, identity, name, passkeyEnrolment: enrolment } = settings
  const isId = typeof id === "string" && isIdentifier("org_", id)
  return [
    ...unknownNames(settings, Object.keys(NAMES), ` of ${at}`),
    ...(isId ? [] : [`${at}.id is ${JSON.stringify(id)}, not an identifier: newOrganizationId() makes one.`]),
    ...(isText(name) ? [] : [`${at}.name must be a text of 1 to 255 characters without control characters.`]),
    ...(account === undefined || isText(account) ? [] : [`${at}.billingAccountReference must be a text.`]),
    ...(enrolment === undefined || enrolment === "FIRST_USE" || enrolment === "CALLER_ALLOWED"
      ? []
      : [`${at}.passkeyEnrolment must be "FIRST_USE" or "CALLER_ALLOWED".`]),
    ...identityFaults(identity, `${at}.identity`, rules),
    ...graceFaults(settings.reportGraceSeconds, at, rules),
    ...originFaults(settings.returnOrigins, at, rules)
  ]
}

/** What is wrong with the organizations of the options. */
export const organizationsFaults = (organizations: unknown, rules: OrganizationRules): Faults => {
  if (organizations === undefined) return []
  if (!Array.isArray(organizations)) return ["organizations must be a list."]
  const faults = organizations.flatMap((each, index) =>
    organizationFaults(each, `organizations[${index}]`, rules)
  )
  const ids = organizations.map((each) => (isObject(each) ? each.id : undefined))
  return new Set(ids).size === ids.length ? faults : [...faults, "two organizations have the same id."]
}

/** An organization as it is kept, of settings without a fault. */
export const organizationOf = (
  settings: OrganizationSettings,
  {
    baseUrl,
    environment,
    isIdentifiedByHost
  }: {
    readonly baseUrl: string
    readonly environment: Organization["environment"]
    readonly isIdentifiedByHost: boolean
  }
): Organization => {
  const { passkeyEnrolment = "FIRST_USE", reportGraceSeconds = 0, ...others } = settings
  return {
    ...(isIdentifiedByHost ? { identity: identityOfHost(baseUrl) } : {}),
    ...(Object.fromEntries(
      Object.entries(others).filter(([, value]) => value !== undefined)
    ) as typeof others),
    environment,
    passkeyEnrolment,
    reportGraceSeconds
  }
}
