import type { SvcError } from "@svc/client"
import type { ProblemFacts } from "@svc/domain/programs/RefusalProblem"
import { problemHeaders, problemOf } from "@svc/http-server/http/ProblemResponse"
import { makeRequestId, REQUEST_ID_HEADER } from "@svc/http-server/http/RequestId"
import { PROBLEM_MEDIA_TYPE } from "@svc/protocol/Problem"
import { ServiceClosed } from "./ServiceRuntime.ts"
import { svcErrorOf } from "./SvcError.ts"

/* What comes to a service that is closed, or whose store cannot be opened now. */

/** `Retry-After` while the store cannot be opened, in seconds. */
const NOT_OPEN_RETRY_SECONDS = 1

const notOpen = (fault: unknown): ProblemFacts => ({
  code: "store_unavailable",
  ...(fault instanceof ServiceClosed ? { detail: "The service is closed." } : {}),
  retryAfterSeconds: NOT_OPEN_RETRY_SECONDS
})

/** The error of a call. A service that was closed stays so, unlike one whose store is away. */
export const notOpenError = (fault: unknown, idempotencyKey?: string): SvcError =>
  svcErrorOf(notOpen(fault), {
    idempotencyKey,
    cause: fault,
    ...(fault instanceof ServiceClosed ? { retryable: false } : {})
  })

/** The response to a request. */
export const notOpenResponse = (fault: unknown, baseUrl: string): Response => {
  const requestId = makeRequestId()
  const refused = notOpen(fault)
  const problem = problemOf(refused, { requestId, baseUrl, route: undefined })
  const headers = {
    "content-type": PROBLEM_MEDIA_TYPE,
    [REQUEST_ID_HEADER]: requestId,
    ...problemHeaders(refused)
  }
  return new Response(JSON.stringify(problem), { status: problem.status, headers })
}
