import { SvcError } from "./SvcError.ts"
import { TIMER_MAX_MILLISECONDS, TimeIsOver, withTimeLimit } from "./TimeLimit.ts"
import type { WriteOptions } from "./Transport.ts"

/**
 * Waits for a function of the caller's own that comes before anything is sent, for no longer than the call's `timeout`, and
 * not after its `signal`. What the function rejects with is passed on as it is.
 */
export const callerWork = async <A>(
  name: string,
  work: () => A | Promise<A>,
  { idempotencyKey, signal, timeout = TIMER_MAX_MILLISECONDS }: WriteOptions
): Promise<A> => {
  try {
    return await withTimeLimit(timeout, signal, async () => work())
  } catch (cause) {
    const failure = (code: "aborted" | "timeout", why: string) =>
      new SvcError({
        code,
        message: `Nothing was sent, since ${why} before ${name} had ended`,
        retryable: code === "timeout",
        idempotencyKey,
        cause
      })
    if (signal?.aborted) throw failure("aborted", "the call was aborted")
    throw cause instanceof TimeIsOver ? failure("timeout", cause.message) : cause
  }
}
