import { Clock, Context, Effect, Layer } from "effect"
import * as FailedCredentials from "./FailedCredentials.ts"
import { rateLimitHeaders } from "./RateLimitHeaders.ts"
import { makeTokenBuckets, type Rate, type TokenBuckets } from "./TokenBuckets.ts"

export { isRate, type Rate } from "./TokenBuckets.ts"

/** Default request rate of an API key (part 9). */
export const DEFAULT_RATE: Rate = { rate: 100, burst: 200 }

/** Whether a request is within the limit, and the `RateLimit` headers of its response; none without a limit. */
export interface RateDecision {
  readonly allowed: boolean
  readonly headers: Readonly<Record<string, string>>
}

/** Limits the request rate of each API key, in this process (part 9). */
export class RateLimit extends Context.Service<
  RateLimit,
  { readonly take: (apiKeyId: string) => Effect.Effect<RateDecision> }
>()("@svc/http-server/gate/RateLimit") {}

const UNLIMITED: RateDecision = { allowed: true, headers: {} }

/** No limits: neither per API key nor on failed credentials. */
export const layerOff: Layer.Layer<RateLimit | FailedCredentials.FailedCredentials> = Layer.merge(
  Layer.succeed(RateLimit, RateLimit.of({ take: () => Effect.succeed(UNLIMITED) })),
  FailedCredentials.layerOff
)

/** One bucket per API key, and one per client address for failed credentials. */
export const layer = (
  rate: Rate,
  failures: Rate = FailedCredentials.FAILED_CREDENTIALS_RATE
): Layer.Layer<RateLimit | FailedCredentials.FailedCredentials> =>
  Layer.merge(
    Layer.sync(RateLimit, () => {
      const buckets = makeTokenBuckets(rate)
      return RateLimit.of({
        take: (apiKeyId) => Effect.map(Clock.currentTimeMillis, (now) => take(buckets, rate, apiKeyId, now))
      })
    }),
    FailedCredentials.layer(failures)
  )

const take = (buckets: TokenBuckets, rate: Rate, apiKeyId: string, now: number): RateDecision => {
  const before = buckets.level(apiKeyId, now)
  const allowed = before.remaining > 0
  const level = allowed ? buckets.spend(apiKeyId, now) : before
  return { allowed, headers: rateLimitHeaders("api-key", rate, level, allowed) }
}
