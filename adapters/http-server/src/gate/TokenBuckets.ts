import { makeLeastRecentlySet } from "@svc/domain/engine/LeastRecentlySet"

/** A token bucket: it refills at `rate` tokens a second and holds at most `burst`. */
export interface Rate {
  readonly rate: number
  readonly burst: number
}

const MAX_RATE = 1_000_000

const isWholeUpTo = (value: number, most: number): boolean =>
  Number.isInteger(value) && value >= 1 && value <= most

/** Whether a rate can be set: whole numbers from 1, the rate up to 1,000,000 and the burst up to twice that. */
export const isRate = ({ burst, rate }: Rate): boolean =>
  isWholeUpTo(rate, MAX_RATE) && isWholeUpTo(burst, 2 * MAX_RATE)

/** Buckets that are kept; an evicted one is full again when its owner returns. */
const MAX_BUCKETS = 10_000

const MILLISECONDS_PER_SECOND = 1000

interface Bucket {
  readonly tokens: number
  /** In milliseconds. */
  readonly filledAt: number
}

/** How full a bucket is. */
export interface Level {
  /** Whole tokens left. */
  readonly remaining: number
  /** Whole seconds until a token is available; 0 if one is. */
  readonly secondsToNext: number
  /** Whole seconds until the bucket is full. */
  readonly secondsToFull: number
}

/** One bucket for each owner, full at first. Instants are in milliseconds. */
export interface TokenBuckets {
  readonly level: (owner: string, now: number) => Level
  /** Takes a token and returns the level after it. The balance may go negative, down to `-burst`. */
  readonly spend: (owner: string, now: number) => Level
}

export const makeTokenBuckets = (rate: Rate): TokenBuckets => {
  const buckets = makeLeastRecentlySet<Bucket>(MAX_BUCKETS)
  const tokensOf = (owner: string, now: number): number => {
    const { filledAt, tokens } = buckets.get(owner) ?? { tokens: rate.burst, filledAt: now }
    // The clock may have been set back.
    const seconds = Math.max(0, now - filledAt) / MILLISECONDS_PER_SECOND
    return Math.min(rate.burst, tokens + seconds * rate.rate)
  }
  const secondsUntil = (target: number, tokens: number): number =>
    Math.max(0, Math.ceil((target - tokens) / rate.rate))
  const levelOf = (tokens: number): Level => ({
    remaining: Math.max(0, Math.floor(tokens)),
    secondsToNext: secondsUntil(1, tokens),
    secondsToFull: secondsUntil(rate.burst, tokens)
  })
  return {
    level: (owner, now) => levelOf(tokensOf(owner, now)),
    spend: (owner, now) => {
      const tokens = Math.max(-rate.burst, tokensOf(owner, now) - 1)
      buckets.set(owner, { tokens, filledAt: now })
      return levelOf(tokens)
    }
  }
}
