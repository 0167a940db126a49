import { leaseWebhookAttempts } from "../schema/webhooks/LeaseWebhookAttempts.ts"
import { recordWebhookAttempts } from "../schema/webhooks/RecordWebhookAttempts.ts"
import { openAttemptIndex } from "../schema/webhooks/WebhookTables.ts"

/**
 * Counts the attempts that are open in less time. Nothing that exists is written; the index is built while writes of deliveries
 * wait.
 */
export const openAttempts = `
drop index {schema}.webhook_delivery_open;
${openAttemptIndex}${leaseWebhookAttempts}${recordWebhookAttempts}`
