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

/** What a refusal says. */
export interface RefusalFacts {
  readonly code: ProblemCode
  /** What is wrong with this very request; by default the cause that every such problem has. */
  readonly detail?: string
  readonly errors?: ReadonlyArray<MemberFault>
  readonly currentState?: string
  readonly resourceId?: string
  /** Further response headers, in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A request that is answered with a problem (part 2). */
export class Refused extends Data.TaggedError("Refused")<RefusalFacts> {}

/** The problem body of a refusal. `errors` is cut at the 100 entries of part 1. */
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

/** Headers that a problem carries whatever it is about: a 401 always names the scheme. */
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
