import { webhookBodyOfFeedEvent } from "@svc/domain/webhook/FeedEventBody"
import { isSuccess } from "@svc/domain/webhook/WebhookDelivery"
import type { FeedEvent } from "@svc/protocol/Journal"
import { webhookHeaders } from "@svc/protocol/webhook/WebhookHeaders"
import { Clock, Effect, Redacted } from "effect"

/** The address that events are forwarded to, and the secret that signs them. */
export interface ForwardTarget {
  readonly url: string
  readonly secret: Redacted.Redacted
}

/** The result of forwarding an event: the status of the last attempt, or why it had no answer. */
export interface ForwardResult {
  readonly attempts: number
  readonly outcome: { readonly status: number } | { readonly error: string }
}

/** Timeout of one attempt, as for webhook deliveries (part 8). */
const ATTEMPT_TIMEOUT_MS = 15_000

/** Pauses before the second and the third attempt, in milliseconds; deliveries wait longer, but here a developer is watching. */
const RETRY_PAUSES_MS = [500, 2000]

const MILLISECONDS_PER_SECOND = 1000

const errorOf = (error: unknown): string => {
  if (error instanceof DOMException && error.name === "TimeoutError") return "no answer in time"
  const { code } = ((error as Error).cause ?? {}) as { readonly code?: unknown }
  return code === "ECONNREFUSED" ? "connection refused" : "connection failed"
}

const attempt = (target: ForwardTarget, body: Uint8Array<ArrayBuffer>) =>
  Effect.gen(function* () {
    const timestamp = Math.floor((yield* Clock.currentTimeMillis) / MILLISECONDS_PER_SECOND)
    const headers = webhookHeaders({ secret: Redacted.value(target.secret), timestamp, body })
    return yield* Effect.tryPromise({
      try: async (signal) => {
        const response = await fetch(target.url, {
          method: "POST",
          headers: { ...headers },
          body,
          redirect: "manual",
          signal: AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_TIMEOUT_MS)])
        })
        await response.body?.cancel()
        return { status: response.status }
      },
      catch: errorOf
    }).pipe(Effect.catch((error) => Effect.succeed({ error })))
  })

const isDelivered = (outcome: ForwardResult["outcome"]): boolean =>
  "status" in outcome && isSuccess(outcome.status)

/** Posts an event as a webhook (part 8), with up to three attempts. Failures are part of the result. */
export const forward = Effect.fnUntraced(function* (
  target: ForwardTarget,
  event: FeedEvent
): Effect.fn.Return<ForwardResult> {
  const body = new TextEncoder().encode(webhookBodyOfFeedEvent(event))
  for (let attempts = 1; ; attempts++) {
    const outcome = yield* attempt(target, body)
    const pause = RETRY_PAUSES_MS[attempts - 1]
    if (isDelivered(outcome) || pause === undefined) return { attempts, outcome }
    yield* Effect.sleep(pause)
  }
})
