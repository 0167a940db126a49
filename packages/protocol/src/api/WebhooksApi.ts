import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { listPage } from "../ListPage.ts"
import { CreateWebhookEndpointBody, WebhookDelivery, WebhookEndpoint } from "../WebhookEndpoint.ts"
import { lifecycleProblems, optionallyKeyedProblems, readProblems } from "./ApiProblems.ts"
import { IdempotencyKey, idempotencyHeader, listQuery } from "./RequestParts.ts"
import { RouteRule } from "./RouteRule.ts"

const READ: RouteRule = { scope: "webhooks", idempotencyKey: "none", body: "none" }
const CREATE: RouteRule = { scope: "webhooks", idempotencyKey: "required", body: "members" }
/** An idempotency key is honoured, not required (part 3). */
const WRITE: RouteRule = { scope: "webhooks", idempotencyKey: "optional", body: "empty" }

const EndpointResource = WebhookEndpoint.annotate({ identifier: "WebhookEndpoint" })
const DeliveryResource = WebhookDelivery.annotate({ identifier: "WebhookDelivery" })

const endpointParams = {
  webhook_endpoint_id: Schema.String.annotate({ description: "Identifier of the webhook endpoint, whe_..." })
}
const deliveryParams = {
  ...endpointParams,
  delivery_id: Schema.String.annotate({ description: "Identifier of the delivery, dlv_..." })
}
const optionalKey = { "idempotency-key": Schema.optionalKey(IdempotencyKey) }

const ENDPOINTS = "/v1/webhook-endpoints"
const ENDPOINT = "/v1/webhook-endpoints/:webhook_endpoint_id"

const create = HttpApiEndpoint.post("create", ENDPOINTS, {
  headers: idempotencyHeader,
  payload: CreateWebhookEndpointBody,
  success: EndpointResource.pipe(HttpApiSchema.status(201)),
  error: lifecycleProblems("webhook_target_not_allowed", "webhook_endpoint_limit_reached")
})
  .annotate(RouteRule, CREATE)
  .annotate(OpenApi.Summary, "Register a webhook endpoint; the answer alone holds its secret")
  .annotate(
    OpenApi.Description,
    "Without event_types it gets all of them. An organization has at most five; one is not edited but deleted and made anew. It is disabled after 20 failed attempts (those of tests count) or 10 exhausted deliveries in a row. What it is sent is under Webhooks in this document."
  )

const list = HttpApiEndpoint.get("list", ENDPOINTS, {
  query: listQuery,
  success: listPage(EndpointResource),
  error: readProblems("invalid_cursor")
})
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "List the webhook endpoints that are not deleted, newest first")

const read = HttpApiEndpoint.get("read", ENDPOINT, {
  params: endpointParams,
  success: EndpointResource,
  error: readProblems("not_found")
})
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "Read a webhook endpoint, a deleted one too")

const remove = HttpApiEndpoint.delete("remove", ENDPOINT, {
  params: endpointParams,
  headers: optionalKey,
  success: HttpApiSchema.NoContent,
  error: optionallyKeyedProblems("not_found")
})
  .annotate(RouteRule, WRITE)
  .annotate(OpenApi.Summary, "Delete a webhook endpoint; what waits for it is never sent")

const reactivate = HttpApiEndpoint.put("reactivate", `${ENDPOINT}/reactivation`, {
  params: endpointParams,
  headers: optionalKey,
  success: EndpointResource,
  error: optionallyKeyedProblems("not_found", "state_conflict")
})
  .annotate(RouteRule, WRITE)
  .annotate(OpenApi.Summary, "Make a disabled webhook endpoint active again, with counters of zero")

const rotate = HttpApiEndpoint.put("rotate", `${ENDPOINT}/secret`, {
  params: endpointParams,
  headers: optionalKey,
  success: EndpointResource,
  error: optionallyKeyedProblems("not_found", "state_conflict")
})
  .annotate(RouteRule, WRITE)
  .annotate(OpenApi.Summary, "Rotate the secret of a webhook endpoint; the answer alone holds the new one")
  .annotate(
    OpenApi.Description,
    "The new secret alone signs from then on, retries too: there is no overlap. A receiver that takes either for a while misses nothing; one that refuses in between is sent the delivery again."
  )

const test = HttpApiEndpoint.post("test", `${ENDPOINT}/test`, {
  params: endpointParams,
  headers: optionalKey,
  success: DeliveryResource.pipe(HttpApiSchema.status(201)),
  error: optionallyKeyedProblems("not_found", "state_conflict")
})
  .annotate(RouteRule, WRITE)
  .annotate(OpenApi.Summary, "Send a test event to a webhook endpoint, in one attempt")
  .annotate(
    OpenApi.Description,
    "Its type is endpoint.test, and its mandate_id names no mandate. A failure counts as a failed attempt of the endpoint, a success sets that count to zero."
  )

const deliveries = HttpApiEndpoint.get("deliveries", `${ENDPOINT}/deliveries`, {
  params: endpointParams,
  query: listQuery,
  success: listPage(DeliveryResource),
  error: readProblems("not_found", "invalid_cursor")
})
  .annotate(RouteRule, READ)
  .annotate(OpenApi.Summary, "List the deliveries of a webhook endpoint, newest first")

const redeliver = HttpApiEndpoint.post("redeliver", `${ENDPOINT}/deliveries/:delivery_id/redelivery`, {
  params: deliveryParams,
  headers: optionalKey,
  success: DeliveryResource.pipe(HttpApiSchema.status(201)),
  error: optionallyKeyedProblems("not_found", "state_conflict")
})
  .annotate(RouteRule, WRITE)
  .annotate(OpenApi.Summary, "Send the event of a delivery that has ended again, as a new delivery")

/** Webhook endpoints and their deliveries (part 8). */
export class WebhooksApi extends HttpApiGroup.make("webhooks").add(
  create,
  list,
  read,
  remove,
  reactivate,
  rotate,
  test,
  deliveries,
  redeliver
) {}
