import { type Backoff, retryDelay } from "./RetryDelay.ts"
import { SvcError } from "./SvcError.ts"
import { sleep } from "./TimeLimit.ts"

export interface RetrySettings {
  /** Attempts after the first. */
  readonly retries: number
  readonly backoff: Backoff
  /** Ends the waits between attempts. */
  readonly signal: AbortSignal | undefined
  /** The error of a call that the signal ended. */
  readonly abortedBecause: (reason: unknown) => SvcError
}

/** Makes attempts until one succeeds or fails for good, the retries are used up, or the caller gives up. */
export const withRetries = async <A>(
  { abortedBecause, backoff, retries, signal }: RetrySettings,
  attempt: () => Promise<A | SvcError>
): Promise<A> => {
  for (let retry = 0; ; retry++) {
    if (signal?.aborted) throw abortedBecause(signal.reason)
    const answer = await attempt()
    if (!(answer instanceof SvcError)) return answer
    if (!answer.retryable || retry >= retries) throw answer
    const delay = retryDelay(retry, answer.retryAfter, backoff, Math.random)
    if (delay === undefined) throw answer
    await sleep(delay, signal).catch((reason) => {
      throw abortedBecause(reason)
    })
  }
}
