import type { Level, Rate } from "./TokenBuckets.ts"

/**
 * The `RateLimit` headers of the IETF draft, and the three of its earlier versions, which more clients read. The reset is
 * when the quota is full again or, in a refusal, when the next request is allowed, like `Retry-After`.
 */
export const rateLimitHeaders = (
  policy: "api-key" | "address",
  rate: Rate,
  level: Level,
  allowed: boolean
): Readonly<Record<string, string>> => {
  const window = Math.max(1, Math.ceil(rate.burst / rate.rate))
  const remaining = allowed ? level.remaining : 0
  const seconds = allowed ? level.secondsToFull : Math.max(1, level.secondsToNext)
  return {
    ...(allowed ? {} : { "retry-after": String(seconds) }),
    ratelimit: `"${policy}";r=${remaining};t=${seconds}`,
    "ratelimit-policy": `"${policy}";q=${rate.burst};w=${window}`,
    "ratelimit-limit": String(rate.burst),
    "ratelimit-remaining": String(remaining),
    "ratelimit-reset": String(seconds)
  }
}
