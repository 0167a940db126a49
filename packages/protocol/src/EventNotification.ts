import type { FeedEvent } from "./Journal.ts"
import { isJsonObject, type JsonValue } from "./Json.ts"
import type { MandateStateName } from "./Mandate.ts"
import { parseTimestamp } from "./Timestamp.ts"
import { webhookBody } from "./WebhookBody.ts"

type MandateEventType = Extract<FeedEvent["type"], `mandate.${string}`>

/** The state that each event of a mandate's own life leads to; an approval waits for the start of the window. */
const STATES: Readonly<Record<Exclude<MandateEventType, "mandate.approved">, MandateStateName>> = {
  "mandate.created": "PENDING_APPROVAL",
  "mandate.rejected": "REJECTED",
  "mandate.activated": "ACTIVE",
  "mandate.consumed": "CONSUMED",
  "mandate.revoked": "REVOKED",
  "mandate.expired": "EXPIRED"
}

const memberOf = (value: JsonValue | undefined, name: string): JsonValue | undefined =>
  value !== undefined && isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined

/** The window stands in the signed statement that the approval carries. */
const approvedState = ({ data, occurred_at }: FeedEvent): MandateStateName => {
  const path = ["approval", "statement", "window", "starts_at"]
  const startsAt = path.reduce<JsonValue | undefined>(memberOf, data as JsonValue)
  const start = typeof startsAt === "string" ? parseTimestamp(startsAt) : undefined
  const approvedAt = parseTimestamp(occurred_at)
  return start !== undefined && approvedAt !== undefined && approvedAt < start ? "SCHEDULED" : "ACTIVE"
}

const isOfMandate = (type: FeedEvent["type"]): type is MandateEventType => type.startsWith("mandate.")

/** Only events of the mandate itself tell its state (part 8). */
const stateAfter = (event: FeedEvent): { readonly state?: MandateStateName } => {
  if (!isOfMandate(event.type)) return {}
  return { state: event.type === "mandate.approved" ? approvedState(event) : STATES[event.type] }
}

/**
 * The webhook body of an event (part 8), made from the event as GET /v1/events shows it: byte for byte that of its
 * deliveries.
 */
export const notificationOf = (event: FeedEvent): string =>
  webhookBody({
    id: event.id,
    type: event.type,
    occurredAt: event.occurred_at,
    mandateId: event.mandate_id,
    ...(event.authorization_id === undefined ? {} : { authorizationId: event.authorization_id }),
    ...stateAfter(event),
    version: event.mandate_version
  })
