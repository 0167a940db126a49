import { PROBLEMS, type ProblemCode } from "@svc/protocol/Problem"
import type { ServiceMetrics } from "./ServiceMetrics.ts"

const MILLISECONDS_PER_SECOND = 1000

/** The route of requests whose path no route has. */
export const UNMATCHED = "unmatched"
/** The method of requests that were refused before it was known, and of those that no client sends for good reasons. */
export const OTHER_METHOD = "other"

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"])

/** What is known of a request that has ended. */
interface EndedRequest {
  readonly route: string | undefined
  readonly method: string
  readonly status: number
  readonly problem: string | undefined
}

/** Counts and times requests as they begin and end. */
export const meterRequests = ({
  problems,
  requestSeconds,
  requests,
  requestsInFlight
}: ServiceMetrics["http"]) => ({
  began: () => {
    const began = performance.now()
    requestsInFlight.add(1)
    return ({ method, problem, route = UNMATCHED, status }: EndedRequest): void => {
      const known = METHODS.has(method) ? method : OTHER_METHOD
      requestsInFlight.add(-1)
      requests.add(1, route, known, String(status))
      requestSeconds.observe((performance.now() - began) / MILLISECONDS_PER_SECOND, route, known)
      if (problem !== undefined) problems.add(1, problem)
    }
  },
  refused: (code: ProblemCode): void => {
    requests.add(1, UNMATCHED, OTHER_METHOD, String(PROBLEMS[code].status))
    problems.add(1, code)
  }
})
