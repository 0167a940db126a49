import { Context } from "effect"
import type { TraceContext } from "./TraceContext.ts"

/**
 * What the log line and the problems of one request say about it. The routes fill in what they learn;
 * nothing here may hold a secret or a raw path.
 */
export interface RequestFacts {
  readonly requestId: string
  /** Base address of the API, under which the problem pages are; without a trailing slash. */
  readonly baseUrl: string
  /** Template of the route that matched, `/v1/mandates/{mandate_id}`. */
  readonly route: string | undefined
  /** Where the request comes from, as far as the deployment's own proxies say. Empty when unknown. */
  readonly clientAddress: string
  /** The caller's own id of the request, as far as it may be logged. */
  readonly clientRequestId?: string
  /** The span of the caller that the request is part of (W3C Trace Context). */
  readonly trace?: TraceContext
  /** Headers that tell the caller what is left of its rate. */
  rateLimit?: Readonly<Record<string, string>>
  /** `code` of the problem that was answered. */
  problem?: string
  organizationId?: string
  apiKeyId?: string
  mandateId?: string
  authorizationId?: string
  approvalSessionId?: string
}

/** The request being served. Outside of a request the facts are empty. */
export const CurrentRequest = Context.Reference<RequestFacts>("@svc/http-server/CurrentRequest", {
  defaultValue: () => ({ requestId: "", baseUrl: "", route: undefined, clientAddress: "" })
})

/** What the log says about a request. Absent facts are left out. */
export const annotationsOf = (facts: RequestFacts): Record<string, string> =>
  Object.fromEntries(
    Object.entries({
      request_id: facts.requestId,
      client_request_id: facts.clientRequestId,
      trace_id: facts.trace?.traceId,
      span_id: facts.trace?.spanId,
      route: facts.route,
      problem: facts.problem,
      organization_id: facts.organizationId,
      api_key_id: facts.apiKeyId,
      mandate_id: facts.mandateId,
      authorization_id: facts.authorizationId,
      approval_session_id: facts.approvalSessionId
    }).filter((entry): entry is [string, string] => entry[1] !== undefined)
  )
