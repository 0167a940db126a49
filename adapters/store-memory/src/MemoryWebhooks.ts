import { takenClaim } from "@svc/domain/engine/ChangeAdmission"
import { type ClaimTaken, Stale, type StreamChange, type UniqueClaim } from "@svc/domain/ports/MandateStore"
import {
  type EndedAttempts,
  EndpointLimitReached,
  type LeasedDelivery,
  type WebhookStore
} from "@svc/domain/ports/WebhookStore"
import { deliveriesInTurn } from "@svc/domain/webhook/DeliveryTurns"
import { eventDeliveries } from "@svc/domain/webhook/EventDeliveries"
import { keptDeliveriesAfter } from "@svc/domain/webhook/KeptDeliveries"
import type { StoredDelivery } from "@svc/domain/webhook/WebhookDelivery"
import {
  afterReactivation,
  beginAttempt,
  isWorkerLost,
  type WebhookDeliveryState
} from "@svc/domain/webhook/WebhookDelivery"
import type { StoredEndpoint, WebhookEndpointState } from "@svc/domain/webhook/WebhookEndpoint"
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

const heldIn = (tenant: Tenant, claims: ReadonlyArray<UniqueClaim>, now: Instant): ClaimTaken | undefined =>
  takenClaim(claims, ({ kind, name }) => tenant.claims.holder(kind, name, now))

export const changeEndpoint = (
  state: MemoryState,
  change: Query<"changeEndpoint">,
  now: Instant
): Result.Result<{ readonly revision: number }, Stale | ClaimTaken | EndpointLimitReached> => {
  const tenant = state.tenantToWrite(change.organization)
  const known = tenant.webhooks.get(change.next.id)
  if ((known?.revision ?? "absent") !== change.expected) return Result.fail(new Stale())
  const taken = heldIn(tenant, change.claims, now)
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
  replaceEndpoint(state, entry, change.next)
  tenant.webhooks.set(change.next.id, entry)
  if (change.spread !== undefined) {
    const waiting = waitingOf(entry).map(({ delivery }) => delivery)
    for (const delivery of afterReactivation(waiting, change.spread)) moveDelivery(entry, delivery)
  }
  for (const claim of change.claims) tenant.claims.take(claim, now)
  return Result.succeed({ revision: entry.revision })
}

const replaceEndpoint = (
  state: MemoryState,
  entry: MemoryWebhookEndpoint,
  next: WebhookEndpointState
): void => {
  if (next.status === "active") entry.missedSince = undefined
  entry.kept = keptDeliveriesAfter(entry.kept, next)
  entry.endpoint = deepFreeze(next)
  entry.revision = state.nextRevision(entry.revision)
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
  const taken = heldIn(tenant, claims, now)
  if (taken !== undefined) return Result.fail(taken)
  putDelivery(entry, delivery, body)
  for (const claim of claims) tenant.claims.take(claim, now)
  return Result.succeed(undefined)
}

/** Makes the deliveries of a change's events, in the step that records them (part 8). */
export const fanOut = (tenant: Tenant, { events }: StreamChange, now: Instant): void => {
  for (const entry of tenant.webhooks.values()) {
    const { deliveries, kept, missedSince } = eventDeliveries(entry, events, now)
    entry.kept = kept
    entry.missedSince = missedSince
    for (const { body, delivery } of deliveries) putDelivery(entry, delivery, body)
  }
}

const everyEndpoint = (state: MemoryState): ReadonlyArray<MemoryWebhookEndpoint> =>
  [...state.tenants.values()].flatMap(({ webhooks }) => [...webhooks.values()])

const waitingOf = (entry: MemoryWebhookEndpoint): ReadonlyArray<StoredDelivery> =>
  [...entry.waiting].map((id) => entry.deliveries.get(id)!)

export const leaseDue = (
  state: MemoryState,
  query: Query<"leaseDue">,
  now: Instant
): ReadonlyArray<LeasedDelivery> =>
  deliveriesInTurn(
    [...state.tenants.values()].map(({ webhooks }) =>
      [...webhooks.values()].map((entry) => ({
        entry,
        endpoint: entry.endpoint,
        waiting: waitingOf(entry).map(({ delivery }) => delivery)
      }))
    ),
    query,
    now
  ).map(({ delivery: { id }, place: { entry } }) => {
    const { lasts, token } = query
    const { body, delivery } = entry.deliveries.get(id)!
    const begun = beginAttempt(delivery, entry.endpoint, { token, now, lasts })
    putDelivery(entry, begun, body)
    return { ...storedOf(entry), delivery: begun, body }
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
  replaceEndpoint(state, entry, endpoint)
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
