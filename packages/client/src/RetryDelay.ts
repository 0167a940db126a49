/** Longest `Retry-After` that is waited for; a longer one is left to the caller. */
export const RETRY_AFTER_MAX_SECONDS = 60

const MILLISECONDS_PER_SECOND = 1000

/** How long the client waits between attempts, in milliseconds. */
export interface Backoff {
  /** Bound of the wait before the first retry; it doubles with each. Default 250. */
  readonly initial: number
  /** Bound of every wait. Default 8,000. */
  readonly max: number
}

/** Seconds that a `Retry-After` asks for, given as a number or a date; `undefined` for one that says neither. */
export const readRetryAfter = (header: string | null, now: number): number | undefined => {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header)
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - now) / MILLISECONDS_PER_SECOND))
}

/**
 * Milliseconds before the retry of this number, counted from 0: exponential backoff with full jitter, on top of what the
 * service asked for. `undefined`: the service asked for more than {@link RETRY_AFTER_MAX_SECONDS}.
 */
export const retryDelay = (
  retry: number,
  retryAfter: number | undefined,
  backoff: Backoff,
  random: () => number
): number | undefined => {
  if (retryAfter !== undefined && retryAfter > RETRY_AFTER_MAX_SECONDS) return undefined
  const bound = Math.min(backoff.max, backoff.initial * 2 ** retry)
  return (retryAfter ?? 0) * MILLISECONDS_PER_SECOND + random() * bound
}
