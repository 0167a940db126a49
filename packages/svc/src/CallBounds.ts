import { SvcError } from "@svc/client"
import {
  abortedBeforehand,
  BACKOFF_DEFAULT,
  checkLimits,
  type RequestOptions,
  TIMER_MAX_MILLISECONDS,
  TimeIsOver,
  withRetries,
  withTimeLimit
} from "@svc/client/calls"
import type { Organization } from "@svc/domain/organization/Organization"
import type { DomainRefusal } from "@svc/domain/programs/RefusalProblem"
import type { Effect } from "effect"
import type { Services } from "./ServiceRuntime.ts"

/** A program of an organization. */
export type Program<A> = (organization: Organization) => Effect.Effect<A, DomainRefusal, Services>

/** Runs a program of an organization, and rejects with its refusal as an `SvcError`. */
export type RunFor = <A>(
  program: Program<A>,
  options: { readonly idempotencyKey?: string | undefined; readonly signal?: AbortSignal | undefined }
) => Promise<A>

/** How one call is run, its options carried out. */
export type Caller = <A>(program: Program<A>, options?: RequestOptions, idempotencyKey?: string) => Promise<A>

const UNKNOWN = "Whether it was carried out is unknown: repeat it with the same input and idempotencyKey"

/** The error of a call that was not waited for. */
const givenUp = (
  code: "aborted" | "timeout",
  reason: string,
  idempotencyKey: string | undefined,
  cause: unknown
): SvcError =>
  new SvcError({
    code,
    message: idempotencyKey === undefined ? reason : `${reason}. ${UNKNOWN}`,
    retryable: code === "timeout",
    idempotencyKey,
    cause
  })

const aborted = (idempotencyKey: string | undefined, reason: unknown): SvcError =>
  givenUp("aborted", "The call was aborted", idempotencyKey, reason)

/** Runs calls in turn with what their options say: a time limit, retries and a signal. Without any a call is just run. */
export const boundedCalls =
  (runFor: RunFor): Caller =>
  async <A>(program: Program<A>, options: RequestOptions = {}, idempotencyKey?: string): Promise<A> => {
    checkLimits(options)
    const { retries = 0, signal, timeout } = options
    if (signal?.aborted) throw abortedBeforehand(signal.reason)
    const once = (limit?: AbortSignal) => runFor(program, { idempotencyKey, signal: limit })
    const isBounded = timeout !== undefined || signal !== undefined
    const attempt = async (): Promise<A | SvcError> => {
      try {
        return await (isBounded ? withTimeLimit(timeout ?? TIMER_MAX_MILLISECONDS, signal, once) : once())
      } catch (cause) {
        // Before all else: the reason of an abort may be the error of another call.
        if (signal?.aborted && cause === signal.reason) return aborted(idempotencyKey, cause)
        if (cause instanceof SvcError) return cause
        if (!(cause instanceof TimeIsOver)) throw cause
        return givenUp("timeout", `No result: ${cause.message}`, idempotencyKey, cause)
      }
    }
    const abortedBecause = (reason: unknown) => aborted(idempotencyKey, reason)
    return withRetries({ retries, backoff: BACKOFF_DEFAULT, signal, abortedBecause }, attempt)
  }

/**
 * Runs calls within a host's transaction, where none is given up or repeated: after a failure only the host can say whether its
 * transaction goes on.
 */
export const callsWithinTransaction =
  (runFor: RunFor): Caller =>
  async (program, { retries, signal, timeout } = {}, idempotencyKey) => {
    if ((retries ?? 0) !== 0 || signal !== undefined || timeout !== undefined)
      throw new SvcError({
        code: "invalid_argument",
        message: "retries, timeout and signal have no meaning within a transaction: roll it back instead"
      })
    return runFor(program, { idempotencyKey })
  }
