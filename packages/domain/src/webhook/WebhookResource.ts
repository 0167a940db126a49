import { JournalEventType } from "@svc/protocol/Journal"
import { formatNanos } from "@svc/protocol/Timestamp"
import type { WebhookDelivery, WebhookEndpoint } from "@svc/protocol/webhook/WebhookEndpoint"
import { Redacted } from "effect"
import { shownDeliveryState, type WebhookDeliveryState } from "./WebhookDelivery.ts"
import type { StoredEndpoint } from "./WebhookEndpoint.ts"

/** An endpoint as it is shown (part 8): its timestamps have nine fraction digits. The secret is given by creation and rotation alone. */
export const webhookEndpointOf = (
  { endpoint, missedSince }: StoredEndpoint,
  secret?: Redacted.Redacted<string>
): WebhookEndpoint => ({
  id: endpoint.id as WebhookEndpoint["id"],
  url: endpoint.url,
  event_types: endpoint.eventTypes ?? JournalEventType.literals,
  ...(endpoint.description === undefined ? {} : { description: endpoint.description }),
  status: endpoint.status,
  ...(endpoint.disabledReason === undefined ? {} : { disabled_reason: endpoint.disabledReason }),
  ...(missedSince === undefined ? {} : { missed_since: formatNanos(missedSince) }),
  consecutive_failed_attempts: endpoint.consecutiveFailedAttempts,
  consecutive_exhausted_deliveries: endpoint.consecutiveExhaustedDeliveries,
  created_at: formatNanos(endpoint.createdAt),
  updated_at: formatNanos(endpoint.updatedAt),
  ...(secret === undefined ? {} : { secret: Redacted.value(secret) })
})

/** A delivery as it is shown (part 8): its timestamps have nine fraction digits. When its next attempt is due is of interest while there will be one. */
export const webhookDeliveryOf = (
  delivery: WebhookDeliveryState,
  { endpoint }: Pick<StoredEndpoint, "endpoint">
): WebhookDelivery => {
  const state = shownDeliveryState(delivery, endpoint)
  const { nextAttemptAt } = delivery
  return {
    id: delivery.id as WebhookDelivery["id"],
    state,
    event_id: delivery.eventId as WebhookDelivery["event_id"],
    event_type: delivery.eventType,
    ...(nextAttemptAt === undefined || state !== "pending"
      ? {}
      : { next_attempt_at: formatNanos(nextAttemptAt) }),
    attempts: delivery.attempts.map(({ at, durationMs, error, status }) => ({
      at: formatNanos(at),
      ...(status === undefined ? {} : { status }),
      duration_ms: durationMs,
      ...(error === undefined ? {} : { error })
    }))
  }
}
