import {
  type DomainRefusal,
  logUnavailable,
  type ProblemFacts,
  problemOfRefusal
} from "@svc/domain/programs/RefusalProblem"
import {
  MAX_PROBLEM_ERRORS,
  PROBLEM_MEDIA_TYPE,
  PROBLEMS,
  type Problem,
  problemPath
} from "@svc/protocol/Problem"
import { Data, Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { RequestFacts } from "./CurrentRequest.ts"

/** The content of a refusal. */
export interface RefusalFacts extends ProblemFacts {
  /** Additional response headers, in lower case. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A request that is answered with a problem (part 2). */
export class Refused extends Data.TaggedError("Refused")<RefusalFacts> {}

/** Turns the refusals of a program into problems, and logs why something is unavailable. */
export const refusing = <A, R>(
  program: Effect.Effect<A, DomainRefusal | Refused, R>
): Effect.Effect<A, Refused, R> =>
  Effect.catch(program, (refusal) =>
    refusal._tag === "Refused"
      ? Effect.fail(refusal)
      : Effect.andThen(logUnavailable(refusal), Effect.fail(new Refused(problemOfRefusal(refusal))))
  )

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

/** The headers of a problem. A 401 must name the authentication scheme. */
export const problemHeaders = ({
  code,
  headers,
  retryAfterSeconds
}: RefusalFacts): Readonly<Record<string, string>> => ({
  ...(PROBLEMS[code].status === 401 ? { "www-authenticate": "Bearer" } : {}),
  ...(retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) }),
  ...headers
})

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
    headers: problemHeaders(refused)
  })
}
