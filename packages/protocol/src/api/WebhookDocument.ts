import { CALLER_DUTIES } from "../CallerDuties.ts"
import { JournalEventType } from "../Journal.ts"
import { MAX_SAFE_INTEGER, MandateStateName } from "../Mandate.ts"
import { TEST_EVENT_TYPE } from "../webhook/WebhookBody.ts"
import { WEBHOOK_USER_AGENT, WEBHOOK_VERSION } from "../webhook/WebhookHeaders.ts"
import { WEBHOOK_TOLERANCE_SECONDS } from "../webhook/WebhookSignature.ts"
import { VERIFICATION_IN_PYTHON } from "./Introduction.ts"

const TYPES = [...JournalEventType.literals, TEST_EVENT_TYPE]

const identifier = (prefix: string, description: string) => ({
  type: "string",
  pattern: `^${prefix}[0-9a-hjkmnp-tv-z]{26}$`,
  description,
  examples: [`${prefix}01kbcd2e3f4g5h6j7k8m9npqrs`]
})

const EXAMPLE_TIME = "2026-12-01T09:00:00.000000000Z"

const BODY = {
  type: "object",
  description: "What an endpoint is sent of an event. Open: pass over members that you do not know.",
  required: ["id", "type", "occurred_at", "data"],
  properties: {
    id: identifier("evt_", `Identifier of the event. ${CALLER_DUTIES.deduplicateById}`),
    type: {
      type: "string",
      enum: TYPES,
      description:
        "What happened. New types may be added: answer those that you do not know with a 2xx as well.",
      examples: ["mandate.approved"]
    },
    occurred_at: {
      type: "string",
      format: "date-time",
      pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{9}Z$",
      description:
        "When it happened, RFC 3339 in UTC with nine fraction digits; the same text as in the journal.",
      examples: [EXAMPLE_TIME]
    },
    data: {
      type: "object",
      description: "What to read. Never what the journal says of it.",
      required: ["mandate_id", "version"],
      properties: {
        mandate_id: identifier(
          "mnd_",
          "The mandate to read. That of a test event is no mandate: mnd_ and 26 zeros."
        ),
        authorization_id: identifier("aut_", "The authorization to read; only of authorization.* events."),
        state: {
          type: "string",
          enum: MandateStateName.literals,
          description: "State of the mandate after the event; only of mandate.* events.",
          examples: ["ACTIVE"]
        },
        version: {
          type: "integer",
          minimum: 0,
          maximum: MAX_SAFE_INTEGER,
          description: "Version of the mandate at the event; 0 of a test event.",
          examples: [2]
        }
      }
    }
  }
}

const parameter = (name: string, description: string, schema: object, example: string) => ({
  name,
  in: "header",
  required: true,
  description,
  schema: { type: "string", ...schema, examples: [example] }
})

const PARAMETERS = [
  parameter("Svc-Webhook-Version", "Version of the format.", { enum: [WEBHOOK_VERSION] }, WEBHOOK_VERSION),
  parameter(
    "Svc-Signature",
    `t=<Unix seconds>,v1=<64 lower-case hex characters of the HMAC-SHA256 over t, a full stop and the raw body>. Another one with each attempt. Refuse a t more than ${WEBHOOK_TOLERANCE_SECONDS} s from your clock.`,
    { pattern: "^t=[0-9]{1,15},v1=[0-9a-f]{64}$" },
    "t=1796115600,v1=5f0c7d3e8a1b2c4d6e9f00112233445566778899aabbccddeeff001122334455"
  ),
  parameter("User-Agent", "Who sends it.", { enum: [WEBHOOK_USER_AGENT] }, WEBHOOK_USER_AGENT)
]

const DESCRIPTION = `${CALLER_DUTIES.triggerNotProof} ${CALLER_DUTIES.deduplicateById} Answer with a 2xx within 15 s (5 s to connect).`

/** How to verify holds for every webhook and is spelled out once. */
const TEST_DESCRIPTION = `${DESCRIPTION} Sent in one attempt when you ask for it.

The key of the HMAC is the 32 bytes that what follows \`svc_wh_\` in the secret decodes to as base64url:

\`\`\`python
${VERIFICATION_IN_PYTHON}
\`\`\``

const SUMMARIES: Readonly<Record<string, string>> = {
  "mandate.created": "A mandate was created",
  "mandate.approved": "A mandate was approved by its subject",
  "mandate.rejected": "A mandate was declined by its subject",
  "mandate.activated": "The window of an approved mandate began",
  "mandate.consumed": "A mandate is used up",
  "mandate.revoked": "A mandate was revoked",
  "mandate.expired": "A mandate expired",
  "authorization.reserved": "An action was allowed, and its amount reserved",
  "authorization.denied": "An action was denied",
  "authorization.indeterminate": "An action could not be decided",
  "authorization.committed": "An execution was reported",
  "authorization.cancelled": "A cancellation was reported",
  "authorization.expired": "A reservation ended without a report",
  "authorization.outcome_conflict": "A report conflicts with the outcome that is recorded",
  "authorization.refund_reported": "A refund was reported",
  [TEST_EVENT_TYPE]: "A test of the endpoint"
}

const exampleOf = (type: string) => ({
  id: "evt_01kbcd2e3f4g5h6j7k8m9npqrs",
  type,
  occurred_at: EXAMPLE_TIME,
  data: {
    mandate_id: type === TEST_EVENT_TYPE ? `mnd_${"0".repeat(26)}` : "mnd_01kbcd2e3f4g5h6j7k8m9npqrs",
    ...(type.startsWith("authorization.") ? { authorization_id: "aut_01kbcd2e3f4g5h6j7k8m9npqrs" } : {}),
    ...(type === "mandate.approved" ? { state: "ACTIVE" } : {}),
    version: type === TEST_EVENT_TYPE ? 0 : 2
  }
})

const onType = (type: string): string =>
  `on${type.replaceAll(/(?:^|[._])([a-z])/gu, (_, letter: string) => letter.toUpperCase())}`

const webhook = (type: string) => ({
  post: {
    operationId: onType(type),
    tags: [WEBHOOK_TAG.name],
    summary: SUMMARIES[type],
    description: type === TEST_EVENT_TYPE ? TEST_DESCRIPTION : DESCRIPTION,
    parameters: PARAMETERS,
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: { $ref: "#/components/schemas/WebhookEvent" },
          example: exampleOf(type)
        }
      }
    },
    responses: {
      "2XX": { description: "Received." },
      default: { description: "Anything else is a failed attempt, and is tried again." }
    },
    security: []
  }
})

/** The tag of the webhooks. */
export const WEBHOOK_TAG = {
  name: "Webhooks",
  description: "What a webhook endpoint is sent: a POST of each event that it wants."
}

/** The `webhooks` of the document: one per type of event, and the test event (part 8). */
export const WEBHOOKS = Object.fromEntries(TYPES.map((type) => [type, webhook(type)]))

/** Schemas that `WEBHOOKS` refers to. */
export const WEBHOOK_SCHEMAS = { WebhookEvent: BODY }
