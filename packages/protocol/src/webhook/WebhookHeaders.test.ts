import { assert, describe, it } from "@effect/vitest"
import { byteVectors } from "../../test/ByteVectors.ts"
import { webhookHeaders } from "./WebhookHeaders.ts"

describe("the headers of a delivery (part 8)", () => {
  it.each(byteVectors.webhook_signature)("are four, with the vector's signature: $t", (vector) => {
    const body = new Uint8Array(Buffer.from(vector.body_base64, "base64"))
    assert.deepStrictEqual(webhookHeaders({ secret: vector.secret, timestamp: vector.t, body }), {
      "content-type": "application/json",
      "user-agent": "svc-webhooks/1",
      "svc-webhook-version": "1",
      "svc-signature": vector.signature
    })
  })
})
