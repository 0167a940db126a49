import { setTimeout } from "node:timers/promises"
import { SvcError } from "svc"

/** Makes a call again while that may help, at most five times. The call must have an idempotency key if it writes. */
export const withRetries = async <A>(call: () => Promise<A>): Promise<A> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof SvcError) || !error.retryable || attempt === 5) throw error
      await setTimeout((error.retryAfterSeconds ?? 1) * 1000)
    }
  }
}
