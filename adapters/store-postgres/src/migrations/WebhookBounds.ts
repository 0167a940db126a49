import { leaseWebhookAttempts } from "../schema/webhooks/LeaseWebhookAttempts.ts"

/** Leases webhook attempts with a bound of their own for endpoints that respond quickly. */
export const webhookBounds = leaseWebhookAttempts
