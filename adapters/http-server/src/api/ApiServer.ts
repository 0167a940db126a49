import { Deployment } from "@svc/domain/ports/Deployment"
import { Effect, Layer } from "effect"
import type { TrustedProxies } from "../http/ClientAddress.ts"
import { httpListener } from "../http/HttpListener.ts"
import { documentRoutes } from "../reference/DocumentRoutes.ts"
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

/** The routes of every group of the API. */
const apiRoutes = [
  ...mandateRoutes,
  ...authorizationRoutes,
  ...eventRoutes,
  ...evidenceRoutes,
  ...passkeyRoutes,
  ...webhookRoutes,
  ...keySetRoutes,
  ...operationsRoutes
]

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
  Layer.unwrap(
    Effect.gen(function* () {
      const { baseUrl } = yield* Deployment
      const routes = [...apiRoutes, ...documentRoutes(baseUrl, yield* SampleOrganization)]
      return httpListener(routes, { ...options, baseUrl, headers: headersOf(baseUrl) })
    })
  )
