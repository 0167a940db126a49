import { assert, describe, it } from "@effect/vitest"
import { byteVectors } from "@svc/protocol/test/ByteVectors"
import { testWebhookBody, webhookBody } from "@svc/protocol/webhook/WebhookBody"
import { webhookSignature } from "@svc/protocol/webhook/WebhookSignature"
import * as fc from "fast-check"
import { type ReceivedWebhook, SvcError, verifyWebhook } from "./index.ts"

const [first, second] = byteVectors.webhook_signature
const { secret, t } = first!
const otherSecret = second!.secret

const TEXT = webhookBody({
  id: "evt_01kbcd2e3f4g5h6j7k8m9npqrs",
  type: "mandate.approved",
  occurredAt: "2026-12-01T09:00:00.000000000Z",
  mandateId: "mnd_01kbcd2e3f4g5h6j7k8m9npqrs",
  state: "ACTIVE",
  version: 2
})
const body = new TextEncoder().encode(TEXT)
const signature = webhookSignature({ secret, timestamp: t, body })
const hex = signature.split("v1=")[1]!

const outcome = (
  change: Partial<ReceivedWebhook> & { readonly signature?: string } = {}
): Promise<string> => {
  const { signature: header = signature, ...rest } = change
  const headers = { "svc-signature": header }
  return verifyWebhook({ secrets: [secret], headers, body, now: t, ...rest }).then(
    ({ id }) => id,
    (error) => {
      assert.instanceOf(error, SvcError)
      assert.isFalse(error.retryable)
      return error.code
    }
  )
}

const ID = "evt_01kbcd2e3f4g5h6j7k8m9npqrs"

describe("a webhook (part 8)", () => {
  it("that is authentic gives its event", async () => {
    const event = await verifyWebhook({
      secrets: [secret],
      headers: { "Svc-Signature": signature },
      body,
      now: t
    })
    assert.deepStrictEqual(event, JSON.parse(TEXT))
  })

  it("is verified for each vector, whose bodies are no events", async () => {
    for (const vector of byteVectors.webhook_signature) {
      const bytes = new Uint8Array(Buffer.from(vector.body_base64, "base64"))
      const given = { secrets: [vector.secret], signature: vector.signature, body: bytes, now: vector.t }
      assert.strictEqual(await outcome(given), "webhook_body_malformed")
      assert.strictEqual(
        await outcome({ ...given, secrets: [otherSecret === vector.secret ? secret : otherSecret] }),
        "webhook_signature_mismatch"
      )
    }
  })

  it("may be a test of the endpoint", async () => {
    const text = testWebhookBody({ id: ID, occurredAt: "2026-12-01T09:00:00.000000000Z" })
    const bytes = new TextEncoder().encode(text)
    assert.strictEqual(
      await outcome({ body: bytes, signature: webhookSignature({ secret, timestamp: t, body: bytes }) }),
      ID
    )
  })

  it("is taken as bytes, a buffer or the text, with headers of any kind", async () => {
    for (const given of [Buffer.from(body), body.slice().buffer, TEXT]) {
      assert.strictEqual(await outcome({ body: given }), ID)
    }
    const reader = { get: (name: string) => (name === "svc-signature" ? signature : null) }
    for (const headers of [
      new Headers({ "Svc-Signature": signature }),
      reader,
      { "svc-signature": [signature] }
    ]) {
      assert.strictEqual(await outcome({ headers }), ID)
    }
  })

  it("may be signed with any of several secrets", async () => {
    assert.strictEqual(await outcome({ secrets: [otherSecret, secret] }), ID)
    assert.strictEqual(await outcome({ secrets: [secret, otherSecret] }), ID)
    assert.strictEqual(await outcome({ secrets: [otherSecret, otherSecret] }), "webhook_signature_mismatch")
  })

  it("may be 300 seconds off in either direction, or as much as the receiver says", async () => {
    for (const now of [t - 300, t + 300]) assert.strictEqual(await outcome({ now }), ID)
    for (const now of [t - 301, t + 301, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.strictEqual(await outcome({ now }), "webhook_timestamp_out_of_tolerance")
    }
    assert.strictEqual(await outcome({ now: t + 10, tolerance: 10 }), ID)
    assert.strictEqual(await outcome({ now: t + 11, tolerance: 10 }), "webhook_timestamp_out_of_tolerance")
    assert.strictEqual(await outcome({ tolerance: Number.NaN }), "webhook_timestamp_out_of_tolerance")
  })

  it("is not authentic with any other byte", async () => {
    for (let index = 0; index < body.length; index++) {
      const changed = body.slice()
      changed[index]! ^= 1
      assert.strictEqual(await outcome({ body: changed }), "webhook_signature_mismatch")
    }
    assert.strictEqual(await outcome({ body: new Uint8Array(0) }), "webhook_signature_mismatch")
    assert.strictEqual(await outcome({ signature: `t=${t + 1},v1=${hex}` }), "webhook_signature_mismatch")
  })

  it("is parsed as it was verified, whatever becomes of the buffer meanwhile", async () => {
    const buffer = Buffer.from(body)
    const verified = outcome({ body: buffer })
    buffer.fill(0)
    assert.strictEqual(await verified, ID)
  })

  it.each([
    "",
    `t=${t}`,
    `t=${t},v1=${hex.slice(1)}`,
    `t=${t},v1=${hex}0`,
    `t=${t},v1=${hex.toUpperCase()}`,
    `t=0${t},v1=${hex}`,
    `t=1.7e9,v1=${hex}`,
    `t=${t}, v1=${hex}`,
    `t=${t},v1=${hex}\n`,
    `t=${t},v1=${hex},v1=${hex}`,
    `v1=${hex},t=${t}`
  ])("is refused with the signature %j", async (header) => {
    assert.strictEqual(await outcome({ signature: header }), "webhook_signature_malformed")
  })

  it("is refused without a signature, or with two", async () => {
    assert.strictEqual(await outcome({ headers: {} }), "webhook_signature_missing")
    assert.strictEqual(await outcome({ headers: new Headers() }), "webhook_signature_missing")
    const two = { "svc-signature": [signature, signature] }
    assert.strictEqual(await outcome({ headers: two }), "webhook_signature_malformed")
  })

  it("is refused by a receiver without a good secret, or that has parsed it", async () => {
    assert.strictEqual(await outcome({ secrets: [] }), "invalid_argument")
    for (const wrong of ["", hex, secret.slice(7), `${secret}A`]) {
      assert.strictEqual(await outcome({ secrets: [secret, wrong] }), "webhook_secret_malformed")
    }
    assert.strictEqual(await outcome({ body: JSON.parse(TEXT) }), "invalid_argument")
  })

  it("is never taken from noise", async () => {
    const noise = fc.string({ unit: fc.constantFrom(..."tv1=,0123456789abcdefA +-\u0000é"), maxLength: 90 })
    await fc.assert(
      fc.asyncProperty(fc.oneof(noise, fc.string({ unit: "binary" })), async (header) => {
        assert.strictEqual(await outcome({ signature: header }), "webhook_signature_malformed")
      })
    )
  })
})
