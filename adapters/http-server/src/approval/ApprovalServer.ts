import { Deployment } from "@svc/domain/ports/Deployment"
import { Effect, Layer } from "effect"
import type { TrustedProxies } from "../http/ClientAddress.ts"
import { httpListener } from "../http/HttpListener.ts"
import { makeRouteTable } from "../http/RouteTable.ts"
import { approvalHeaders } from "./ApprovalHeaders.ts"
import { approvalPaths, approvalRoutes } from "./ApprovalRoutes.ts"

export interface ApprovalServerOptions {
  /** 0 lets the system choose. */
  readonly port: number
  /** Address to listen on. Default: all of them. */
  readonly host?: string
  /** Whose word on the client's address counts. Default: nobody's. */
  readonly trustedProxies?: TrustedProxies
  /** In milliseconds, for tests. Default 30,000. */
  readonly requestTimeoutMs?: number
}

/**
 * The listener of the approval origin (part 6): the hosted pages and nothing of the API. The token in its paths is a
 * bearer secret, so what is logged and traced here holds route templates. The store and the other ports are provided
 * outside of it.
 */
export const layer = (options: ApprovalServerOptions) =>
  Layer.unwrap(
    Effect.map(Deployment, ({ approvalBaseUrl, baseUrl }) =>
      httpListener(approvalRoutes, {
        ...options,
        baseUrl,
        routes: makeRouteTable(approvalPaths),
        headers: approvalHeaders(approvalBaseUrl)
      })
    )
  )
