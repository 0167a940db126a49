import { Clock, Context, Effect, Layer } from "effect"

/** A token bucket: `rate` tokens a second, at most `burst` at once. */
export interface Rate {
  readonly rate: number
  readonly burst: number
}

/** What each API key may ask unless the deployment says otherwise (part 9). */
export const DEFAULT_RATE: Rate = { rate: 100, burst: 200 }

/** From this many buckets on, the full ones are dropped: a full bucket remembers nothing. */
const SWEEP_AT = 10_000

const MILLISECONDS_PER_SECOND = 1000

/** Whether a request may go on; if not, in how many whole seconds one may. */
export type Taken =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly retryAfterSeconds: number }

const ALLOWED: Taken = { allowed: true }

interface Bucket {
  tokens: number
  filledAt: number
}

/** The request rate of each API key, in this process (part 9). */
export class RateLimit extends Context.Service<
  RateLimit,
  { readonly rate: Rate | undefined; readonly take: (apiKeyId: string) => Effect.Effect<Taken> }
>()("@svc/http-server/api/RateLimit") {}

/** No limit. */
export const layerOff: Layer.Layer<RateLimit> = Layer.succeed(
  RateLimit,
  RateLimit.of({ rate: undefined, take: () => Effect.succeed(ALLOWED) })
)

/** One bucket per API key, full at first. */
export const layer = (rate: Rate): Layer.Layer<RateLimit> =>
  Layer.sync(RateLimit, () => {
    const buckets = new Map<string, Bucket>()
    return RateLimit.of({
      rate,
      take: (apiKeyId) => Effect.map(Clock.currentTimeMillis, (now) => take(buckets, rate, apiKeyId, now))
    })
  })

const take = (buckets: Map<string, Bucket>, rate: Rate, apiKeyId: string, now: number): Taken => {
  const bucket = buckets.get(apiKeyId) ?? { tokens: rate.burst, filledAt: now }
  if (buckets.size >= SWEEP_AT && !buckets.has(apiKeyId)) sweep(buckets, rate, now)
  buckets.set(apiKeyId, bucket)
  bucket.tokens = tokensAt(bucket, rate, now)
  bucket.filledAt = now
  if (bucket.tokens < 1) {
    return { allowed: false, retryAfterSeconds: Math.max(1, Math.ceil((1 - bucket.tokens) / rate.rate)) }
  }
  bucket.tokens -= 1
  return ALLOWED
}

/** A clock that turned back takes no tokens away. */
const tokensAt = (bucket: Bucket, rate: Rate, now: number): number => {
  const seconds = Math.max(0, now - bucket.filledAt) / MILLISECONDS_PER_SECOND
  return Math.min(rate.burst, bucket.tokens + seconds * rate.rate)
}

const sweep = (buckets: Map<string, Bucket>, rate: Rate, now: number): void => {
  for (const [apiKeyId, bucket] of buckets) {
    if (tokensAt(bucket, rate, now) >= rate.burst) buckets.delete(apiKeyId)
  }
}

/**
 * Headers of a refusal: `Retry-After`, the `RateLimit` fields of the IETF draft, and the three that they
 * had before, which more clients read.
 */
export const rateLimitHeaders = (rate: Rate, retryAfterSeconds: number): Readonly<Record<string, string>> => {
  const window = Math.max(1, Math.ceil(rate.burst / rate.rate))
  return {
    "retry-after": String(retryAfterSeconds),
    ratelimit: `"api-key";r=0;t=${retryAfterSeconds}`,
    "ratelimit-policy": `"api-key";q=${rate.burst};w=${window}`,
    "ratelimit-limit": String(rate.burst),
    "ratelimit-remaining": "0",
    "ratelimit-reset": String(retryAfterSeconds)
  }
}
