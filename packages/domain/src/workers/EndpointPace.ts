import { makeLeastRecentlySet } from "../engine/LeastRecentlySet.ts"
import { type AttemptResult, isSuccess } from "../webhook/WebhookDelivery.ts"

/** Most attempts under way of an endpoint that responds quickly, over all workers. */
export const QUICK_ATTEMPTS_PER_ENDPOINT = 192
/** Attempts under way times their mean latency, in milliseconds, that an endpoint's bound is derived from. */
const ATTEMPT_MILLISECONDS_PER_ENDPOINT = 6400
/** Weight of the latest attempt in an endpoint's mean latency. */
const LATEST_WEIGHT = 1 / 8
/** Endpoints whose latency is remembered: those that had attempts most recently. */
const ENDPOINTS_REMEMBERED = 256

/**
 * How quickly endpoints respond, as one worker sees it, and how many attempts each may therefore have under way: the quicker,
 * the more. An attempt that fails, by its status or without one, makes its endpoint start over from the common bound.
 */
export const makePace = () => {
  const latencies = makeLeastRecentlySet<number>(ENDPOINTS_REMEMBERED)
  return {
    ended: (endpointId: string, { durationMs, status }: AttemptResult): void => {
      const before = latencies.get(endpointId) ?? durationMs
      if (isSuccess(status)) latencies.set(endpointId, before + (durationMs - before) * LATEST_WEIGHT)
      else latencies.delete(endpointId)
    },
    /** The bounds above `common`, none of them above `most`. */
    bounds: (common: number, most: number): ReadonlyMap<string, number> => {
      const bounds = new Map<string, number>()
      for (const [endpointId, latency] of latencies.entries()) {
        const wanted = Math.floor(ATTEMPT_MILLISECONDS_PER_ENDPOINT / Math.max(latency, 1))
        const bound = Math.min(wanted, most, QUICK_ATTEMPTS_PER_ENDPOINT)
        if (bound > common) bounds.set(endpointId, bound)
      }
      return bounds
    }
  }
}
