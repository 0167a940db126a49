import { Deployment } from "@svc/domain/ports/Deployment"
import { Effect, Layer } from "effect"
import type { TrustedProxies } from "../http/ClientAddress.ts"
import { httpListener } from "../http/HttpListener.ts"
import { approvalHeaders } from "./ApprovalHeaders.ts"
import { approvalRoutes } from "./ApprovalRoutes.ts"

export interface ApprovalServerOptions {
  /** 0 lets the operating system choose. */
  readonly port: number
  /** Address to bind to. Default: all addresses of the machine. */
  readonly host?: string
  /** Proxies whose `X-Forwarded-For` is trusted. Default: none. */
  readonly trustedProxies?: TrustedProxies
  /** In milliseconds. Default 30,000. */
  readonly requestTimeoutMs?: number
}

/** The approval origin: its routes and the headers of every response. */
export const makeApprovalOrigin = Effect.map(Deployment, ({ approvalBaseUrl, baseUrl }) => ({
  routes: approvalRoutes,
  options: { baseUrl, headers: approvalHeaders(approvalBaseUrl) }
}))

/**
 * The listener of the approval origin (part 6), with the hosted pages and none of the API. Its paths contain bearer tokens,
 * so logs and traces hold route templates alone. The caller provides the store and the other ports.
 */
export const layer = (options: ApprovalServerOptions) =>
  Layer.unwrap(
    Effect.map(makeApprovalOrigin, (origin) => httpListener(origin.routes, { ...options, ...origin.options }))
  )
