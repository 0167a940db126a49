import { assert, describe, it } from "@effect/vitest"
import { NANOS_PER_MILLISECOND, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { WebhookAttempt, WebhookDelivery } from "@svc/protocol/webhook/WebhookEndpoint"
import { SchemaAST } from "effect"
import { ENDPOINT } from "../../test/ActiveEndpoint.ts"
import type { AttemptError, ShownDeliveryState, WebhookDeliveryState } from "./WebhookDelivery.ts"
import { webhookDeliveryOf, webhookEndpointOf } from "./WebhookResource.ts"

/** Fractions that are absent or short in the least form. */
const ON_THE_SECOND = 1_800_000_000n * NANOS_PER_SECOND
const AT_220_MS = ON_THE_SECOND + 220n * NANOS_PER_MILLISECOND

const DELIVERY: WebhookDeliveryState = {
  id: "dlv_01jdxxxxxxxxxxxxxxxxxxxxxx",
  organizationId: ENDPOINT.organizationId,
  endpointId: ENDPOINT.id,
  eventId: "evt_01jdxxxxxxxxxxxxxxxxxxxxxx",
  eventType: "mandate.approved",
  createdAt: ON_THE_SECOND,
  state: "pending",
  nextAttemptAt: AT_220_MS,
  attempts: [{ at: ON_THE_SECOND, durationMs: 3, error: "timeout" }]
}

const SECOND = "2027-01-15T08:00:00.000000000Z"
const MS_220 = "2027-01-15T08:00:00.220000000Z"

describe("what is shown of webhooks", () => {
  it("has nine fraction digits in every timestamp", () => {
    const endpoint = { ...ENDPOINT, createdAt: ON_THE_SECOND, updatedAt: AT_220_MS }
    const delivery = webhookDeliveryOf(DELIVERY, { endpoint })
    assert.deepStrictEqual([delivery.next_attempt_at, delivery.attempts[0]?.at], [MS_220, SECOND])
    const { created_at, missed_since, updated_at } = webhookEndpointOf({
      endpoint,
      revision: 1,
      missedSince: ON_THE_SECOND
    })
    assert.deepStrictEqual([created_at, updated_at, missed_since], [SECOND, MS_220, SECOND])
  })

  it("is documented state by state and error by error", () => {
    const states: Record<ShownDeliveryState, true> = {
      pending: true,
      delivered: true,
      exhausted: true,
      frozen: true,
      cancelled: true
    }
    const errors: Record<AttemptError, true> = {
      target_refused: true,
      connection_failed: true,
      tls_failed: true,
      timeout: true,
      response_invalid: true,
      secret_unavailable: true,
      worker_lost: true
    }
    for (const [schema, names] of [
      [WebhookDelivery.fields.state, states],
      [WebhookAttempt.fields.error, errors]
    ] as const) {
      const description = SchemaAST.resolveDescription(schema.ast) ?? ""
      for (const name of Object.keys(names)) assert.match(description, new RegExp(`^- ${name}: `, "mu"))
    }
  })
})
