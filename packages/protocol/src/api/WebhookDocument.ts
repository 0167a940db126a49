import { JournalEventType } from "../Journal.ts"
import { MandateStateName } from "../Mandate.ts"
import { TEST_EVENT_TYPE } from "../WebhookBody.ts"
import { WEBHOOK_TOLERANCE_SECONDS } from "../WebhookSignature.ts"

const TYPES = [...JournalEventType.literals, TEST_EVENT_TYPE]

const BODY = {
  type: "object",
  required: ["id", "type", "occurred_at", "data"],
  properties: {
    id: { type: "string", description: "Identifier of the event, evt_...; deliveries may repeat it" },
    type: { type: "string", enum: TYPES },
    occurred_at: { type: "string", description: "RFC 3339 UTC with nine fraction digits" },
    data: {
      type: "object",
      required: ["mandate_id", "version"],
      properties: {
        mandate_id: {
          type: "string",
          description: "What to read. That of a test event is no mandate: mnd_ and 26 zeros"
        },
        authorization_id: { type: "string" },
        state: { type: "string", enum: MandateStateName.literals, description: "Only of mandate.*" },
        version: { type: "integer", description: "Version of the mandate at the event; 0 of a test event" }
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
  header(
    "Svc-Signature",
    "t=<unix seconds>,v1=<64 lower-case hex characters of the HMAC-SHA256 over t, a full stop and the raw body>"
  )
]

/** How a receiver verifies a webhook: complete, to be copied. */
export const VERIFICATION_IN_PYTHON = `import base64, hashlib, hmac, re, time

def is_authentic(secret: str, signature: str, body: bytes) -> bool:
    found = re.fullmatch(r"t=([0-9]{1,15}),v1=([0-9a-f]{64})", signature)
    if not found or abs(int(time.time()) - int(found[1])) > ${WEBHOOK_TOLERANCE_SECONDS}:
        return False
    key = base64.urlsafe_b64decode(secret.removeprefix("svc_wh_") + "=")
    mac = hmac.new(key, found[1].encode() + b"." + body, hashlib.sha256)
    return hmac.compare_digest(mac.hexdigest(), found[2])`

const DESCRIPTION = `A trigger, not a proof: verify it, answer with a 2xx within 15 s (5 s to connect), and read what it names. It may come twice: go by \`id\`.

\`Svc-Signature: t=...,v1=...\` is the HMAC-SHA256 over \`t\`, a full stop and the raw body, byte for byte as it came. The key is the 32 bytes that what follows \`svc_wh_\` in the secret decodes to as base64url. Refuse a \`t\` that is more than ${WEBHOOK_TOLERANCE_SECONDS} s from your clock.

\`\`\`python
${VERIFICATION_IN_PYTHON}
\`\`\``

const webhook = (type: string) => ({
  post: {
    operationId: `webhook.${type}`,
    summary: type === TEST_EVENT_TYPE ? "A test event, in one attempt" : `Notification of ${type}`,
    description: DESCRIPTION,
    parameters: PARAMETERS,
    requestBody: {
      required: true,
      content: { "application/json": { schema: { $ref: "#/components/schemas/WebhookEvent" } } }
    },
    responses: { "2XX": { description: "Received. Anything else is retried." } },
    security: []
  }
})

/** The `webhooks` of the document: one per type of event, and the test event (part 8). */
export const WEBHOOKS = Object.fromEntries(TYPES.map((type) => [type, webhook(type)]))

/** Schemas that `WEBHOOKS` refers to. */
export const WEBHOOK_SCHEMAS = { WebhookEvent: BODY }
