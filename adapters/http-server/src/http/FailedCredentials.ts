import { createHash } from "node:crypto"
import { Clock, Context, Effect, Layer } from "effect"
import { networkOf } from "./ClientAddress.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { Refused } from "./ProblemResponse.ts"
import { rateLimitHeaders } from "./RateLimitHeaders.ts"
import { makeTokenBuckets, type Rate } from "./TokenBuckets.ts"

/** Requests without a good API key or approval link that one address may make. */
export const FAILED_CREDENTIALS_RATE: Rate = { rate: 20, burst: 200 }

/** How many credentials are remembered as good; the one that was used least recently is forgotten first. */
const MAX_REMEMBERED = 10_000

/**
 * Bounds what requests with a wrong credential, or none, cost the store, by the address that they come from. Only
 * failures count, and a credential that was good when it was last used is looked up whatever its address has done: so nobody is
 * locked out by somebody else behind the same address.
 */
export class FailedCredentials extends Context.Service<
  FailedCredentials,
  {
    /**
     * Looks a credential up, unless its address has failed too often: then it is `rate_limited`, and nothing is looked up.
     * Of the faults of the look-up, those that `isWrong` names count against the address.
     */
    readonly lookUp: <A, E, R>(
      credential: string | undefined,
      look: Effect.Effect<A, E, R>,
      isWrong: (fault: E) => boolean
    ) => Effect.Effect<A, E | Refused, R>
    /** Takes a credential for good that this process has just given out, as if it had been used. */
    readonly remember: (credential: string) => Effect.Effect<void>
  }
>()("@svc/http-server/FailedCredentials") {}

/** No limit. */
export const layerOff: Layer.Layer<FailedCredentials> = Layer.succeed(
  FailedCredentials,
  FailedCredentials.of({ lookUp: (_credential, look) => look, remember: () => Effect.void })
)

/** What is remembered is no credential. */
const digest = (credential: string): string => createHash("sha256").update(credential).digest("base64url")

/** Digests of credentials that were good when they were last used. */
const makeMemory = () => {
  const known = new Set<string>()
  return {
    has: (name: string) => known.has(name),
    forget: (name: string) => void known.delete(name),
    remember: (name: string) => {
      // Deleted first, so that the order of the set is that of their last use.
      known.delete(name)
      if (known.size >= MAX_REMEMBERED) known.delete(known.values().next().value!)
      known.add(name)
    }
  }
}

/** In this process, one bucket for each address (in IPv6: for each /64). */
export const layer = (rate: Rate = FAILED_CREDENTIALS_RATE): Layer.Layer<FailedCredentials> =>
  Layer.sync(FailedCredentials, () => {
    const buckets = makeTokenBuckets(rate)
    const memory = makeMemory()
    const now = Clock.currentTimeMillis
    const refusal = Effect.fnUntraced(function* (address: string) {
      const level = buckets.level(address, yield* now)
      if (level.remaining > 0) return
      return yield* new Refused({
        code: "rate_limited",
        detail: "Your address has sent too many requests without a valid credential.",
        headers: rateLimitHeaders("address", rate, level, false)
      })
    })
    return FailedCredentials.of({
      remember: (credential) => Effect.sync(() => memory.remember(digest(credential))),
      lookUp: (credential, look, isWrong) =>
        Effect.gen(function* () {
          const address = networkOf((yield* CurrentRequest).clientAddress)
          const name = credential === undefined ? undefined : digest(credential)
          if (name === undefined || !memory.has(name)) yield* refusal(address)
          const failed = Effect.map(now, (instant) => {
            buckets.spend(address, instant)
            if (name !== undefined) memory.forget(name)
          })
          const found = yield* Effect.tapError(look, (fault) => (isWrong(fault) ? failed : Effect.void))
          if (name !== undefined) memory.remember(name)
          return found
        })
    })
  })
