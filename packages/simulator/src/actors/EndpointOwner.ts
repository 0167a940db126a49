import {
  listWebhookDeliveries,
  redeliverWebhook,
  testWebhookEndpoint
} from "@svc/domain/programs/WebhookDeliveries"
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  reactivateWebhookEndpoint,
  rotateWebhookSecret
} from "@svc/domain/programs/WebhookEndpoints"
import { Effect } from "effect"
import { MILLISECOND, SECOND } from "../time/Micros.ts"
import { newWrite, rest, type Stage, sendKeyed } from "./Actor.ts"
import type { KnownEndpoint } from "./Tenant.ts"

const EVENT_TYPES = [
  "mandate.created",
  "mandate.approved",
  "authorization.reserved",
  "authorization.committed"
]

const register = Effect.fnUntraced(function* (stage: Stage) {
  const { random, tenant } = stage
  const url = `https://hooks-${random.integer(0, 2 ** 32 - 1).toString(36)}.example/svc`
  const write = newWrite(stage, { url, ...(random.chance(0.3) ? { event_types: EVENT_TYPES } : {}) })
  const outcome = yield* sendKeyed(stage, write.idempotencyKey, {
    what: "register an endpoint",
    about: tenant.organization.id,
    isWrite: true,
    program: createWebhookEndpoint(write)
  })
  if (outcome._tag === "Done") tenant.endpoints.push({ id: outcome.value.resource.id, url })
})

const remove = Effect.fnUntraced(function* (stage: Stage, { id, url }: KnownEndpoint) {
  const { tenant } = stage
  const write = newWrite(stage, {})
  const outcome = yield* sendKeyed(stage, write.idempotencyKey, {
    what: "delete the endpoint",
    about: id,
    isWrite: true,
    program: deleteWebhookEndpoint({ ...write, endpointId: id })
  })
  const at = tenant.endpoints.findIndex((endpoint) => endpoint.url === url)
  if (outcome._tag !== "Unknown" && at >= 0) tenant.endpoints.splice(at, 1)
})

const change = Effect.fnUntraced(function* (
  stage: Stage,
  { id }: KnownEndpoint,
  what: "rotate" | "reactivate" | "test"
) {
  const write = newWrite(stage, {})
  const request = { ...write, endpointId: id }
  const common = { what: `${what} the endpoint`, about: id, isWrite: true }
  if (what === "test") {
    yield* sendKeyed(stage, write.idempotencyKey, { ...common, program: testWebhookEndpoint(request) })
    return
  }
  const program = what === "rotate" ? rotateWebhookSecret(request) : reactivateWebhookEndpoint(request)
  yield* sendKeyed(stage, write.idempotencyKey, { ...common, program })
})

/** An owner who has been told that an endpoint is disabled, and makes it active again at once. */
export const reactivateSoon = Effect.fnUntraced(function* (stage: Stage, endpoint: string) {
  yield* stage.client.sleep(stage.random.integer(MILLISECOND, 2 * SECOND))
  yield* change(stage, { id: endpoint, url: "" }, "reactivate")
})

const redeliver = Effect.fnUntraced(function* (stage: Stage, { id }: KnownEndpoint) {
  const { client, random, tenant } = stage
  const listed = yield* client.ask({
    what: "list deliveries",
    about: id,
    isWrite: false,
    program: listWebhookDeliveries({ organization: tenant.organization.id, endpointId: id, limit: 20 })
  })
  if (listed._tag !== "Done" || listed.value.data.length === 0) return
  const delivery = random.pick(listed.value.data)
  const write = newWrite(stage, {})
  yield* sendKeyed(stage, write.idempotencyKey, {
    what: `send ${delivery.id} again`,
    about: id,
    isWrite: true,
    program: redeliverWebhook({ ...write, endpointId: id, deliveryId: delivery.id })
  })
})

const hasDisabled = ({ audit, tenant }: Stage): boolean =>
  tenant.endpoints.some(({ id }) => audit.deliveries.statusOf(id) === "disabled")

/** Who looks after the endpoints of an organization until the run is over. */
export const endpointOwner = Effect.fnUntraced(function* (stage: Stage) {
  const { audit, client, random, tenant } = stage
  while (!stage.isOver()) {
    yield* hasDisabled(stage) ? client.sleep(random.integer(MILLISECOND, SECOND)) : rest(stage)
    const disabled = tenant.endpoints.filter(({ id }) => audit.deliveries.statusOf(id) === "disabled")
    if (tenant.endpoints.length < random.integer(1, 2)) yield* register(stage)
    const endpoint = random.pick(disabled.length > 0 && random.chance(0.9) ? disabled : tenant.endpoints)
    if (endpoint === undefined) continue
    if (audit.deliveries.statusOf(endpoint.id) === "disabled") {
      yield* change(stage, endpoint, "reactivate")
      continue
    }
    const choice = random.next()
    if (choice < 0.35) yield* change(stage, endpoint, "rotate")
    else if (choice < 0.6) yield* change(stage, endpoint, "test")
    else if (choice < 0.85) yield* redeliver(stage, endpoint)
    else if (choice < 0.93) yield* change(stage, endpoint, "reactivate")
    else if (choice < 0.95) yield* remove(stage, endpoint)
  }
})
