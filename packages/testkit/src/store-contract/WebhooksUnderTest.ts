import { MandateStore, Stale, type UniqueClaim } from "@svc/domain/ports/MandateStore"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import type { Spread, WebhookDeliveryState } from "@svc/domain/webhook/WebhookDelivery"
import type { StoredEndpoint } from "@svc/domain/webhook/WebhookEndpoint"
import {
  deleted,
  MAX_WEBHOOK_ENDPOINTS,
  type WebhookEndpointState
} from "@svc/domain/webhook/WebhookEndpoint"
import type { Instant } from "@svc/protocol/Timestamp"
import { TEST_EVENT_TYPE } from "@svc/protocol/webhook/WebhookBody"
import { Effect } from "effect"
import { createdChange, HOUR, newDigest, newIdentifier } from "../StoreFixtures.ts"
import { newPlace, PLENTY, storeNow } from "./StoreUnderTest.ts"

export const newEndpoint = (
  organization: string,
  now: Instant,
  parts: Partial<WebhookEndpointState> = {}
): WebhookEndpointState => ({
  id: newIdentifier("whe_"),
  organizationId: organization,
  url: "https://hooks.example/svc?a=1",
  status: "active",
  consecutiveFailedAttempts: 0,
  consecutiveExhaustedDeliveries: 0,
  generation: 0,
  secretVersion: 1,
  sealedSecret: newDigest(),
  createdAt: now,
  updatedAt: now,
  ...parts
})

/** The endpoint as it is in the store. */
export const loadStored = Effect.fn("loadStored")(function* (endpoint: {
  readonly organizationId: string
  readonly id: string
}) {
  const store = yield* WebhookStore
  const { stored } = yield* store.loadEndpoint({
    organization: endpoint.organizationId,
    endpoint: endpoint.id
  })
  if (stored === undefined) return yield* Effect.die(new Error(`${endpoint.id} is not in the store`))
  return stored
})

export const change = Effect.fn("change")(function* (
  next: WebhookEndpointState,
  parts: {
    readonly expected: "absent" | number
    readonly claims?: ReadonlyArray<UniqueClaim>
    readonly limit?: number
    readonly spread?: Spread
  }
) {
  const store = yield* WebhookStore
  return yield* store.changeEndpoint({
    organization: next.organizationId,
    next,
    limit: MAX_WEBHOOK_ENDPOINTS,
    claims: [],
    ...parts
  })
})

/** Registers an endpoint; it is deleted when the test ends, so that nothing of it is due to another. */
export const register = Effect.fn("register")(function* (
  organization: string,
  parts: Partial<WebhookEndpointState> = {}
) {
  const endpoint = newEndpoint(organization, yield* storeNow, parts)
  yield* Effect.acquireRelease(change(endpoint, { expected: "absent" }), () =>
    Effect.orDie(
      Effect.gen(function* () {
        const stored = yield* loadStored(endpoint)
        yield* change(deleted(stored.endpoint, yield* storeNow), { expected: stored.revision })
      })
    )
  )
  return endpoint
})

/** Changes an endpoint from its present state. */
export const alter = Effect.fn("alter")(function* (
  endpoint: WebhookEndpointState,
  parts: Partial<WebhookEndpointState>,
  spread?: Spread
) {
  const stored = yield* loadStored(endpoint)
  const { disabledAt: _at, disabledReason: _reason, ...rest } = stored.endpoint
  const next = { ...(parts.status === "active" ? rest : stored.endpoint), ...parts }
  yield* change(next, { expected: stored.revision, ...(spread === undefined ? {} : { spread }) })
  return next
})

/** What makes an endpoint disabled since the given instant. */
export const disabledSince = (disabledAt: Instant): Partial<WebhookEndpointState> => ({
  status: "disabled",
  disabledReason: "consecutive_failed_attempts",
  disabledAt
})

/** Records an event of a new mandate, and returns it with the body of its deliveries. */
export const recordEvent = Effect.fn("recordEvent")(function* (organization: string) {
  const store = yield* MandateStore
  const made = createdChange(newPlace({ organization }), yield* storeNow)
  yield* store.append(made)
  const event = made.events[0]!
  return { ...event, body: event.notification }
})

export const recordEvents = (organization: string, count: number) =>
  Effect.forEach(Array.from({ length: count }), () => recordEvent(organization))

export const newDelivery = (
  endpoint: WebhookEndpointState,
  now: Instant,
  parts: Partial<WebhookDeliveryState> = {}
): WebhookDeliveryState => ({
  id: newIdentifier("dlv_"),
  organizationId: endpoint.organizationId,
  endpointId: endpoint.id,
  eventId: newIdentifier("evt_"),
  eventType: TEST_EVENT_TYPE,
  createdAt: now,
  state: "pending",
  nextAttemptAt: now,
  attempts: [],
  ...parts
})

/** Adds a delivery that waits since so long, and gives it. */
export const addWaiting = Effect.fn("addWaiting")(function* (
  endpoint: WebhookEndpointState,
  since: (now: Instant) => Instant = (now) => now
) {
  const store = yield* WebhookStore
  const now = yield* storeNow
  const delivery = newDelivery(endpoint, now, { nextAttemptAt: since(now) })
  yield* store.addDelivery({ organization: endpoint.organizationId, delivery, body: "{}", claims: [] })
  return delivery
})

export const deliveriesOf = Effect.fn("deliveriesOf")(function* (endpoint: WebhookEndpointState) {
  const store = yield* WebhookStore
  const { deliveries } = yield* store.listDeliveries({
    organization: endpoint.organizationId,
    endpoint: endpoint.id,
    limit: 100 * PLENTY
  })
  return deliveries
})

/** Leases what is due, and returns the deliveries of the given endpoints. */
export const lease = Effect.fn("lease")(function* (
  endpoints: ReadonlyArray<WebhookEndpointState>,
  parts: Partial<Omit<Parameters<WebhookStore["Service"]["leaseDue"]>[0], "token">> = {}
) {
  const store = yield* WebhookStore
  const token = newDigest()
  const query = {
    token,
    limit: PLENTY,
    perEndpoint: PLENTY,
    assured: 0,
    perOrganization: PLENTY,
    lasts: HOUR,
    ...parts
  }
  const leased = yield* store.leaseDue(query)
  return {
    token,
    leased: leased.filter(({ endpoint }) =>
      endpoints.some(
        ({ id, organizationId }) => id === endpoint.id && organizationId === endpoint.organizationId
      )
    )
  }
})

/** Records the given states of deliveries together with their endpoint. */
export const recordEnds = Effect.fn("recordEnds")(function* (
  stored: StoredEndpoint,
  ends: ReadonlyArray<{ readonly next: WebhookDeliveryState; readonly token: string }>
) {
  const store = yield* WebhookStore
  const [revision] = yield* store.recordAttempts([
    {
      organization: stored.endpoint.organizationId,
      endpoint: stored.endpoint,
      expected: stored.revision,
      deliveries: ends
    }
  ])
  return revision === undefined ? yield* new Stale() : { revision }
})
