import { webhookSignature } from "./WebhookSignature.ts"

/** `Svc-Webhook-Version` of every delivery (part 8). */
export const WEBHOOK_VERSION = "1"

/** `User-Agent` of every delivery (part 8). */
export const WEBHOOK_USER_AGENT = "svc-webhooks/1"

/**
 * The headers of one attempt (part 8), by names in lower case: the same body has other ones with each attempt, whose
 * `timestamp` in Unix seconds is its own. Throws as `webhookSignature` does.
 */
export const webhookHeaders = (attempt: {
  readonly secret: string
  readonly timestamp: number
  readonly body: Uint8Array
}): Readonly<Record<string, string>> => ({
  "content-type": "application/json",
  "user-agent": WEBHOOK_USER_AGENT,
  "svc-webhook-version": WEBHOOK_VERSION,
  "svc-signature": webhookSignature(attempt)
})
