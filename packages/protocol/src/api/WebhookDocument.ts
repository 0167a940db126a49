import { JournalEventType } from "../Journal.ts"
import { MandateStateName } from "../Mandate.ts"

const BODY = {
  type: "object",
  required: ["id", "type", "occurred_at", "data"],
  properties: {
    id: { type: "string", description: "Identifier of the event, evt_...; deliveries may repeat it" },
    type: { type: "string", enum: JournalEventType.literals },
    occurred_at: { type: "string", description: "RFC 3339 UTC with nine fraction digits" },
    data: {
      type: "object",
      required: ["mandate_id", "version"],
      properties: {
        mandate_id: { type: "string" },
        authorization_id: { type: "string" },
        state: { type: "string", enum: MandateStateName.literals },
        version: { type: "integer", description: "Version of the mandate at the event" }
      }
    }
  }
}

const header = (name: string, description: string) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string" }
})

const PARAMETERS = [
  header("Svc-Webhook-Version", "Always 1"),
  header("Svc-Signature", "t=<unix seconds>,v1=<hex HMAC-SHA256 over t, a full stop and the raw body>")
]

const webhook = (type: string) => ({
  post: {
    operationId: `webhook.${type}`,
    summary: `Notification of ${type}`,
    parameters: PARAMETERS,
    requestBody: {
      required: true,
      content: { "application/json": { schema: { $ref: "#/components/schemas/WebhookEvent" } } }
    },
    responses: { "2XX": { description: "Received. Anything else is retried." } },
    security: []
  }
})

/** The `webhooks` of the document: one per type of event (part 8). */
export const WEBHOOKS = Object.fromEntries(JournalEventType.literals.map((type) => [type, webhook(type)]))

/** Schemas that `WEBHOOKS` refers to. */
export const WEBHOOK_SCHEMAS = { WebhookEvent: BODY }
