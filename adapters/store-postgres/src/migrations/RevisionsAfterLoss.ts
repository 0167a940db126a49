import { nextRevision } from "../schema/NextRevision.ts"
import { previousEnds } from "../schema/PreviousCalls.ts"
import { appendOne } from "../schema/streams/AppendOne.ts"
import { changeWebhookEndpoint } from "../schema/webhooks/ChangeWebhookEndpoint.ts"
import { recordWebhookAttempts } from "../schema/webhooks/RecordWebhookAttempts.ts"
import { replaceWebhookEndpoint } from "../schema/webhooks/ReplaceWebhookEndpoint.ts"

/** Revisions of endpoints and subjects that differ from those that a failover lost. Nothing that exists is written. */
export const revisionsAfterLoss = `${nextRevision}${appendOne}${replaceWebhookEndpoint}${changeWebhookEndpoint}${recordWebhookAttempts}${previousEnds}`
