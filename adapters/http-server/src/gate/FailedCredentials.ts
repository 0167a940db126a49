import { hash } from "node:crypto"
import { makeLeastRecentlySet } from "@svc/domain/engine/LeastRecentlySet"
import { Clock, Context, Effect, Layer } from "effect"
import { networkOf } from "../http/ClientAddress.ts"
import { CurrentRequest } from "../http/CurrentRequest.ts"
import { Refused } from "../http/ProblemResponse.ts"
import { rateLimitHeaders } from "./RateLimitHeaders.ts"
import { makeTokenBuckets, type Rate } from "./TokenBuckets.ts"

/** How many requests without a valid API key or approval link one address may make. */
export const FAILED_CREDENTIALS_RATE: Rate = { rate: 20, burst: 200 }

/** How many credentials are remembered as valid. */
const MAX_REMEMBERED = 10_000

/**
 * Bounds what requests with an invalid or missing credential cost the store, per client address. Only failures count, and
 * a credential that was valid when last used is looked up whatever its address has done, so that no caller is locked out by
 * another behind the same address.
 */
export class FailedCredentials extends Context.Service<
  FailedCredentials,
  {
    /**
     * Runs the look-up of a credential; an address with too many failures is refused with `rate_limited` instead. A
     * failure of the look-up for which `isInvalid` holds counts against the address.
     */
    readonly lookUp: <A, E, R>(
      credential: string | undefined,
      look: Effect.Effect<A, E, R>,
      isInvalid: (failure: E) => boolean
    ) => Effect.Effect<A, E | Refused, R>
    /** Remembers a credential that this process has just issued as valid. */
    readonly remember: (credential: string) => Effect.Effect<void>
  }
>()("@svc/http-server/gate/FailedCredentials") {}

/** Every look-up runs. */
export const layerOff: Layer.Layer<FailedCredentials> = Layer.succeed(
  FailedCredentials,
  FailedCredentials.of({ lookUp: (_credential, look) => look, remember: () => Effect.void })
)

/** Credentials are remembered by digest, never in the clear. */
const digest = (credential: string): string => hash("sha256", credential, "base64url")

/** Counts in this process, with one bucket for each IPv4 address or IPv6 /64. */
export const layer = (rate: Rate = FAILED_CREDENTIALS_RATE): Layer.Layer<FailedCredentials> =>
  Layer.sync(FailedCredentials, () => {
    const buckets = makeTokenBuckets(rate)
    const valid = makeLeastRecentlySet<true>(MAX_REMEMBERED)
    const now = Clock.currentTimeMillis
    const refuseExhausted = Effect.fnUntraced(function* (address: string) {
      const level = buckets.level(address, yield* now)
      if (level.remaining > 0) return
      return yield* new Refused({
        code: "rate_limited",
        detail: "Your address has sent too many requests without a valid credential.",
        headers: rateLimitHeaders("address", rate, level, false)
      })
    })
    return FailedCredentials.of({
      remember: (credential) => Effect.sync(() => valid.set(digest(credential), true)),
      lookUp: (credential, look, isInvalid) =>
        Effect.gen(function* () {
          const { clientAddress } = yield* CurrentRequest
          const key = credential === undefined ? undefined : digest(credential)
          if (key === undefined || !valid.has(key)) yield* refuseExhausted(networkOf(clientAddress))
          const countFailure = Effect.map(now, (instant) => {
            buckets.spend(networkOf(clientAddress), instant)
            if (key !== undefined) valid.delete(key)
          })
          const found = yield* Effect.tapError(look, (failure) =>
            isInvalid(failure) ? countFailure : Effect.void
          )
          if (key !== undefined) valid.set(key, true)
          return found
        })
    })
  })
