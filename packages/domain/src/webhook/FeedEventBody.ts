import type { FeedEvent } from "@svc/protocol/Journal"
import { isJsonObject, type JsonValue } from "@svc/protocol/json/Json"
import { webhookBody } from "@svc/protocol/webhook/WebhookBody"
import type { MandateFactType } from "../mandate/JournalFact.ts"
import { stateAfter } from "../mandate/StateAfter.ts"

const memberOf = (value: JsonValue | undefined, name: string): JsonValue | undefined =>
  value !== undefined && isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined

/** When the window of an approved mandate starts: the approval carries the statement that was signed, and that the window. */
const startIn = (data: FeedEvent["data"]): string => {
  const path = ["approval", "statement", "window", "starts_at"]
  const startsAt = path.reduce<JsonValue | undefined>(memberOf, data as JsonValue)
  return typeof startsAt === "string" ? startsAt : ""
}

const isOfMandate = (event: FeedEvent): event is FeedEvent & { readonly type: MandateFactType } =>
  event.type.startsWith("mandate.")

/**
 * The webhook body of an event (part 8), made from the event as GET /v1/events shows it: the same bytes as `notification`
 * of the sealed event. Throws when an approval does not say when the window starts.
 */
export const webhookBodyOfFeedEvent = (event: FeedEvent): string =>
  webhookBody({
    id: event.id,
    type: event.type,
    occurredAt: event.occurred_at,
    mandateId: event.mandate_id,
    ...(event.authorization_id === undefined ? {} : { authorizationId: event.authorization_id }),
    ...(isOfMandate(event) ? { state: stateAfter(event, startIn(event.data)) } : {}),
    version: event.mandate_version
  })
