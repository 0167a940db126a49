import { assert, describe, it } from "@effect/vitest"
import { canonicalJson } from "../json/CanonicalJson.ts"
import { testWebhookBody, webhookBody } from "./WebhookBody.ts"

const EVENT = {
  id: "evt_01jdxxxxxxxxxxxxxxxxxxxxxx",
  occurredAt: "2026-12-01T00:00:00.000000000Z",
  mandateId: "mnd_01jdxxxxxxxxxxxxxxxxxxxxxx",
  version: 2
} as const

describe("the body of a webhook (part 8)", () => {
  it("has the state that an event of the mandate leads to", () => {
    assert.strictEqual(
      webhookBody({ ...EVENT, type: "mandate.approved", state: "ACTIVE" }),
      '{"data":{"mandate_id":"mnd_01jdxxxxxxxxxxxxxxxxxxxxxx","state":"ACTIVE","version":2},' +
        '"id":"evt_01jdxxxxxxxxxxxxxxxxxxxxxx","occurred_at":"2026-12-01T00:00:00.000000000Z","type":"mandate.approved"}'
    )
  })

  it("has the authorization of its event, and then no state", () => {
    const authorizationId = "aut_01jdxxxxxxxxxxxxxxxxxxxxxx"
    const body = webhookBody({ ...EVENT, type: "authorization.committed", authorizationId })
    assert.deepStrictEqual(JSON.parse(body), {
      id: EVENT.id,
      type: "authorization.committed",
      occurred_at: EVENT.occurredAt,
      data: { mandate_id: EVENT.mandateId, authorization_id: authorizationId, version: 2 }
    })
    assert.strictEqual(body, canonicalJson(JSON.parse(body)))
  })
})

it("the body of a test webhook (part 8) names a mandate that does not exist", () => {
  assert.strictEqual(
    testWebhookBody(EVENT),
    '{"data":{"mandate_id":"mnd_00000000000000000000000000","version":0},' +
      '"id":"evt_01jdxxxxxxxxxxxxxxxxxxxxxx","occurred_at":"2026-12-01T00:00:00.000000000Z","type":"endpoint.test"}'
  )
})
