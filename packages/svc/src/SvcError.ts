import type { RefusalFacts } from "@svc/http-server/http/ProblemResponse"
import { MAX_PROBLEM_ERRORS, type MemberFault, PROBLEMS, type ProblemCode } from "@svc/protocol/Problem"

/**
 * Why a call is refused: the same codes, statuses and sentences that the HTTP interface answers (part 2). A refused call has
 * changed nothing.
 *
 * @example
 * ```ts
 * import { SvcError } from "svc"
 *
 * try {
 *   await shop.mandates.revoke(mandate.id, { reason: "closed" }, { idempotencyKey: "revoke-17" })
 * } catch (error) {
 *   if (!(error instanceof SvcError) || error.code !== "state_conflict") throw error
 * }
 * ```
 */
export class SvcError extends Error {
  override readonly name = "SvcError"
  readonly code: ProblemCode
  /** The HTTP status of the code. */
  readonly status: number
  /** Whether the same call, with the same idempotency key, may succeed later. */
  readonly retryable: boolean
  /** The members that are at fault, by JSON Pointer, of `validation_failed`. */
  readonly errors: ReadonlyArray<MemberFault>
  /** State and identifier of the resource in a conflict. */
  readonly currentState: string | undefined
  readonly resourceId: string | undefined
  /** When to try again, in seconds, where that is known. */
  readonly retryAfterSeconds: number | undefined

  constructor(refusal: RefusalFacts) {
    const { cause, retryable, status } = PROBLEMS[refusal.code]
    const errors = refusal.errors?.slice(0, MAX_PROBLEM_ERRORS) ?? []
    super([refusal.detail ?? cause, ...errors.map(textOfFault)].join(" "))
    this.code = refusal.code
    this.status = status
    this.retryable = retryable
    this.errors = errors
    this.currentState = refusal.currentState
    this.resourceId = refusal.resourceId
    const after = refusal.headers?.["retry-after"]
    this.retryAfterSeconds = after === undefined ? undefined : Number(after)
  }
}

const textOfFault = ({ detail, pointer }: MemberFault): string => `${pointer || "The value"}: ${detail}`
