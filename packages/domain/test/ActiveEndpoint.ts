import type { WebhookEndpointState } from "../src/webhook/WebhookEndpoint.ts"

/** An endpoint that was registered and nothing has happened to yet. */
export const ENDPOINT: WebhookEndpointState = {
  id: "whe_01jdxxxxxxxxxxxxxxxxxxxxxx",
  organizationId: "org_01jdxxxxxxxxxxxxxxxxxxxxxx",
  url: "https://hooks.example/svc",
  status: "active",
  consecutiveFailedAttempts: 0,
  consecutiveExhaustedDeliveries: 0,
  generation: 0,
  secretVersion: 1,
  sealedSecret: "sealed",
  createdAt: 0n,
  updatedAt: 0n
}
