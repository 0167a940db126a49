import { isIdentifier } from "@svc/protocol/Identifier"
import { KEYED_ROUTES } from "@svc/protocol/request/KeyedRoute"
import type { ListPage } from "@svc/protocol/request/ListPage"
import { formatNanos, type Instant } from "@svc/protocol/Timestamp"
import { TEST_EVENT_TYPE, testWebhookBody } from "@svc/protocol/webhook/WebhookBody"
import type { WebhookDelivery } from "@svc/protocol/webhook/WebhookEndpoint"
import { Effect } from "effect"
import { identifierCursor, listPageOf } from "../engine/Cursor.ts"
import { type Operation, optionallyKeyed } from "../engine/IdempotencyKey.ts"
import { listReader, pageLimit, type QueryRefusal } from "../engine/ProgramQuery.ts"
import { untilAppended } from "../engine/UntilAppended.ts"
import {
  type AdmittedWrite,
  admitWrite,
  BARE_WRITE,
  type WriteRefusal,
  type WriteRequest,
  type WriteResult
} from "../engine/WriteRequest.ts"
import { makeIdentifier } from "../Identifiers.ts"
import type { Deployment } from "../ports/Deployment.ts"
import type { StoreUnavailable } from "../ports/MandateStore.ts"
import type { Randomness } from "../ports/Randomness.ts"
import { WebhookStore } from "../ports/WebhookStore.ts"
import { type IdempotencyKeyReused, type InvalidCursor, NotFound, StateConflict } from "../Refusals.ts"
import type { StoredDelivery } from "../webhook/WebhookDelivery.ts"
import {
  mayRedeliver,
  pendingDelivery,
  shownDeliveryState,
  type WebhookDeliveryState
} from "../webhook/WebhookDelivery.ts"
import type { StoredEndpoint } from "../webhook/WebhookEndpoint.ts"
import { webhookDeliveryOf } from "../webhook/WebhookResource.ts"
import { webhookTurn } from "./WebhookEndpoints.ts"

const readListQuery = listReader({ limit: pageLimit }, "endpointId")

/** Deliveries of an endpoint, newest first (part 8, GET /v1/webhook-endpoints/{id}/deliveries). */
export const listWebhookDeliveries = Effect.fn("listWebhookDeliveries")(function* (query: {
  readonly organization: string
  readonly endpointId: string
  readonly cursor?: string
  readonly limit: number
}): Effect.fn.Return<
  ListPage<WebhookDelivery>,
  QueryRefusal | NotFound | InvalidCursor | StoreUnavailable,
  WebhookStore
> {
  const { cursor, endpointId, limit, organization } = yield* readListQuery(query)
  const store = yield* WebhookStore
  const scope = { list: "webhook_deliveries", organization, webhook_endpoint_id: endpointId }
  const after = yield* identifierCursor(scope, "dlv_", cursor)
  if (!isIdentifier("whe_", endpointId)) return yield* new NotFound()
  const { deliveries, stored } = yield* store.listDeliveries({
    organization,
    endpoint: endpointId,
    limit,
    ...(after === undefined ? {} : { after })
  })
  if (stored === undefined) return yield* new NotFound()
  return listPageOf(
    scope,
    deliveries,
    limit,
    ({ id }) => id,
    (delivery) => webhookDeliveryOf(delivery, stored)
  )
})

interface NewDelivery {
  readonly event: Pick<WebhookDeliveryState, "eventId" | "eventType">
  readonly body: string
}

interface LoadedDelivery {
  readonly now: Instant
  readonly stored: StoredEndpoint
  readonly delivery: StoredDelivery | undefined
}

const endpointNotActive = ({ endpoint }: StoredEndpoint): StateConflict =>
  new StateConflict({ currentState: endpoint.status, resourceId: endpoint.id, needed: ["active"] })

/** Adds a delivery to an active endpoint, once per idempotency key if the request has one. */
const addDelivery = Effect.fnUntraced(function* <E, R>(
  write: {
    readonly admitted: AdmittedWrite
    readonly operation: Operation
    readonly endpointId: string
    /** The delivery that the write is about, if any. */
    readonly deliveryId?: string
  },
  newDelivery: (loaded: LoadedDelivery) => Effect.Effect<NewDelivery, E, R>
): Effect.fn.Return<
  WriteResult<WebhookDelivery>,
  E | NotFound | StateConflict | IdempotencyKeyReused | StoreUnavailable,
  R | WebhookStore | Randomness
> {
  const { admitted, deliveryId, endpointId } = write
  const organization = admitted.organization.id
  const key = optionallyKeyed(admitted, write.operation)
  const attempt = Effect.gen(function* () {
    const store = yield* WebhookStore
    const { held, now, ...loaded } = yield* store.loadDelivery({
      organization,
      ...(isIdentifier("whe_", endpointId) ? { endpoint: endpointId } : {}),
      ...(deliveryId !== undefined && isIdentifier("dlv_", deliveryId) ? { delivery: deliveryId } : {}),
      ...(key === undefined ? {} : { idempotencyKey: key.claimName.name })
    })
    if (held !== undefined) {
      yield* key!.check(held)
      const made = yield* store.loadDelivery({ organization, endpoint: endpointId, delivery: held.resource })
      if (made.stored === undefined || made.delivery === undefined) return yield* new NotFound()
      return { resource: webhookDeliveryOf(made.delivery.delivery, made.stored), replayed: true }
    }
    const { stored } = loaded
    if (stored === undefined) return yield* new NotFound()
    const { body, event } = yield* newDelivery({ now, stored, delivery: loaded.delivery })
    const id = yield* makeIdentifier("dlv_", now)
    const delivery = pendingDelivery({ id, organizationId: organization, endpointId, ...event }, now)
    const claims = key === undefined ? [] : [key.claim(delivery.id)]
    yield* store.addDelivery({ organization, delivery, body, claims })
    return { resource: webhookDeliveryOf(delivery, stored), replayed: false }
  })
  return yield* untilAppended(webhookTurn(organization), attempt) as Effect.Effect<
    WriteResult<WebhookDelivery>,
    E | NotFound | StateConflict | IdempotencyKeyReused | StoreUnavailable,
    R | WebhookStore | Randomness
  >
})

type DeliveryFailure = WriteRefusal | NotFound | StateConflict | IdempotencyKeyReused | StoreUnavailable

/**
 * Sends an event again, as a new delivery of the same bytes (part 8, POST
 * .../deliveries/{delivery_id}/redelivery). The endpoint must be active, and the delivery must have ended.
 */
export const redeliverWebhook = Effect.fn("redeliverWebhook")(function* (
  request: WriteRequest & { readonly endpointId: string; readonly deliveryId: string }
): Effect.fn.Return<WriteResult<WebhookDelivery>, DeliveryFailure, WebhookStore | Randomness | Deployment> {
  const admitted = yield* admitWrite(request, BARE_WRITE, ["endpointId", "deliveryId"])
  const { deliveryId, endpointId } = admitted.path
  const operation = {
    operation: KEYED_ROUTES.redeliverWebhook,
    path: { webhook_endpoint_id: endpointId, delivery_id: deliveryId }
  }
  return yield* addDelivery(
    { admitted, operation, endpointId, deliveryId },
    Effect.fnUntraced(function* ({ delivery, stored }: LoadedDelivery) {
      if (delivery === undefined) return yield* new NotFound()
      if (stored.endpoint.status !== "active") return yield* endpointNotActive(stored)
      const { eventId, eventType, id } = delivery.delivery
      if (!mayRedeliver(delivery.delivery)) {
        const currentState = shownDeliveryState(delivery.delivery, stored.endpoint)
        return yield* new StateConflict({ currentState, resourceId: id, needed: ["delivered", "exhausted"] })
      }
      return { event: { eventId, eventType }, body: delivery.body }
    })
  )
})

/** Sends a test to an active endpoint, in one attempt (part 8, POST /v1/webhook-endpoints/{id}/test). */
export const testWebhookEndpoint = Effect.fn("testWebhookEndpoint")(function* (
  request: WriteRequest & { readonly endpointId: string }
): Effect.fn.Return<WriteResult<WebhookDelivery>, DeliveryFailure, WebhookStore | Randomness | Deployment> {
  const admitted = yield* admitWrite(request, BARE_WRITE, ["endpointId"])
  const { endpointId } = admitted.path
  const operation = {
    operation: KEYED_ROUTES.testWebhookEndpoint,
    path: { webhook_endpoint_id: endpointId }
  }
  return yield* addDelivery(
    { admitted, operation, endpointId },
    Effect.fnUntraced(function* ({ now, stored }: LoadedDelivery) {
      if (stored.endpoint.status !== "active") return yield* endpointNotActive(stored)
      const eventId = yield* makeIdentifier("evt_", now)
      return {
        event: { eventId, eventType: TEST_EVENT_TYPE },
        body: testWebhookBody({ id: eventId, occurredAt: formatNanos(now) })
      }
    })
  )
})
