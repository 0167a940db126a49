/**
 * The writes that take an idempotency key, by operation id: method and route template. A key's fingerprint is made from this
 * text (part 3), so a released one never changes.
 */
export const KEYED_ROUTES = {
  createMandate: "POST /v1/mandates",
  revokeMandate: "PUT /v1/mandates/{mandate_id}/revocation",
  createApprovalSession: "POST /v1/mandates/{mandate_id}/approval-sessions",
  createAuthorization: "POST /v1/mandates/{mandate_id}/authorizations",
  commitAuthorization: "PUT /v1/authorizations/{authorization_id}/commit",
  cancelAuthorization: "PUT /v1/authorizations/{authorization_id}/cancellation",
  reportRefund: "POST /v1/authorizations/{authorization_id}/refunds",
  createWebhookEndpoint: "POST /v1/webhook-endpoints",
  deleteWebhookEndpoint: "DELETE /v1/webhook-endpoints/{webhook_endpoint_id}",
  reactivateWebhookEndpoint: "PUT /v1/webhook-endpoints/{webhook_endpoint_id}/reactivation",
  rotateWebhookSecret: "PUT /v1/webhook-endpoints/{webhook_endpoint_id}/secret",
  testWebhookEndpoint: "POST /v1/webhook-endpoints/{webhook_endpoint_id}/test",
  redeliverWebhook: "POST /v1/webhook-endpoints/{webhook_endpoint_id}/deliveries/{delivery_id}/redelivery"
} as const

export type KeyedRoute = (typeof KEYED_ROUTES)[keyof typeof KEYED_ROUTES]
