import type { ApiKeyScope } from "@svc/domain/organization/Organization"
import type { ExternalSigner } from "@svc/signer/ExternalSigner"
import type { Identify } from "./HostIdentity.ts"
import type { OrganizationSettings } from "./OrganizationSettings.ts"
import type { ServiceLimits } from "./ServiceLimits.ts"
import type { Store } from "./Store.ts"

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
  /** Where everything is kept. One that ends with the process is for `test` alone. */
  readonly store: Store
  /**
   * 32 bytes, or their unpadded base64url text, under which secrets in the store are sealed: those of webhooks, the links of
   * approval sessions, and the signing key unless there is a `signer`. Required with a store that outlives the process.
   */
  readonly masterKey?: string | Uint8Array
  /** The master key before the present one, which still opens what was sealed under it. */
  readonly masterKeyPrevious?: string | Uint8Array
  /**
   * Signs evidence with a key of the host's own, in a KMS or an HSM, in place of one that the store keeps. Each signature is
   * verified before it is used.
   */
  readonly signer?: ExternalSigner
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
  readonly limits?: ServiceLimits
  /**
   * Whether webhooks may go to this machine, such as to `http://127.0.0.1:4000/hooks`, and key sets of identity assertions be
   * fetched from it: for tests of a receiver. Only in `test`. Default: `false`.
   */
  readonly webhookAllowLoopback?: boolean
}
