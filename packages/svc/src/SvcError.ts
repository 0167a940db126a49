import { SvcError } from "@svc/client"
import type { ProblemFacts } from "@svc/domain/programs/RefusalProblem"
import { MAX_PROBLEM_ERRORS, type MemberFault, PROBLEMS } from "@svc/protocol/Problem"

const textOfFault = ({ detail, pointer }: MemberFault): string => `${pointer || "The value"}: ${detail}`

/** The error of a refused call: code, status and sentences are those of the HTTP interface (part 2). */
export const svcErrorOf = (
  { code, currentState, detail, errors = [], resourceId, retryAfterSeconds }: ProblemFacts,
  more: {
    readonly idempotencyKey?: string | undefined
    readonly retryable?: boolean
    readonly cause?: unknown
  } = {}
): SvcError => {
  const { cause, retryable, status } = PROBLEMS[code]
  const faults = errors.slice(0, MAX_PROBLEM_ERRORS)
  return new SvcError({
    code,
    message: [detail ?? cause, ...faults.map(textOfFault)].join(" "),
    status,
    retryable,
    errors: faults,
    currentState,
    resourceId,
    retryAfter: retryAfterSeconds,
    ...more
  })
}
