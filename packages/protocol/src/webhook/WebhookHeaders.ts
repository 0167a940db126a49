import { webhookSignature } from "./WebhookSignature.ts"

/** `Svc-Webhook-Version` of every delivery (part 8). */
export const WEBHOOK_VERSION = "1"

/** `User-Agent` of every delivery (part 8). */
export const WEBHOOK_USER_AGENT = "svc-webhooks/1"

/**
 * The headers of one delivery attempt (part 8), by lower-case name. Each attempt signs the same body with a `timestamp` of
 * its own, in Unix seconds. Throws as `webhookSignature` does.
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
