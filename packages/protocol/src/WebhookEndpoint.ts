import { Schema } from "effect"
import { DeliveryId, EventId, WebhookEndpointId } from "./Identifier.ts"
import { JournalEventType } from "./Journal.ts"
import { Counter, listBetween } from "./Mandate.ts"
import { Text, textBetween } from "./Text.ts"

/** Longest target of an endpoint, in code points. */
export const WEBHOOK_URL_MAX_CODE_POINTS = 2048

/** Body of POST /v1/webhook-endpoints (part 8). `event_types` is by default all of them. */
export const CreateWebhookEndpointBody = Schema.Struct({
  url: textBetween(1, WEBHOOK_URL_MAX_CODE_POINTS),
  event_types: Schema.optionalKey(listBetween(JournalEventType, 1, JournalEventType.literals.length)),
  description: Schema.optionalKey(Text)
})
export type CreateWebhookEndpointBody = typeof CreateWebhookEndpointBody.Type

/** The webhook endpoint resource (part 8). The secret is shown once, by creation and by rotation. */
export const WebhookEndpoint = Schema.Struct({
  id: WebhookEndpointId,
  url: Schema.String,
  event_types: Schema.Array(JournalEventType),
  description: Schema.optionalKey(Schema.String),
  status: Schema.Literals(["active", "disabled", "deleted"]),
  disabled_reason: Schema.optionalKey(
    Schema.Literals(["consecutive_failed_attempts", "consecutive_exhausted_deliveries"])
  ),
  missed_since: Schema.optionalKey(Schema.String).annotate({
    description:
      "Events from then on were not kept for this endpoint, since it was disabled; GET /v1/events has them. The answer to a reactivation says so for the last time"
  }),
  consecutive_failed_attempts: Counter,
  consecutive_exhausted_deliveries: Counter,
  created_at: Schema.String,
  updated_at: Schema.String,
  secret: Schema.optionalKey(
    Schema.String.annotate({ description: "svc_wh_ and base64url of 32 bytes; shown once" })
  )
})
export type WebhookEndpoint = typeof WebhookEndpoint.Type

/** One attempt of a delivery that has ended. */
export const WebhookAttempt = Schema.Struct({
  at: Schema.String,
  status: Schema.optionalKey(Schema.Number),
  duration_ms: Counter,
  error: Schema.optionalKey(Schema.String)
})

/** A delivery of one event to one endpoint (part 8). */
export const WebhookDelivery = Schema.Struct({
  id: DeliveryId,
  state: Schema.Literals(["pending", "delivered", "exhausted", "frozen", "cancelled"]),
  event_id: EventId,
  event_type: Schema.String,
  next_attempt_at: Schema.optionalKey(Schema.String),
  attempts: Schema.Array(WebhookAttempt)
})
export type WebhookDelivery = typeof WebhookDelivery.Type
