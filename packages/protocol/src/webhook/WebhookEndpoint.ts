import { Schema } from "effect"
import { described } from "../Described.ts"
import { DeliveryId, EventId, WebhookEndpointId } from "../Identifier.ts"
import { JournalEventType } from "../Journal.ts"
import { Counter, integerBetween, listBetween } from "../Mandate.ts"
import { Text, textBetween } from "../Text.ts"
import { serviceTimestamp } from "../TimestampSchema.ts"

/** Longest target of an endpoint, in code points. */
export const WEBHOOK_URL_MAX_CODE_POINTS = 2048

/** Body of POST /v1/webhook-endpoints (part 8). `event_types` is by default all of them. */
export const CreateWebhookEndpointBody = Schema.Struct({
  url: described(
    textBetween(1, WEBHOOK_URL_MAX_CODE_POINTS),
    "Where events are sent: an absolute HTTPS URL with a host name that resolves to public addresses alone, on port 443 or 1024 to 65535, without user info. A development server takes http://localhost too.",
    "https://shop.example/webhooks"
  ),
  event_types: Schema.optionalKey(
    described(
      listBetween(JournalEventType, 1, JournalEventType.literals.length),
      "Types of the events that it is sent; absent: all of them, later ones too. A repeated one is refused.",
      ["mandate.approved", "authorization.expired"]
    )
  ),
  description: Schema.optionalKey(described(Text, "For yourself.", "Orders"))
})
export type CreateWebhookEndpointBody = typeof CreateWebhookEndpointBody.Type

/** The webhook endpoint resource (part 8). The secret is shown once, by creation and by rotation. */
export const WebhookEndpoint = Schema.Struct({
  id: described(
    WebhookEndpointId,
    "Identifier of the webhook endpoint.",
    "whe_01kbcd2e3f4g5h6j7k8m9npqrs" as never
  ),
  url: described(Schema.String, "Where events are sent.", "https://shop.example/webhooks"),
  event_types: described(Schema.Array(JournalEventType), "Types of the events that it is sent.", [
    "mandate.approved",
    "authorization.expired"
  ]),
  description: Schema.optionalKey(described(Schema.String, "As given.", "Orders")),
  status: described(
    Schema.Literals(["active", "disabled", "deleted"]),
    "active: it is sent events. disabled: too much failed in a row (disabled_reason); events wait until it is reactivated. deleted: it is sent nothing any more, for good.",
    "active"
  ),
  disabled_reason: Schema.optionalKey(
    described(
      Schema.Literals(["consecutive_failed_attempts", "consecutive_exhausted_deliveries"]),
      "Which count reached its limit; there while the endpoint is disabled.",
      "consecutive_failed_attempts"
    )
  ),
  missed_since: Schema.optionalKey(
    serviceTimestamp(
      "Events from then on were not kept for this endpoint, since it was disabled; GET /v1/events has them. The answer to a reactivation says so for the last time."
    )
  ),
  consecutive_failed_attempts: described(
    Counter,
    "Attempts that failed since the last success, those of tests too; 20 disable the endpoint.",
    0
  ),
  consecutive_exhausted_deliveries: described(
    Counter,
    "Deliveries all of whose attempts failed since the last event that was delivered; 10 disable the endpoint.",
    0
  ),
  created_at: serviceTimestamp("When it was registered."),
  updated_at: serviceTimestamp("When it last changed."),
  secret: Schema.optionalKey(
    described(
      Schema.String,
      "Verifies what it is sent: svc_wh_ and base64url of the 32 bytes of the key. Shown once, by creation and by rotation; a replay leaves it out.",
      "svc_wh_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
    )
  )
})
export type WebhookEndpoint = typeof WebhookEndpoint.Type

const STATES = `What is the case with it:

- pending: an attempt is due, under way or to come (next_attempt_at).
- delivered: an attempt was answered with a 2xx.
- exhausted: the last attempt failed; nothing more is sent unless it is redelivered.
- frozen: it was pending when the endpoint was disabled; it goes on after a reactivation, within a minute if it is due.
- cancelled: it was pending when the endpoint was deleted; it is never sent.`

const ERRORS = `Why there was no answer, and so no status:

- target_refused: the target is not allowed, since its name does not resolve, or not to public addresses alone.
- connection_failed: no connection, or it was cut before the answer.
- tls_failed: no trusted certificate for the name, or no TLS.
- timeout: no connection within 5 s, or no answer within 15 s.
- response_invalid: what came back is not HTTP.
- secret_unavailable: the service has lost the endpoint's secret, and nothing was sent: rotate it.
- worker_lost: the sender ended in mid-attempt, and the event may have arrived.`

/** One attempt of a delivery that has ended. */
export const WebhookAttempt = Schema.Struct({
  at: serviceTimestamp("When it began."),
  status: Schema.optionalKey(
    described(integerBetween(100, 999), "HTTP status of the answer; absent when there was none.", 204)
  ),
  duration_ms: described(Counter, "How long it took, in milliseconds.", 84),
  error: Schema.optionalKey(described(Schema.String, ERRORS, "timeout"))
})

/** A delivery of one event to one endpoint (part 8). */
export const WebhookDelivery = Schema.Struct({
  id: described(DeliveryId, "Identifier of the delivery.", "dlv_01kbcd2e3f4g5h6j7k8m9npqrs" as never),
  state: described(
    Schema.Literals(["pending", "delivered", "exhausted", "frozen", "cancelled"]),
    STATES,
    "delivered"
  ),
  event_id: described(
    EventId,
    "The event that is sent; the id of the body.",
    "evt_01kbcd2e3f4g5h6j7k8m9npqrs" as never
  ),
  event_type: described(Schema.String, "Type of the event, or endpoint.test.", "mandate.approved"),
  next_attempt_at: Schema.optionalKey(
    serviceTimestamp("When the next attempt is due; there while one is to come.")
  ),
  attempts: described(Schema.Array(WebhookAttempt), "The attempts that have ended, oldest first.")
})
export type WebhookDelivery = typeof WebhookDelivery.Type
