import { Deployment } from "@svc/domain/ports/Deployment"
import {
  listWebhookDeliveries,
  redeliverWebhook,
  testWebhookEndpoint
} from "@svc/domain/programs/WebhookDeliveries"
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  listWebhookEndpoints,
  reactivateWebhookEndpoint,
  readWebhookEndpoint,
  rotateWebhookSecret
} from "@svc/domain/programs/WebhookEndpoints"
import { WebhooksApi } from "@svc/protocol/api/WebhooksApi"
import { Effect } from "effect"
import { answer, writeAnswer } from "./Answer.ts"
import { groupRoutes } from "./GroupRoutes.ts"
import { pageQuery } from "./PageQuery.ts"

/** Webhook endpoints and their deliveries (part 8). */
export const webhookRoutes = groupRoutes(WebhooksApi, {
  create: ({ write }) =>
    Effect.gen(function* () {
      const created = yield* createWebhookEndpoint(write)
      const { baseUrl } = yield* Deployment
      return writeAnswer(created, { location: `${baseUrl}/v1/webhook-endpoints/${created.resource.id}` })
    }),
  list: ({ organization, query }) =>
    Effect.map(listWebhookEndpoints({ organization: organization.id, ...pageQuery(query) }), answer),
  read: ({ organization, params }) =>
    Effect.map(
      readWebhookEndpoint({ organization: organization.id, endpointId: params.webhook_endpoint_id }),
      answer
    ),
  remove: ({ params, write }) =>
    Effect.map(deleteWebhookEndpoint({ ...write, endpointId: params.webhook_endpoint_id }), ({ replayed }) =>
      writeAnswer({ resource: undefined, replayed })
    ),
  reactivate: ({ params, write }) =>
    Effect.map(reactivateWebhookEndpoint({ ...write, endpointId: params.webhook_endpoint_id }), (changed) =>
      writeAnswer(changed)
    ),
  rotate: ({ params, write }) =>
    Effect.map(rotateWebhookSecret({ ...write, endpointId: params.webhook_endpoint_id }), (changed) =>
      writeAnswer(changed)
    ),
  test: ({ params, write }) =>
    Effect.map(testWebhookEndpoint({ ...write, endpointId: params.webhook_endpoint_id }), (sent) =>
      writeAnswer(sent)
    ),
  deliveries: ({ organization, params, query }) =>
    Effect.map(
      listWebhookDeliveries({
        organization: organization.id,
        endpointId: params.webhook_endpoint_id,
        ...pageQuery(query)
      }),
      answer
    ),
  redeliver: ({ params, write }) =>
    Effect.map(
      redeliverWebhook({
        ...write,
        endpointId: params.webhook_endpoint_id,
        deliveryId: params.delivery_id
      }),
      (sent) => writeAnswer(sent)
    )
})
