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

const ShownTimestamp = Schema.String.annotate({ description: "RFC 3339 UTC with nine fraction digits" })

/** The webhook endpoint resource (part 8). The secret is shown once, by creation and by rotation. */
export const WebhookEndpoint = Schema.Struct({
  id: WebhookEndpointId,
  url: Schema.String,
  event_types: Schema.Array(JournalEventType),
  description: Schema.optionalKey(Schema.String),
  status: Schema.Literals(["active", "disabled", "deleted"]).annotate({
    description:
      "active: it is sent events. disabled: too much failed in a row (disabled_reason); events wait until it is reactivated. deleted: it is sent nothing any more, for good"
  }),
  disabled_reason: Schema.optionalKey(
    Schema.Literals(["consecutive_failed_attempts", "consecutive_exhausted_deliveries"])
  ).annotate({ description: "Which count reached its limit; there while the endpoint is disabled" }),
  missed_since: Schema.optionalKey(Schema.String).annotate({
    description:
      "Events from then on were not kept for this endpoint, since it was disabled; GET /v1/events has them. The answer to a reactivation says so for the last time"
  }),
  consecutive_failed_attempts: Counter,
  consecutive_exhausted_deliveries: Counter,
  created_at: ShownTimestamp,
  updated_at: ShownTimestamp,
  secret: Schema.optionalKey(
    Schema.String.annotate({ description: "svc_wh_ and base64url of 32 bytes; shown once" })
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
- worker_lost: the sender ended in mid-attempt, and the event may have arrived.`

/** One attempt of a delivery that has ended. */
export const WebhookAttempt = Schema.Struct({
  at: ShownTimestamp,
  status: Schema.optionalKey(Schema.Number),
  duration_ms: Counter,
  error: Schema.optionalKey(Schema.String).annotate({ description: ERRORS })
})

/** A delivery of one event to one endpoint (part 8). */
export const WebhookDelivery = Schema.Struct({
  id: DeliveryId,
  state: Schema.Literals(["pending", "delivered", "exhausted", "frozen", "cancelled"]).annotate({
    description: STATES
  }),
  event_id: EventId,
  event_type: Schema.String,
  next_attempt_at: Schema.optionalKey(ShownTimestamp),
  attempts: Schema.Array(WebhookAttempt)
})
export type WebhookDelivery = typeof WebhookDelivery.Type
