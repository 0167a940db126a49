import { isIP } from "node:net"
import { mayUseRelyingParty } from "@svc/domain/approval/RelyingParty"
import { allowsLocalhostReturn } from "@svc/domain/approval/ReturnUrl"
import type { Organization } from "@svc/domain/organization/Organization"
import type { Deployment } from "@svc/domain/ports/Deployment"
import { MASTER_KEY_BYTES } from "@svc/domain/ports/SecretSealer"
import { basePathOf } from "@svc/http-server/http/BasePath"
import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { externalSignerFaults } from "@svc/signer/ExternalSigner"
import type { MasterKeys } from "@svc/signer/SecretSealerNodeCrypto"
import { Redacted } from "effect"
import { isHostOf } from "./HostName.ts"
import { type Faults, isObject, throwFaults, unknownNames, wrongTypes } from "./OptionFaults.ts"
import { organizationOf, organizationsFaults } from "./OrganizationSettings.ts"
import { limitsFaults } from "./ServiceLimits.ts"
import type { ServiceOptions } from "./ServiceOptions.ts"
import { type Store, StoreLayer } from "./Store.ts"

/* The options of a service, checked all at once, as its parts use them. */

/** Where a face is mounted: its base URL, and the path of it without a trailing slash. */
export interface Mount {
  readonly url: URL
  readonly path: string
}

export interface Mounts {
  readonly api: Mount
  readonly approval: Mount
}

export interface ServiceSettings {
  /** The options, as they were when they were checked. */
  readonly options: ServiceOptions
  readonly mounts: Mounts
  readonly deployment: Deployment["Service"]
  readonly organizations: ReadonlyArray<Organization>
  readonly masterKeys: MasterKeys
}

export const OPTION_NAMES: Readonly<Record<keyof ServiceOptions, true>> = {
  environment: true,
  baseUrl: true,
  approvalUrl: true,
  rpId: true,
  store: true,
  masterKey: true,
  masterKeyPrevious: true,
  signer: true,
  organizations: true,
  authenticate: true,
  identify: true,
  clientAddress: true,
  logger: true,
  worker: true,
  docs: true,
  health: true,
  limits: true,
  webhookAllowLoopback: true
}

const FUNCTIONS = ["authenticate", "identify", "clientAddress", "logger"]
const SWITCHES = ["worker", "docs", "health", "webhookAllowLoopback"]

/** A URL that a face can be mounted at, or what is wrong with it. */
const readMount = (text: unknown, name: string): Mount | Faults => {
  const url = typeof text === "string" ? URL.parse(text) : null
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:"))
    return [`${name} must be a URL that begins with https:// (or, in test, http://).`]
  if (url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "")
    return [`${name} must have no query, fragment or user.`]
  return { url, path: basePathOf(url.href) }
}

const isMount = (mount: Mount | Faults): mount is Mount => "url" in mount

const isLocalhost = ({ hostname }: URL): boolean =>
  hostname === "localhost" || hostname.endsWith(".localhost")

/** The host of a URL, an IPv6 address without its brackets. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/gu, "")

const securityFaults = ({ api, approval }: Mounts, environment: unknown): Faults => {
  const isLocal = environment === "test" && isLocalhost(approval.url)
  if (isIP(hostOf(approval.url)) !== 0)
    return [
      `approvalUrl must have a host name, not the address ${hostOf(approval.url)}: passkeys belong to a name${environment === "test" ? ", such as localhost" : ""}.`
    ]
  const faults =
    approval.url.protocol === "https:" || isLocal
      ? []
      : [
          "approvalUrl must begin with https://: browsers offer passkeys nowhere else but, in test, on http://localhost."
        ]
  if (isHostOf(approval.url, api.url.host) && api.path === approval.path)
    return [...faults, "baseUrl and approvalUrl need different hosts or different paths."]
  if (environment !== "live") return faults
  if (api.url.protocol !== "https:") faults.push("baseUrl must begin with https:// in the live environment.")
  if (api.url.protocol === approval.url.protocol && isHostOf(approval.url, api.url.host))
    faults.push(
      "approvalUrl must have another origin than baseUrl in the live environment: what runs on the origin of the API could otherwise approve in the user's place."
    )
  return faults
}

const relyingPartyFaults = (rpId: unknown, { url }: Mount): Faults =>
  rpId === undefined || (typeof rpId === "string" && mayUseRelyingParty(url.hostname, rpId))
    ? []
    : [
        `rpId must be ${url.hostname}, the host of approvalUrl, or a domain of yours above it with at least two labels, in lower case: browsers take no other, and none that others share, such as co.uk.`
      ]

const addressFaults = ({ approvalUrl, baseUrl, environment, rpId }: Readonly<Record<string, unknown>>) => {
  const [api, approval] = [readMount(baseUrl, "baseUrl"), readMount(approvalUrl, "approvalUrl")]
  if (!isMount(api) || !isMount(approval))
    return [api, approval].flatMap((mount) => (isMount(mount) ? [] : mount))
  return [...securityFaults({ api, approval }, environment), ...relyingPartyFaults(rpId, approval)]
}

const isStore = (store: unknown): store is Store =>
  typeof store === "object" && store !== null && StoreLayer in store

const storeFaults = (store: unknown, environment: unknown): Faults => {
  if (!isStore(store)) return ["store must be memory(), pglite(...) or postgres(...)."]
  return environment === "live" && !store.outlivesProcess
    ? [
        "store must outlive the process in the live environment, as postgres(...) and pglite({ folder }) do: what end users approved, and what was paid, would be lost with it."
      ]
    : []
}

const keyBytes = (key: unknown): Uint8Array | undefined => {
  const bytes = typeof key === "string" ? decodeBase64Url(key) : key
  // A copy: hosts wipe what they hand over.
  return bytes instanceof Uint8Array && bytes.length === MASTER_KEY_BYTES ? Uint8Array.from(bytes) : undefined
}

const MAKE_KEY = `node -p "crypto.randomBytes(${MASTER_KEY_BYTES}).toString('base64url')"`

const keyFaults = (key: unknown, name: string): Faults =>
  key === undefined || keyBytes(key) !== undefined
    ? []
    : [
        `${name} must be ${MASTER_KEY_BYTES} bytes, or their unpadded base64url text, as ${MAKE_KEY} prints it.`
      ]

const masterKeyFaults = ({ masterKey, masterKeyPrevious, store }: Readonly<Record<string, unknown>>) => [
  ...(masterKey === undefined && isStore(store) && store.outlivesProcess
    ? [
        `masterKey is missing: secrets in the store are sealed under it. Make one with ${MAKE_KEY} and keep it as a secret of the deployment.`
      ]
    : keyFaults(masterKey, "masterKey")),
  ...keyFaults(masterKeyPrevious, "masterKeyPrevious")
]

const unknownOptions = (options: object): Faults =>
  unknownNames(options, Object.keys(OPTION_NAMES)).map((fault) =>
    fault.includes('"rateLimit"') ? 'there is no option "rateLimit"; it is limits.rateLimit.' : fault
  )

const signerFaults = (signer: unknown): Faults => [
  ...(isObject(signer) ? unknownNames(signer, ["publicJwk", "sign", "published"], " of signer") : []),
  ...(signer === undefined ? [] : externalSignerFaults(signer).map((fault) => `${fault}.`))
]

const optionFaults = (options: Readonly<Record<string, unknown>>): Faults => {
  const { environment, store } = options
  const isLoopback = options.webhookAllowLoopback === true
  return [
    ...unknownOptions(options),
    ...(environment === "test" || environment === "live" ? [] : ['environment must be "test" or "live".']),
    ...addressFaults(options),
    ...storeFaults(store, environment),
    ...masterKeyFaults(options),
    ...signerFaults(options.signer),
    ...organizationsFaults(options.organizations, {
      environment: environment === "live" ? "live" : "test",
      loopbackAllowed: isLoopback
    }),
    ...wrongTypes(options, FUNCTIONS, "function"),
    ...wrongTypes(options, SWITCHES, "boolean"),
    ...limitsFaults(options.limits),
    ...(isLoopback && environment === "live"
      ? ["webhookAllowLoopback is for the test environment: live webhooks go to public addresses alone."]
      : [])
  ]
}

const redactedKey = (key: unknown) =>
  Redacted.make(keyBytes(key) ?? crypto.getRandomValues(new Uint8Array(MASTER_KEY_BYTES)), {
    label: "master key"
  })

const deploymentOf = (options: ServiceOptions, { api, approval }: Mounts): Deployment["Service"] => ({
  environment: options.environment,
  baseUrl: api.url.origin + api.path,
  approvalBaseUrl: approval.url.origin + approval.path,
  approvalOrigin: approval.url.origin,
  rpId: options.rpId ?? approval.url.hostname,
  localhostReturnOrigins: allowsLocalhostReturn(options.environment)
})

/** A copy of data. What cannot be copied is none, and is refused as what it is. */
const copyOf = <A>(data: A): A => {
  try {
    return structuredClone(data)
  } catch {
    return data
  }
}

const copied = (given: ServiceOptions): ServiceOptions => {
  const { limits, organizations } = given
  return {
    ...given,
    ...(organizations === undefined ? {} : { organizations: copyOf(organizations) }),
    ...(limits === undefined ? {} : { limits: copyOf(limits) })
  }
}

/** The settings that options stand for; throws a `TypeError` that says all that is wrong with them. */
export const settingsOf = (given: ServiceOptions): ServiceSettings => {
  if (!isObject(given)) throw new TypeError("createService: options are missing.")
  // What is used later is what was checked, whatever the host does with its objects.
  const options = copied(given)
  throwFaults("createService", optionFaults({ ...options }))
  const mounts = {
    api: readMount(options.baseUrl, "baseUrl") as Mount,
    approval: readMount(options.approvalUrl, "approvalUrl") as Mount
  }
  const { baseUrl, environment, identify, masterKeyPrevious: previous, organizations = [] } = options
  return {
    options,
    mounts,
    deployment: deploymentOf(options, mounts),
    organizations: organizations.map((each) =>
      organizationOf(each, { baseUrl, environment, isIdentifiedByHost: identify !== undefined })
    ),
    masterKeys: {
      current: redactedKey(options.masterKey),
      ...(previous === undefined ? {} : { previous: redactedKey(previous) })
    }
  }
}
