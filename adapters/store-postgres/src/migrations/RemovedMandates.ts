import { removedMandateTable } from "../schema/streams/RemovedMandateTable.ts"
import { removeMandate } from "../schema/streams/RemoveMandate.ts"
import { giveUpWebhookDeliveries } from "../schema/webhooks/GiveUpWebhookDeliveries.ts"
import { dividedLikeOthers } from "./Partitions.ts"

/** What operators remove: ended mandates, and deliveries that wait. Nothing that exists is written. */
export const removedMandates = `
${removedMandateTable}${dividedLikeOthers("removed_mandate")}${removeMandate}${giveUpWebhookDeliveries}`
