import { notificationOf } from "@svc/domain/webhook/EventNotification"
import { isSuccess } from "@svc/domain/webhook/WebhookDelivery"
import type { FeedEvent } from "@svc/protocol/Journal"
import { webhookHeaders } from "@svc/protocol/WebhookHeaders"
import { Clock, Effect, Redacted } from "effect"

/** Where events are forwarded to, and what they are signed with. */
export interface ForwardTarget {
  readonly url: string
  readonly secret: Redacted.Redacted
}

/** What came of an event: the status of the last answer, or why there was none. */
export interface Forwarded {
  readonly attempts: number
  readonly outcome: { readonly status: number } | { readonly error: string }
}

/** Longest that a target may take for one attempt, as with deliveries (part 8). */
const ATTEMPT_TIMEOUT_MS = 15_000

/** Pauses before the second attempt and the third, in milliseconds: the target of a developer, not of a deployment. */
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
        // The status alone counts.
        await response.body?.cancel()
        return { status: response.status }
      },
      catch: errorOf
    }).pipe(Effect.catch((error) => Effect.succeed({ error })))
  })

const isDelivered = (outcome: Forwarded["outcome"]): boolean =>
  "status" in outcome && isSuccess(outcome.status)

/** Sends an event as a webhook would be sent (part 8), a few times if need be. It does not fail. */
export const forward = Effect.fnUntraced(function* (
  target: ForwardTarget,
  event: FeedEvent
): Effect.fn.Return<Forwarded> {
  const body = new TextEncoder().encode(notificationOf(event))
  for (let attempts = 1; ; attempts++) {
    const outcome = yield* attempt(target, body)
    const pause = RETRY_PAUSES_MS[attempts - 1]
    if (isDelivered(outcome) || pause === undefined) return { attempts, outcome }
    yield* Effect.sleep(pause)
  }
})
