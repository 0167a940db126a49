import { Deployment } from "@svc/domain/ports/Deployment"
import { Api } from "@svc/protocol/api/Api"
import { Effect, Layer } from "effect"
import type { HttpApiGroup } from "effect/http-api"
import type { TrustedProxies } from "../http/ClientAddress.ts"
import { httpListener } from "../http/HttpListener.ts"
import { makeRouteTable } from "../http/RouteTable.ts"
import { authorizationRoutes } from "./AuthorizationRoutes.ts"
import { documentPaths, documentRoutes } from "./DocumentRoutes.ts"
import { eventRoutes } from "./EventRoutes.ts"
import { evidenceRoutes } from "./EvidenceRoutes.ts"
import { routesOf } from "./GroupRoutes.ts"
import { keySetRoutes } from "./KeySetRoutes.ts"
import { mandateRoutes } from "./MandateRoutes.ts"
import { operationsRoutes } from "./OperationsRoutes.ts"
import { passkeyRoutes } from "./PasskeyRoutes.ts"
import { webhookRoutes } from "./WebhookRoutes.ts"

export interface ApiServerOptions {
  /** 0 lets the system choose. */
  readonly port: number
  /** Address to listen on. Default: all of them. */
  readonly host?: string
  /** Whose word on the client's address counts. Default: nobody's. */
  readonly trustedProxies?: TrustedProxies
  /** In milliseconds, for tests. Default 30,000. */
  readonly requestTimeoutMs?: number
}

/** Every group of the API has its routes here. */
const groupsOfRoutes = Layer.mergeAll(
  mandateRoutes,
  authorizationRoutes,
  eventRoutes,
  evidenceRoutes,
  passkeyRoutes,
  webhookRoutes,
  keySetRoutes,
  operationsRoutes
)

const HSTS = "max-age=31536000"

const headersOf = (baseUrl: string): Readonly<Record<string, string>> => ({
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  ...(baseUrl.startsWith("https:") ? { "strict-transport-security": HSTS } : {})
})

const groups = Object.values(Api.groups) as ReadonlyArray<HttpApiGroup.Constraint>

/** The API's listener (parts 1 to 9, without the approval origin). The store and the other ports are provided outside of it. */
export const layer = (options: ApiServerOptions) =>
  Layer.unwrap(
    Effect.map(Deployment, ({ baseUrl }) =>
      httpListener(Layer.merge(groupsOfRoutes, documentRoutes(baseUrl)), {
        ...options,
        baseUrl,
        routes: makeRouteTable([...groups.flatMap(routesOf), ...documentPaths]),
        headers: headersOf(baseUrl)
      })
    )
  )
