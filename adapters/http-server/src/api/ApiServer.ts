import { Deployment } from "@svc/domain/ports/Deployment"
import { Effect, Layer } from "effect"
import type { TrustedProxies } from "../http/ClientAddress.ts"
import { httpListener } from "../http/HttpListener.ts"
import { documentRoutes, problemRoutes } from "../reference/DocumentRoutes.ts"
import { SampleOrganization } from "../reference/SampleOrganization.ts"
import { authorizationRoutes } from "./AuthorizationRoutes.ts"
import { eventRoutes } from "./EventRoutes.ts"
import { evidenceRoutes } from "./EvidenceRoutes.ts"
import { keySetRoutes } from "./KeySetRoutes.ts"
import { mandateRoutes } from "./MandateRoutes.ts"
import { operationsRoutes } from "./OperationsRoutes.ts"
import { passkeyRoutes } from "./PasskeyRoutes.ts"
import { webhookRoutes } from "./WebhookRoutes.ts"

export interface ApiServerOptions {
  /** 0 lets the operating system choose. */
  readonly port: number
  /** Address to bind to. Default: all addresses of the machine. */
  readonly host?: string
  /** Proxies whose `X-Forwarded-For` is trusted. Default: none. */
  readonly trustedProxies?: TrustedProxies
  /** In milliseconds. Default 30,000. */
  readonly requestTimeoutMs?: number
}

/** The routes of every group of the API that acts for organizations. */
const apiRoutes = [
  ...mandateRoutes,
  ...authorizationRoutes,
  ...eventRoutes,
  ...evidenceRoutes,
  ...passkeyRoutes,
  ...webhookRoutes,
  ...keySetRoutes
]

/** Which routes there are beside those of the interface. Default: all. */
export interface ApiParts {
  /** The OpenAPI document and the reference page. The pages of problems are always there, since problems link to them. */
  readonly docs?: boolean
  /** `/healthz` and `/readyz`. */
  readonly health?: boolean
}

/** The API: its routes and the headers of every response. */
export const makeApi = Effect.fnUntraced(function* ({ docs = true, health = true }: ApiParts = {}) {
  const { baseUrl } = yield* Deployment
  const organization = yield* SampleOrganization
  const routes = [
    ...apiRoutes,
    ...(health ? operationsRoutes : []),
    ...problemRoutes(baseUrl),
    ...(docs ? documentRoutes(baseUrl, organization) : [])
  ]
  return { routes, options: { baseUrl, headers: headersOf(baseUrl) } }
})

const HSTS = "max-age=31536000"

const headersOf = (baseUrl: string): Readonly<Record<string, string>> => ({
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  ...(baseUrl.startsWith("https:") ? { "strict-transport-security": HSTS } : {})
})

/** The listener of the API (all parts but 6, the approval pages). The caller provides the store and the other ports. */
export const layer = (options: ApiServerOptions) =>
  Layer.unwrap(Effect.map(makeApi(), (api) => httpListener(api.routes, { ...options, ...api.options })))
