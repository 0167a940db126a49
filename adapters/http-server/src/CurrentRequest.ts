import { Context } from "effect"

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
  defaultValue: () => ({ requestId: "", baseUrl: "", route: undefined })
})

/** What the log says about a request. Absent facts are left out. */
export const annotationsOf = (facts: RequestFacts): Record<string, string> =>
  Object.fromEntries(
    Object.entries({
      request_id: facts.requestId,
      route: facts.route,
      problem: facts.problem,
      organization_id: facts.organizationId,
      api_key_id: facts.apiKeyId,
      mandate_id: facts.mandateId,
      authorization_id: facts.authorizationId,
      approval_session_id: facts.approvalSessionId
    }).filter((entry): entry is [string, string] => entry[1] !== undefined)
  )
