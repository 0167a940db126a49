import type { Level, Rate } from "./TokenBuckets.ts"

/**
 * What a limit says in an answer: the `RateLimit` fields of the IETF draft, and the three that they had before, which more
 * clients read. They name the seconds until all of the quota is there again, those of a refusal the seconds until a
 * request is allowed, as its `Retry-After` does.
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
