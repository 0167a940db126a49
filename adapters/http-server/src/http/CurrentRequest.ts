import { Context } from "effect"
import type { TraceContext } from "./TraceContext.ts"

/**
 * The facts of one request, for its log line and its problems. Gates and routes add to them. They must not hold a secret or
 * a raw path.
 */
export interface RequestFacts {
  readonly requestId: string
  /** Base URL of the API and its problem pages, without a trailing slash. */
  readonly baseUrl: string
  /** Template of the route that matched, `/v1/mandates/{mandate_id}`. */
  readonly route: string | undefined
  /** Empty when unknown. */
  readonly clientAddress: string
  /** The request id that the caller sent, if it may be logged. */
  readonly clientRequestId?: string
  /** The span of the request, or else that of the caller that it is part of (W3C Trace Context). */
  trace?: TraceContext
  /** The `RateLimit` headers of the response. */
  rateLimit?: Readonly<Record<string, string>>
  /** The code of the problem in the response. */
  problem?: string
  organizationId?: string
  apiKeyId?: string
  mandateId?: string
  authorizationId?: string
  approvalSessionId?: string
}

/** The request being served. Outside a request the facts are empty. */
export const CurrentRequest = Context.Reference<RequestFacts>("@svc/http-server/http/CurrentRequest", {
  defaultValue: () => ({ requestId: "", baseUrl: "", route: undefined, clientAddress: "" })
})

/** The log annotations of a request; absent facts are left out. */
export const annotationsOf = (facts: RequestFacts): Record<string, string> => {
  const annotations: Record<string, string> = { request_id: facts.requestId }
  const add = (name: string, value: string | undefined) => {
    if (value !== undefined) annotations[name] = value
  }
  add("client_request_id", facts.clientRequestId)
  add("trace_id", facts.trace?.traceId)
  add("span_id", facts.trace?.spanId)
  add("route", facts.route)
  add("problem", facts.problem)
  add("organization_id", facts.organizationId)
  add("api_key_id", facts.apiKeyId)
  add("mandate_id", facts.mandateId)
  add("authorization_id", facts.authorizationId)
  add("approval_session_id", facts.approvalSessionId)
  return annotations
}
