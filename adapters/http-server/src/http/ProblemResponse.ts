import {
  MAX_PROBLEM_ERRORS,
  type MemberFault,
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  type Problem,
  type ProblemCode,
  problemPath
} from "@svc/protocol/Problem"
import { Data } from "effect"
import { HttpServerResponse } from "effect/http"
import type { RequestFacts } from "./CurrentRequest.ts"

/** The content of a refusal. */
export interface RefusalFacts {
  readonly code: ProblemCode
  /** What is wrong with this request. Default: the general cause of the problem. */
  readonly detail?: string
  readonly errors?: ReadonlyArray<MemberFault>
  readonly currentState?: string
  readonly resourceId?: string
  /** Additional response headers, in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A request that is answered with a problem (part 2). */
export class Refused extends Data.TaggedError("Refused")<RefusalFacts> {}

/** The problem document of a refusal, with at most `MAX_PROBLEM_ERRORS` errors (part 1). */
export const problemOf = (
  refused: RefusalFacts,
  facts: Pick<RequestFacts, "requestId" | "baseUrl" | "route">
): Problem => {
  const kind = PROBLEMS[refused.code]
  return {
    type: facts.baseUrl + problemPath(refused.code),
    title: kind.title,
    status: kind.status,
    detail: refused.detail ?? kind.cause,
    ...(facts.route === undefined ? {} : { instance: facts.route }),
    code: refused.code,
    request_id: facts.requestId,
    retryable: kind.retryable,
    ...(refused.errors === undefined ? {} : { errors: refused.errors.slice(0, MAX_PROBLEM_ERRORS) }),
    ...(refused.currentState === undefined ? {} : { current_state: refused.currentState }),
    ...(refused.resourceId === undefined ? {} : { resource_id: refused.resourceId })
  }
}

/** A 401 must name the authentication scheme. */
const headersOf = (refused: Refused): Readonly<Record<string, string>> =>
  PROBLEMS[refused.code].status === 401
    ? { "www-authenticate": "Bearer", ...refused.headers }
    : (refused.headers ?? {})

/** The response to a refused request; records the code of the problem for the log line. */
export const respondWithProblem = (
  refused: Refused,
  facts: RequestFacts
): HttpServerResponse.HttpServerResponse => {
  facts.problem = refused.code
  const problem = problemOf(refused, facts)
  return HttpServerResponse.text(JSON.stringify(problem), {
    status: problem.status,
    contentType: PROBLEM_MEDIA_TYPE,
    headers: headersOf(refused)
  })
}
