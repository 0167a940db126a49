import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { described } from "../Described.ts"
import { KEYED_ROUTES } from "../request/KeyedRoute.ts"
import { listPage } from "../request/ListPage.ts"
import { CreateWebhookEndpointBody, WebhookDelivery, WebhookEndpoint } from "../webhook/WebhookEndpoint.ts"
import { lifecycleProblems, optionallyKeyedProblems, readProblems } from "./ApiProblems.ts"
import { IdempotencyKey, idempotencyHeader, listQuery } from "./RequestParts.ts"
import { pathOf } from "./RoutePath.ts"
import { RouteRule } from "./RouteRule.ts"

const READ: RouteRule = { scope: "webhooks", idempotencyKey: "none", body: "none" }
const CREATE: RouteRule = { scope: "webhooks", idempotencyKey: "required", body: "members" }
/** An idempotency key is honoured, not required (part 3). */
const WRITE: RouteRule = { scope: "webhooks", idempotencyKey: "optional", body: "empty" }

const EndpointResource = WebhookEndpoint.annotate({
  identifier: "WebhookEndpoint",
  description: "Where events are sent, and how that goes."
})
const DeliveryResource = WebhookDelivery.annotate({
  identifier: "WebhookDelivery",
  description: "One event on its way to one endpoint, with every attempt."
})

const endpointParams = {
  webhook_endpoint_id: described(
    Schema.String,
    "Identifier of the webhook endpoint, whe_...",
    "whe_01kbcd2e3f4g5h6j7k8m9npqrs"
  )
}
const deliveryParams = {
  ...endpointParams,
  delivery_id: described(
    Schema.String,
    "Identifier of the delivery, dlv_...",
    "dlv_01kbcd2e3f4g5h6j7k8m9npqrs"
  )
}
const optionalKey = { "idempotency-key": Schema.optionalKey(IdempotencyKey) }

const ENDPOINTS = pathOf(KEYED_ROUTES.createWebhookEndpoint)
const ENDPOINT = pathOf(KEYED_ROUTES.deleteWebhookEndpoint)

const create = HttpApiEndpoint.post("create", ENDPOINTS, {
  headers: idempotencyHeader,
  payload: CreateWebhookEndpointBody.annotate({ identifier: "CreateWebhookEndpoint" }),
  success: EndpointResource.pipe(HttpApiSchema.status(201)),
  error: lifecycleProblems("webhook_target_not_allowed", "webhook_endpoint_limit_reached")
})
  .annotate(OpenApi.Identifier, "createWebhookEndpoint")
  .annotate(RouteRule, CREATE)
  .annotate(OpenApi.Summary, "Register a webhook endpoint")
  .annotate(
    OpenApi.Description,
    "The answer alone holds its secret. Without event_types it gets all of them. An organization has at most five; one is not edited but deleted and made anew. It is disabled after 20 failed attempts (those of tests count) or 10 exhausted deliveries in a row. What it is sent is under Webhooks in this document."
  )

const list = HttpApiEndpoint.get("list", ENDPOINTS, {
  query: listQuery,
  success: listPage(EndpointResource).annotate({ identifier: "WebhookEndpointPage" }),
  error: readProblems("invalid_cursor")
})
  .annotate(OpenApi.Identifier, "listWebhookEndpoints")
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "List webhook endpoints")
  .annotate(OpenApi.Description, "Newest first, without deleted ones, and never with their secrets.")

const read = HttpApiEndpoint.get("read", ENDPOINT, {
  params: endpointParams,
  success: EndpointResource,
  error: readProblems("not_found")
})
  .annotate(OpenApi.Identifier, "getWebhookEndpoint")
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "Read a webhook endpoint")
  .annotate(
    OpenApi.Description,
    "A deleted one too. disabled_reason and the two counts say how deliveries go."
  )

const remove = HttpApiEndpoint.delete("remove", ENDPOINT, {
  params: endpointParams,
  headers: optionalKey,
  success: HttpApiSchema.NoContent,
  error: optionallyKeyedProblems("not_found")
})
  .annotate(OpenApi.Identifier, "deleteWebhookEndpoint")
  .annotate(RouteRule, WRITE)
  .annotate(OpenApi.Summary, "Delete a webhook endpoint")
  .annotate(
    OpenApi.Description,
    "For good: what waits for it is never sent. Deleting it again is 204 too. It stays readable, with status deleted."
  )

const reactivate = HttpApiEndpoint.put("reactivate", pathOf(KEYED_ROUTES.reactivateWebhookEndpoint), {
  params: endpointParams,
  headers: optionalKey,
  success: EndpointResource,
  error: optionallyKeyedProblems("not_found", "state_conflict")
})
  .annotate(OpenApi.Identifier, "reactivateWebhookEndpoint")
  .annotate(RouteRule, WRITE)
  .annotate(OpenApi.Summary, "Reactivate a webhook endpoint")
  .annotate(
    OpenApi.Description,
    "A disabled one is active again, with counters of zero. What was kept while it was disabled is sent, spread over a minute. On an active one nothing changes; a deleted one is 409 state_conflict."
  )

const rotate = HttpApiEndpoint.put("rotate", pathOf(KEYED_ROUTES.rotateWebhookSecret), {
  params: endpointParams,
  headers: optionalKey,
  success: EndpointResource,
  error: optionallyKeyedProblems("not_found", "state_conflict")
})
  .annotate(OpenApi.Identifier, "rotateWebhookSecret")
  .annotate(RouteRule, WRITE)
  .annotate(OpenApi.Summary, "Rotate a webhook secret")
  .annotate(
    OpenApi.Description,
    "The answer alone holds the new secret, which alone signs from then on, retries too: there is no overlap. A receiver that takes either for a while misses nothing; one that refuses in between is sent the delivery again."
  )

const test = HttpApiEndpoint.post("test", pathOf(KEYED_ROUTES.testWebhookEndpoint), {
  params: endpointParams,
  headers: optionalKey,
  success: DeliveryResource.pipe(HttpApiSchema.status(201)),
  error: optionallyKeyedProblems("not_found", "state_conflict")
})
  .annotate(OpenApi.Identifier, "testWebhookEndpoint")
  .annotate(RouteRule, WRITE)
  .annotate(OpenApi.Summary, "Send a test event")
  .annotate(
    OpenApi.Description,
    "In one attempt. Its type is endpoint.test, and its mandate_id names no mandate. A failure counts as a failed attempt of the endpoint, a success sets that count to zero."
  )

const deliveries = HttpApiEndpoint.get("deliveries", `${ENDPOINT}/deliveries`, {
  params: endpointParams,
  query: listQuery,
  success: listPage(DeliveryResource).annotate({ identifier: "WebhookDeliveryPage" }),
  error: readProblems("not_found", "invalid_cursor")
})
  .annotate(OpenApi.Identifier, "listWebhookDeliveries")
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "List deliveries")
  .annotate(
    OpenApi.Description,
    "Newest first: every attempt, with the status of its answer or the reason why there was none."
  )

const redeliver = HttpApiEndpoint.post("redeliver", pathOf(KEYED_ROUTES.redeliverWebhook), {
  params: deliveryParams,
  headers: optionalKey,
  success: DeliveryResource.pipe(HttpApiSchema.status(201)),
  error: optionallyKeyedProblems("not_found", "state_conflict")
})
  .annotate(OpenApi.Identifier, "redeliverWebhook")
  .annotate(RouteRule, WRITE)
  .annotate(OpenApi.Summary, "Send a delivery again")
  .annotate(
    OpenApi.Description,
    "As a new delivery, with the same event id and the same bytes. Only of a delivery that is delivered or exhausted, on an active endpoint."
  )

/** Webhook endpoints and their deliveries (part 8). */
export class WebhooksApi extends HttpApiGroup.make("webhooks")
  .add(create, list, read, remove, reactivate, rotate, test, deliveries, redeliver)
  .annotate(OpenApi.Title, "Webhook endpoints")
  .annotate(
    OpenApi.Description,
    "Where events are sent, and every attempt to send them. What arrives there is under Webhooks."
  ) {}
