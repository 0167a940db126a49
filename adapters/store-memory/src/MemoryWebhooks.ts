import { ClaimTaken, Stale, type StreamChange, type UniqueClaim } from "@svc/domain/ports/MandateStore"
import {
  type EndedAttempts,
  EndpointLimitReached,
  type LeasedDelivery,
  type WebhookStore
} from "@svc/domain/ports/WebhookStore"
import { deliveryIdOf } from "@svc/domain/webhook/DeliveryId"
import { isKept, keptDeliveriesAfter } from "@svc/domain/webhook/KeptDeliveries"
import type { StoredDelivery } from "@svc/domain/webhook/WebhookDelivery"
import {
  afterReactivation,
  beginAttempt,
  isDue,
  isWorkerLost,
  pendingDelivery,
  type WebhookDeliveryState
} from "@svc/domain/webhook/WebhookDelivery"
import type { StoredEndpoint } from "@svc/domain/webhook/WebhookEndpoint"
import { type WebhookEndpointState, wants } from "@svc/domain/webhook/WebhookEndpoint"
import type { Instant } from "@svc/protocol/Timestamp"
import * as Result from "effect/Result"
import { deepFreeze } from "./DeepFreeze.ts"
import type { MemoryState, MemoryWebhookEndpoint, Tenant } from "./MemoryState.ts"

/** Each of these is one synchronous step, so it is atomic. */

type Service = WebhookStore["Service"]
type Query<Method extends keyof Service> = Parameters<Service[Method]>[0]

const storedOf = ({ endpoint, missedSince, revision }: MemoryWebhookEndpoint): StoredEndpoint => ({
  endpoint,
  revision,
  ...(missedSince === undefined ? {} : { missedSince })
})

const place = (
  state: MemoryState,
  query: { readonly organization: string; readonly endpoint?: string | undefined }
): MemoryWebhookEndpoint | undefined =>
  query.endpoint === undefined ? undefined : state.tenant(query.organization)?.webhooks.get(query.endpoint)

const heldOf = (
  state: MemoryState,
  query: { readonly organization: string; readonly idempotencyKey?: string },
  now: Instant
) => {
  const { idempotencyKey, organization } = query
  const held =
    idempotencyKey === undefined
      ? undefined
      : state.tenant(organization)?.claims.holder("idempotency_key", idempotencyKey, now)
  return held === undefined ? {} : { held }
}

export const loadEndpoint = (state: MemoryState, query: Query<"loadEndpoint">, now: Instant) => {
  const found = place(state, query)
  return { now, ...heldOf(state, query, now), ...(found === undefined ? {} : { stored: storedOf(found) }) }
}

const newestFirst = <A>(entries: Iterable<readonly [string, A]>): ReadonlyArray<readonly [string, A]> =>
  [...entries].sort(([one], [other]) => (one < other ? 1 : -1))

const living = (tenant: Tenant | undefined): ReadonlyArray<MemoryWebhookEndpoint> =>
  newestFirst(tenant?.webhooks ?? [])
    .map(([, entry]) => entry)
    .filter(({ endpoint }) => endpoint.status !== "deleted")

export const listEndpoints = (state: MemoryState, organization: string): ReadonlyArray<StoredEndpoint> =>
  living(state.tenant(organization)).map(storedOf)

const takenClaim = (
  tenant: Tenant,
  claims: ReadonlyArray<UniqueClaim>,
  now: Instant
): ClaimTaken | undefined => {
  for (const { kind, name } of claims) {
    const holder = tenant.claims.holder(kind, name, now)
    if (holder !== undefined) return new ClaimTaken({ kind, name, holder })
  }
  return undefined
}

export const changeEndpoint = (
  state: MemoryState,
  change: Query<"changeEndpoint">,
  now: Instant
): Result.Result<{ readonly revision: number }, Stale | ClaimTaken | EndpointLimitReached> => {
  const tenant = state.tenantToWrite(change.organization)
  const known = tenant.webhooks.get(change.next.id)
  if ((known?.revision ?? "absent") !== change.expected) return Result.fail(new Stale())
  const taken = takenClaim(tenant, change.claims, now)
  if (taken !== undefined) return Result.fail(taken)
  if (known === undefined && living(tenant).length >= change.limit) {
    return Result.fail(new EndpointLimitReached())
  }
  const entry: MemoryWebhookEndpoint = known ?? {
    endpoint: change.next,
    revision: 0,
    missedSince: undefined,
    kept: undefined,
    deliveries: new Map(),
    waiting: new Set(),
    endedAt: new Map()
  }
  replaceEndpoint(entry, change.next)
  tenant.webhooks.set(change.next.id, entry)
  if (change.spread !== undefined) {
    const waiting = waitingOf(entry).map(({ delivery }) => delivery)
    for (const delivery of afterReactivation(waiting, change.spread)) moveDelivery(entry, delivery)
  }
  for (const claim of change.claims) tenant.claims.take(claim, now)
  return Result.succeed({ revision: entry.revision })
}

const replaceEndpoint = (entry: MemoryWebhookEndpoint, next: WebhookEndpointState): void => {
  if (next.status === "active") entry.missedSince = undefined
  entry.kept = keptDeliveriesAfter(entry.kept, next)
  entry.endpoint = deepFreeze(next)
  entry.revision += 1
}

const putDelivery = (entry: MemoryWebhookEndpoint, delivery: WebhookDeliveryState, body: string): void => {
  entry.deliveries.set(delivery.id, deepFreeze({ delivery, body }))
  if (delivery.state === "pending") entry.waiting.add(delivery.id)
  else entry.waiting.delete(delivery.id)
}

/** Replaces a delivery that is there, with the body that it has. */
const moveDelivery = (entry: MemoryWebhookEndpoint, delivery: WebhookDeliveryState): void =>
  putDelivery(entry, delivery, entry.deliveries.get(delivery.id)!.body)

export const loadDelivery = (state: MemoryState, query: Query<"loadDelivery">, now: Instant) => {
  const found = place(state, query)
  const delivery = query.delivery === undefined ? undefined : found?.deliveries.get(query.delivery)
  return {
    ...loadEndpoint(state, query, now),
    ...(delivery === undefined ? {} : { delivery })
  }
}

export const listDeliveries = (state: MemoryState, query: Query<"listDeliveries">) => {
  const found = place(state, query)
  if (found === undefined) return { deliveries: [] }
  const { after, limit } = query
  return {
    stored: storedOf(found),
    deliveries: newestFirst(found.deliveries)
      .filter(([id]) => after === undefined || id < after)
      .slice(0, limit + 1)
      .map(([, { delivery }]) => delivery)
  }
}

export const addDelivery = (
  state: MemoryState,
  { body, claims, delivery, organization }: Query<"addDelivery">,
  now: Instant
): Result.Result<void, Stale | ClaimTaken> => {
  const entry = place(state, { organization, endpoint: delivery.endpointId })
  if (entry?.endpoint.status !== "active") return Result.fail(new Stale())
  const tenant = state.tenantToWrite(organization)
  const taken = takenClaim(tenant, claims, now)
  if (taken !== undefined) return Result.fail(taken)
  putDelivery(entry, delivery, body)
  for (const claim of claims) tenant.claims.take(claim, now)
  return Result.succeed(undefined)
}

/** Counts one more delivery that is kept for a disabled endpoint, or notes that it is missed. */
const admits = (entry: MemoryWebhookEndpoint, now: Instant): boolean => {
  const { kept } = entry
  if (kept === undefined) return true
  if (!isKept(kept, now)) {
    entry.missedSince ??= now
    return false
  }
  entry.kept = { ...kept, left: kept.left - 1 }
  return true
}

/** Makes the deliveries of a change's events, in the step that records them (part 8). */
export const fanOut = (tenant: Tenant, change: StreamChange, now: Instant): void => {
  const entries = [...tenant.webhooks.values()].filter(({ endpoint }) => endpoint.status !== "deleted")
  for (const { id: eventId, notification, type: eventType } of change.events) {
    for (const entry of entries) {
      if (!wants(entry.endpoint, eventType) || !admits(entry, now)) continue
      const endpointId = entry.endpoint.id
      const id = deliveryIdOf(eventId, endpointId)
      const organizationId = change.organization
      const delivery = pendingDelivery({ id, organizationId, endpointId, eventId, eventType }, now)
      putDelivery(entry, delivery, notification)
    }
  }
}

const everyEndpoint = (state: MemoryState): ReadonlyArray<MemoryWebhookEndpoint> =>
  [...state.tenants.values()].flatMap(({ webhooks }) => [...webhooks.values()])

const waitingOf = (entry: MemoryWebhookEndpoint): ReadonlyArray<StoredDelivery> =>
  [...entry.waiting].map((id) => entry.deliveries.get(id)!)

const openOf = (entry: MemoryWebhookEndpoint): number =>
  waitingOf(entry).filter(({ delivery }) => delivery.open !== undefined).length

/** What an endpoint may be sent now, what waits longest first, each with the turn that it has. */
const dueOf = (entry: MemoryWebhookEndpoint, perEndpoint: number, now: Instant) => {
  const underWay = openOf(entry)
  const since = ({ delivery }: StoredDelivery): Instant => delivery.nextAttemptAt ?? delivery.createdAt
  return waitingOf(entry)
    .filter(({ delivery }) => isDue(delivery, entry.endpoint, now))
    .sort((one, other) => (since(one) < since(other) ? -1 : 1))
    .slice(0, Math.max(0, perEndpoint - underWay))
    .map((stored, at) => ({ entry, stored, since: since(stored), turn: underWay + at }))
}

type Due = ReturnType<typeof dueOf>[number]

const inTurns = (one: Due, other: Due): number =>
  one.turn - other.turn || (one.since < other.since ? -1 : one.since > other.since ? 1 : 0)

/** What an organization may be sent now, in the order in which it comes. */
const dueOfTenant = ({ webhooks }: Tenant, query: Query<"leaseDue">, now: Instant): ReadonlyArray<Due> => {
  const entries = [...webhooks.values()]
  const underWay = entries.reduce((sum, entry) => sum + openOf(entry), 0)
  return entries
    .flatMap((entry) => dueOf(entry, query.bounds?.get(entry.endpoint.id) ?? query.perEndpoint, now))
    .sort(inTurns)
    .filter(({ turn }, at) => turn < query.assured || underWay + at < query.perOrganization)
}

export const leaseDue = (
  state: MemoryState,
  query: Query<"leaseDue">,
  now: Instant
): ReadonlyArray<LeasedDelivery> =>
  [...state.tenants.values()]
    .flatMap((tenant) => dueOfTenant(tenant, query, now))
    .sort(inTurns)
    .slice(0, query.limit)
    .map(({ entry, stored }) => {
      const { lasts, token } = query
      const delivery = beginAttempt(stored.delivery, entry.endpoint, { token, now, lasts })
      putDelivery(entry, delivery, stored.body)
      return { ...storedOf(entry), delivery, body: stored.body }
    })

export const expiredAttempts = (state: MemoryState, { limit }: Query<"expiredAttempts">, now: Instant) => ({
  now,
  expired: everyEndpoint(state)
    .flatMap((entry) =>
      waitingOf(entry)
        .filter(({ delivery }) => isWorkerLost(delivery, now))
        .map(({ delivery }) => ({ ...storedOf(entry), delivery }))
    )
    .slice(0, limit)
})

export const recordEnded = (
  state: MemoryState,
  { deliveries, endpoint, expected, organization }: EndedAttempts,
  now: Instant
): number | undefined => {
  const entry = place(state, { organization, endpoint: endpoint.id })
  if (entry?.revision !== expected) return undefined
  const isOpen = ({ next, token }: EndedAttempts["deliveries"][number]): boolean =>
    entry.deliveries.get(next.id)?.delivery.open?.token === token
  if (!deliveries.every(isOpen)) return undefined
  replaceEndpoint(entry, endpoint)
  for (const { next } of deliveries) {
    moveDelivery(entry, next)
    if (next.state !== "pending") entry.endedAt.set(next.id, now)
  }
  return entry.revision
}

export const reload = (state: MemoryState, query: Query<"reload">, now: Instant) => {
  const found = place(state, query)
  if (found === undefined) return { now, deliveries: [] }
  const deliveries = query.deliveries.flatMap((id) => {
    const stored = found.deliveries.get(id)
    return stored === undefined ? [] : [stored.delivery]
  })
  return { now, stored: storedOf(found), deliveries }
}
