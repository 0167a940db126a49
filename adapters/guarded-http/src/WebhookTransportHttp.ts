import { TargetRefused, WebhookTransport } from "@svc/domain/ports/WebhookTransport"
import type { AttemptResult } from "@svc/domain/webhook/WebhookDelivery"
import { NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import { Clock, Effect, Exit, Layer, Scope } from "effect"
import {
  CONNECT_LIMIT_MS,
  exchange,
  type GuardedAnswer,
  type GuardedClientOptions,
  loadClient,
  WHOLE_LIMIT_MS
} from "./GuardedClient.ts"
import { ExchangeFailed } from "./GuardedConnection.ts"
import { dnsResolve } from "./NameResolver.ts"
import { checkTarget, type TargetGuard } from "./TargetGuard.ts"

/** How much of a response body is read and discarded: 16 KiB (part 8). */
export const DISCARD_MAX_BYTES = 16_384
/** How long a receiver may take to finish its response once the status is known, in milliseconds. */
export const DISCARD_LIMIT_MS = 1000

export interface WebhookTransportOptions extends Omit<GuardedClientOptions, "guard"> {
  readonly loopbackAllowed: boolean
  readonly resolve?: TargetGuard["resolve"]
  readonly isPublic?: TargetGuard["isPublic"]
  readonly wholeLimitMs?: number
  readonly discardLimitMs?: number
}

interface Settings extends GuardedClientOptions {
  readonly connectLimitMs: number
  readonly wholeLimitMs: number
  readonly discardLimitMs: number
}

const settingsOf = (options: WebhookTransportOptions): Settings => ({
  guard: {
    loopbackAllowed: options.loopbackAllowed,
    resolve: options.resolve ?? dnsResolve(),
    ...(options.isPublic === undefined ? {} : { isPublic: options.isPublic })
  },
  connectLimitMs: options.connectLimitMs ?? CONNECT_LIMIT_MS,
  wholeLimitMs: options.wholeLimitMs ?? WHOLE_LIMIT_MS,
  discardLimitMs: options.discardLimitMs ?? DISCARD_LIMIT_MS,
  ...(options.ca === undefined ? {} : { ca: options.ca })
})

/** Reads the rest of the response, since a receiver that is cut off in the middle would log an error. */
const discard = ({ body }: GuardedAnswer, { discardLimitMs }: Settings) =>
  Effect.tryPromise((signal) => body.dump({ limit: DISCARD_MAX_BYTES, signal })).pipe(
    Effect.timeoutOption(discardLimitMs),
    // The status alone decides.
    Effect.ignore
  )

/** Returns the status as soon as it is known; the rest is read in the background, within the layer's scope. */
const statusOf = (settings: Settings, layerScope: Scope.Scope, request: Parameters<typeof exchange>[1]) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const answer = yield* restore(exchange(settings, request).pipe(Scope.provide(scope))).pipe(
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
      yield* restore(discard(answer, settings)).pipe(
        Effect.ensuring(Scope.close(scope, Exit.void)),
        Effect.forkIn(layerScope)
      )
      return answer.statusCode
    })
  )

const deliver = Effect.fnUntraced(function* (
  settings: Settings,
  layerScope: Scope.Scope,
  attempt: Parameters<WebhookTransport["Service"]["deliver"]>[0]
): Effect.fn.Return<AttemptResult> {
  const clock = yield* Clock.Clock
  const begunAt = yield* clock.monotonicTimeNanos
  const outcome = yield* statusOf(settings, layerScope, { method: "POST", ...attempt }).pipe(
    // The limit holds even in an uninterruptible caller.
    Effect.interruptible,
    Effect.timeoutOrElse({
      duration: settings.wholeLimitMs,
      orElse: () => Effect.fail(new ExchangeFailed({ error: "timeout" }))
    }),
    Effect.map((status) => ({ status })),
    Effect.catchTags({
      TargetRefused: () => Effect.succeed({ error: "target_refused" } as const),
      ExchangeFailed: ({ error }) => Effect.succeed({ error })
    })
  )
  const durationMs = Number(((yield* clock.monotonicTimeNanos) - begunAt) / NANOS_PER_MILLISECOND)
  return { ...outcome, durationMs }
})

const check = ({ guard, connectLimitMs }: Settings, url: string): Effect.Effect<void, TargetRefused> => {
  const unresolved = Effect.fail(new TargetRefused({ reason: "name_unresolved" }))
  return checkTarget(guard, url).pipe(
    Effect.catchTag("ResolutionFailed", () => unresolved),
    Effect.interruptible,
    Effect.timeoutOrElse({ duration: connectLimitMs, orElse: () => unresolved }),
    Effect.asVoid
  )
}

/** Delivers webhooks over HTTPS under the target guard (part 8). */
export const layer = (options: WebhookTransportOptions): Layer.Layer<WebhookTransport> =>
  Layer.effect(
    WebhookTransport,
    Effect.gen(function* () {
      const settings = settingsOf(options)
      const scope = yield* Effect.scope
      return WebhookTransport.of({
        check: (url) => check(settings, url),
        deliver: (attempt) => deliver(settings, scope, attempt)
      })
    })
  )

/**
 * The same with its HTTP client loaded before the first attempt, for a server: one whose installation is replaced while it runs
 * still delivers.
 */
export const layerLoaded = (options: WebhookTransportOptions): Layer.Layer<WebhookTransport> =>
  Layer.merge(layer(options), Layer.effectDiscard(loadClient))
