import { mayUseRelyingParty } from "@svc/domain/approval/RelyingParty"
import { allowsLocalhostReturn, isRegistrableReturnOrigin } from "@svc/domain/approval/ReturnUrl"
import {
  type ApiKeyScope,
  type Organization,
  REPORT_GRACE_MAX_SECONDS
} from "@svc/domain/organization/Organization"
import type { Deployment } from "@svc/domain/ports/Deployment"
import { basePathOf } from "@svc/http-server/http/BasePath"
import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { isIdentifier } from "@svc/protocol/Identifier"
import { MASTER_KEY_BYTES } from "@svc/signer/SecretSealerNodeCrypto"
import { type Identify, identityOfHost } from "./HostIdentity.ts"
import { type Store, StoreLayer } from "./Store.ts"

/** An organization of a service: whoever creates mandates, for end users of its own. */
export interface OrganizationSettings
  extends Omit<Organization, "environment" | "reportGraceSeconds" | "passkeyEnrolment"> {
  /** How long after the deadline of an authorization its outcome may still be reported, 0 to 3600 s. Default: 0. */
  readonly reportGraceSeconds?: number
  /** `FIRST_USE`: an end user without a passkey registers one with the first approval. Default: `FIRST_USE`. */
  readonly passkeyEnrolment?: Organization["passkeyEnrolment"]
}

/** Whom a request of the API acts for. */
export interface AuthenticatedCaller {
  /** Identifier of the organization. */
  readonly organization: string
  /** What it may do. Default: everything. */
  readonly scopes?: ReadonlyArray<ApiKeyScope>
}

/** An entry of the log, for the host's own logger. */
export interface LogEntry {
  readonly level: "debug" | "info" | "warn" | "error"
  readonly message: string
  /** Ids of request, organization, mandate and the like. They hold no secrets. */
  readonly facts: Readonly<Record<string, unknown>>
  /** The stack trace of an unexpected fault. */
  readonly cause?: string
}

/** The options of `createService`. The documentation under Embedding says what each costs when it is wrong. */
export interface ServiceOptions {
  /** What happens in `test` has no meaning elsewhere; `live` requires HTTPS and two origins. */
  readonly environment: "test" | "live"
  /** Where callers reach the API, such as `https://shop.example/mandates`. Its path is where the API is mounted. */
  readonly baseUrl: string
  /** Where end users reach the approval page, such as `https://approve.shop.example`: another origin than the API's. */
  readonly approvalUrl: string
  /** The WebAuthn relying party: the host of `approvalUrl` or a domain above it. Default: the host. */
  readonly rpId?: string
  readonly store: Store
  /** 32 bytes, or their unpadded base64url text, under which secrets in the store are sealed. Optional with `memory()`. */
  readonly masterKey?: string | Uint8Array
  /** The master key before the present one, which still opens what was sealed under it. */
  readonly masterKeyPrevious?: string | Uint8Array
  /** Created or updated at the start. Others in the store stay as they are. */
  readonly organizations?: ReadonlyArray<OrganizationSettings>
  /**
   * Says whom a request of the API acts for, by the host's own sessions, in place of API keys. It is given the request's
   * method, URL and headers. `undefined` refuses it with 401.
   */
  readonly authenticate?: (request: Request) => Promise<AuthenticatedCaller | undefined>
  /**
   * Recognizes the end user of the `identity_assertion` of an approval session, in place of the JWTs that an organization's
   * `identity` settings describe: a token of the host's own, or a session id.
   */
  readonly identify?: Identify
  /**
   * The address of the client, which failed credentials are counted by, such as the one that a proxy of the host's wrote into a
   * header. Default, and where it is `undefined`: the peer of the socket; for `fetch`, which sees no socket, one for all.
   */
  readonly clientAddress?: (request: Request) => string | undefined
  /** Receives every log entry. Default: warnings and errors go to the console. */
  readonly logger?: (entry: LogEntry) => void
  /** Whether deliveries of webhooks and due transitions run in this process. Default: `true`. */
  readonly worker?: boolean
  /** Whether `/docs` and `/openapi.json` are served. Default: `true`. */
  readonly docs?: boolean
  /** Whether `/healthz` and `/readyz` are served. Default: `true`. */
  readonly health?: boolean
  /** Requests per second and burst of each API key, in this process. Default: 100 and 200. */
  readonly rateLimit?: { readonly rate: number; readonly burst: number } | "off"
}

const fail = (message: string): never => {
  throw new TypeError(`createService: ${message}`)
}

const urlOf = (text: string, name: string): URL => {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:"))
    return fail(`${name} must be a URL that begins with https:// (or, in test, http://).`)
  if (url.search !== "" || url.hash !== "" || url.username !== "")
    return fail(`${name} must have no query, fragment or user.`)
  return url
}

/** Where a face is mounted: its base URL, and the path of it without a trailing slash. */
export interface Mount {
  readonly url: URL
  readonly path: string
}

export interface Mounts {
  readonly api: Mount
  readonly approval: Mount
}

const mountAt = (text: string, name: string): Mount => {
  const url = urlOf(text, name)
  return { url, path: basePathOf(url.href) }
}

const baseUrlOf = ({ path, url }: Mount): string => url.origin + path

const checkSecurity = ({ environment }: ServiceOptions, { api, approval }: Mounts): void => {
  const isLocal = environment === "test" && approval.url.hostname === "localhost"
  if (approval.url.protocol !== "https:" && !isLocal)
    fail(
      "approvalUrl must begin with https://: browsers offer passkeys nowhere else but on http://localhost."
    )
  if (environment === "test") return
  if (api.url.protocol !== "https:") fail("baseUrl must begin with https:// in the live environment.")
  if (api.url.origin === approval.url.origin)
    fail(
      "approvalUrl must have another origin than baseUrl in the live environment: what runs on the origin of the API could otherwise approve in the user's place."
    )
}

const OPTION_NAMES: Readonly<Record<keyof ServiceOptions, true>> = {
  environment: true,
  baseUrl: true,
  approvalUrl: true,
  rpId: true,
  store: true,
  masterKey: true,
  masterKeyPrevious: true,
  organizations: true,
  authenticate: true,
  identify: true,
  clientAddress: true,
  logger: true,
  worker: true,
  docs: true,
  health: true,
  rateLimit: true
}

const isRate = (rateLimit: ServiceOptions["rateLimit"]): boolean =>
  rateLimit === undefined || rateLimit === "off" || (rateLimit.rate > 0 && rateLimit.burst >= 1)

/** What the types say, for hosts without a compiler. */
const checkForm = (options: ServiceOptions): void => {
  if (typeof options !== "object" || options === null) fail("options are missing.")
  const unknown = Object.keys(options).find((name) => !(name in OPTION_NAMES))
  if (unknown !== undefined) fail(`there is no option ${JSON.stringify(unknown)}.`)
  const { environment, organizations = [], rateLimit, store } = options
  if (environment !== "test" && environment !== "live") fail('environment must be "test" or "live".')
  if (typeof store !== "object" || store === null || !(StoreLayer in store))
    fail("store must be memory(), pglite(...) or postgres(...).")
  if (!isRate(rateLimit)) fail('rateLimit must be "off", or have a rate above 0 and a burst of at least 1.')
  const ids = organizations.map(({ id }) => id)
  if (new Set(ids).size !== ids.length) fail("two organizations have the same id.")
}

/** The mounts of both faces; throws if options contradict each other. */
export const mountsOf = (options: ServiceOptions): Mounts => {
  checkForm(options)
  const api = mountAt(options.baseUrl, "baseUrl")
  const approval = mountAt(options.approvalUrl, "approvalUrl")
  checkSecurity(options, { api, approval })
  if (api.url.host === approval.url.host && api.path === approval.path)
    fail("baseUrl and approvalUrl need different hosts or different paths.")
  return { api, approval }
}

/** What the programs know of the deployment. */
export const deploymentOf = (options: ServiceOptions, { api, approval }: Mounts): Deployment["Service"] => {
  const rpId = options.rpId ?? approval.url.hostname
  if (!mayUseRelyingParty(approval.url.hostname, rpId))
    fail("rpId must be the host of approvalUrl or a domain above it.")
  return {
    environment: options.environment,
    baseUrl: baseUrlOf(api),
    approvalBaseUrl: baseUrlOf(approval),
    approvalOrigin: approval.url.origin,
    rpId,
    localhostReturnOrigins: allowsLocalhostReturn(options.environment)
  }
}

/** The bytes of a master key; throws if it is not one. */
export const masterKeyOf = (key: string | Uint8Array, name: string): Uint8Array => {
  const bytes = typeof key === "string" ? decodeBase64Url(key) : key
  return bytes?.length === MASTER_KEY_BYTES
    ? bytes
    : fail(
        `${name} must be ${MASTER_KEY_BYTES} bytes, or their unpadded base64url text, as node -p "crypto.randomBytes(${MASTER_KEY_BYTES}).toString('base64url')" prints it.`
      )
}

/** An organization as it is kept; throws if its settings are not valid. */
export const organizationOf = (
  settings: OrganizationSettings,
  { baseUrl, environment, identify }: Pick<ServiceOptions, "baseUrl" | "environment" | "identify">
): Organization => {
  const { id, name, passkeyEnrolment = "FIRST_USE", reportGraceSeconds = 0, returnOrigins } = settings
  if (!isIdentifier("org_", id))
    fail(`${JSON.stringify(id)} is not an identifier: newOrganizationId() makes one.`)
  if (
    !Number.isInteger(reportGraceSeconds) ||
    reportGraceSeconds < 0 ||
    reportGraceSeconds > REPORT_GRACE_MAX_SECONDS
  )
    fail(`reportGraceSeconds must be a whole number of 0 to ${REPORT_GRACE_MAX_SECONDS}.`)
  if (typeof name !== "string" || name === "") fail(`the organization ${id} has no name.`)
  if (passkeyEnrolment !== "FIRST_USE" && passkeyEnrolment !== "CALLER_ALLOWED")
    fail('passkeyEnrolment must be "FIRST_USE" or "CALLER_ALLOWED".')
  if (!Array.isArray(returnOrigins)) fail(`the organization ${id} has no list of returnOrigins.`)
  for (const origin of returnOrigins)
    if (!isRegistrableReturnOrigin(origin, allowsLocalhostReturn(environment)))
      fail(
        `${JSON.stringify(origin)} is not an origin such as https://shop.example, without a path or slash (in test also http://localhost with a port).`
      )
  return {
    ...(identify === undefined ? {} : { identity: identityOfHost(baseUrl) }),
    ...settings,
    environment,
    passkeyEnrolment,
    reportGraceSeconds
  }
}
