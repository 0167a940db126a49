import type { Instant } from "@svc/protocol/Timestamp"
import type { SealedEvent } from "../mandate/SealedEvent.ts"
import { deliveryIdOf } from "./DeliveryId.ts"
import { isKept, type KeptDeliveries } from "./KeptDeliveries.ts"
import { pendingDelivery, type StoredDelivery } from "./WebhookDelivery.ts"
import { type WebhookEndpointState, wants } from "./WebhookEndpoint.ts"

/** An endpoint as far as events reach it: what is kept for it while it is disabled, and since when it misses them. */
export interface NotifiedEndpoint {
  readonly endpoint: WebhookEndpointState
  readonly kept: KeptDeliveries | undefined
  readonly missedSince: Instant | undefined
}

/** The deliveries of events to an endpoint, and what that leaves of it (part 8). */
export const eventDeliveries = (
  { endpoint, kept, missedSince }: NotifiedEndpoint,
  events: ReadonlyArray<SealedEvent>,
  now: Instant
): Omit<NotifiedEndpoint, "endpoint"> & { readonly deliveries: ReadonlyArray<StoredDelivery> } => {
  const wanted = endpoint.status === "deleted" ? [] : events.filter(({ type }) => wants(endpoint, type))
  const deliveries: Array<StoredDelivery> = []
  let left = kept
  let missed = missedSince
  for (const { id: eventId, notification: body, type: eventType } of wanted) {
    if (left !== undefined && !isKept(left, now)) {
      missed ??= now
      continue
    }
    if (left !== undefined) left = { ...left, left: left.left - 1 }
    const { id: endpointId, organizationId } = endpoint
    const id = deliveryIdOf(eventId, endpointId)
    const delivery = pendingDelivery({ id, organizationId, endpointId, eventId, eventType }, now)
    deliveries.push({ delivery, body })
  }
  return { deliveries, kept: left, missedSince: missed }
}
