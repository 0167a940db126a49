import { assert, describe, it } from "@effect/vitest"
import { testWebhookBody, webhookBody } from "./WebhookBody.ts"

const EVENT = {
  id: "evt_01jdxxxxxxxxxxxxxxxxxxxxxx",
  occurredAt: "2026-12-01T00:00:00.000000000Z",
  mandateId: "mnd_01jdxxxxxxxxxxxxxxxxxxxxxx",
  version: 2
} as const

describe("webhookBody", () => {
  it("says the state of a mandate that an event of its own life leads to", () => {
    assert.strictEqual(
      webhookBody({ ...EVENT, type: "mandate.approved", state: "ACTIVE" }),
      '{"data":{"mandate_id":"mnd_01jdxxxxxxxxxxxxxxxxxxxxxx","state":"ACTIVE","version":2},' +
        '"id":"evt_01jdxxxxxxxxxxxxxxxxxxxxxx","occurred_at":"2026-12-01T00:00:00.000000000Z","type":"mandate.approved"}'
    )
  })

  it("says which authorization an event belongs to, and no state then", () => {
    const authorizationId = "aut_01jdxxxxxxxxxxxxxxxxxxxxxx"
    assert.deepStrictEqual(
      JSON.parse(webhookBody({ ...EVENT, type: "authorization.committed", authorizationId })),
      {
        id: EVENT.id,
        type: "authorization.committed",
        occurred_at: EVENT.occurredAt,
        data: { mandate_id: EVENT.mandateId, authorization_id: authorizationId, version: 2 }
      }
    )
  })
})

it("testWebhookBody names no mandate that there is", () => {
  assert.strictEqual(
    testWebhookBody(EVENT),
    '{"data":{"mandate_id":"mnd_00000000000000000000000000","version":0},' +
      '"id":"evt_01jdxxxxxxxxxxxxxxxxxxxxxx","occurred_at":"2026-12-01T00:00:00.000000000Z","type":"endpoint.test"}'
  )
})
