/** A token bucket: `rate` tokens a second, at most `burst` at once. */
export interface Rate {
  readonly rate: number
  readonly burst: number
}

/** From this many buckets on, the one that was used least recently is forgotten, and so is full again. */
const MAX_BUCKETS = 10_000

const MILLISECONDS_PER_SECOND = 1000

interface Bucket {
  tokens: number
  /** In milliseconds. */
  filledAt: number
}

/** A bucket as it stands. */
export interface Level {
  /** Whole tokens that are left. */
  readonly remaining: number
  /** Whole seconds until there is one; 0 while there is. */
  readonly secondsToNext: number
  /** Whole seconds until the bucket is full. */
  readonly secondsToFull: number
}

/** Buckets of one rate, full at first. Instants are in milliseconds. */
export interface TokenBuckets {
  readonly level: (owner: string, now: number) => Level
  /** Takes a token, and answers what is left. It may become a debt, of at most a burst, which time pays first. */
  readonly spend: (owner: string, now: number) => Level
}

export const makeTokenBuckets = (rate: Rate): TokenBuckets => {
  const buckets = new Map<string, Bucket>()
  const tokensOf = (owner: string, now: number): number => {
    const { filledAt, tokens } = buckets.get(owner) ?? { tokens: rate.burst, filledAt: now }
    // A clock that turned back takes no tokens away.
    const seconds = Math.max(0, now - filledAt) / MILLISECONDS_PER_SECOND
    return Math.min(rate.burst, tokens + seconds * rate.rate)
  }
  const secondsFrom = (tokens: number, to: number): number =>
    Math.max(0, Math.ceil((to - tokens) / rate.rate))
  const levelOf = (tokens: number): Level => ({
    remaining: Math.max(0, Math.floor(tokens)),
    secondsToNext: secondsFrom(tokens, 1),
    secondsToFull: secondsFrom(tokens, rate.burst)
  })
  return {
    level: (owner, now) => levelOf(tokensOf(owner, now)),
    spend: (owner, now) => {
      const tokens = Math.max(-rate.burst, tokensOf(owner, now) - 1)
      // Deleted first, so that the order of the map is that of their last use.
      buckets.delete(owner)
      if (buckets.size >= MAX_BUCKETS) buckets.delete(buckets.keys().next().value!)
      buckets.set(owner, { tokens, filledAt: now })
      return levelOf(tokens)
    }
  }
}
