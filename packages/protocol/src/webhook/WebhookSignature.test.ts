import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as fc from "fast-check"
import { byteVectors } from "../../test/ByteVectors.ts"
import { verifyWebhookSignature, webhookSignature } from "./WebhookSignature.ts"

const utf8 = (text: string) => new TextEncoder().encode(text)
const fromBase64 = (text: string) => new Uint8Array(Buffer.from(text, "base64"))

const [{ secret, t, signature }] = byteVectors.webhook_signature as [
  (typeof byteVectors.webhook_signature)[number]
]
const body = fromBase64(byteVectors.webhook_signature[0]!.body_base64)
const hex = signature.split("v1=")[1]!

const outcome = (change: {
  readonly secret?: string
  readonly header?: string
  readonly body?: Uint8Array
  readonly now?: number
}) => {
  const result = verifyWebhookSignature({ secret, header: signature, body, now: t, ...change })
  return Result.isFailure(result) ? result.failure.reason : result.success.timestamp
}

describe("the signature of a webhook (part 8)", () => {
  it.each(byteVectors.webhook_signature)("is the vector's for the body $body", (vector) => {
    const bytes = fromBase64(vector.body_base64)
    assert.deepStrictEqual(bytes, utf8(vector.body))
    const header = webhookSignature({ secret: vector.secret, timestamp: vector.t, body: bytes })
    assert.strictEqual(header, vector.signature)
    assert.strictEqual(outcome({ secret: vector.secret, header, body: bytes, now: vector.t }), vector.t)
  })

  it("may be of the first second there is", () => {
    const header = webhookSignature({ secret, timestamp: 0, body })
    assert.strictEqual(outcome({ header, now: 0 }), 0)
  })

  it("throws for a malformed secret or timestamp, without naming the secret", () => {
    const otherPrefix = secret.replace("svc_wh_", "svc_xx_")
    for (const wrong of [
      "",
      "svc_wh_",
      otherPrefix,
      secret.slice(7),
      `${secret}=`,
      secret.slice(0, -1),
      `x${secret}`
    ]) {
      assert.throws(() => webhookSignature({ secret: wrong, timestamp: t, body }), /^not a webhook secret$/u)
    }
    for (const timestamp of [-1, 0.5, Number.NaN, 2 ** 53]) {
      assert.throws(() => webhookSignature({ secret, timestamp, body }), RangeError)
    }
  })
})

describe("verification of a webhook's signature (part 8)", () => {
  it("accepts a timestamp up to 300 seconds off in either direction", () => {
    for (const now of [t - 300, t, t + 300]) assert.strictEqual(outcome({ now }), t)
    for (const now of [t - 301, t + 301, t + 300.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.strictEqual(outcome({ now }), "timestamp_out_of_tolerance")
    }
  })

  it("fails for other bytes, another timestamp or another secret", () => {
    assert.strictEqual(outcome({ body: utf8('{"id": "evt_1"}') }), "signature_mismatch")
    assert.strictEqual(outcome({ body: new Uint8Array(0) }), "signature_mismatch")
    assert.strictEqual(outcome({ header: `t=${t + 1},v1=${hex}` }), "signature_mismatch")
    const other = byteVectors.webhook_signature[1]!.secret
    assert.strictEqual(outcome({ secret: other }), "signature_mismatch")
  })

  it("fails for any changed digit of v1", () => {
    for (let index = 0; index < 64; index++) {
      const digit = hex[index] === "0" ? "1" : "0"
      const header = `t=${t},v1=${hex.slice(0, index)}${digit}${hex.slice(index + 1)}`
      assert.strictEqual(outcome({ header }), "signature_mismatch")
    }
  })

  it.each([
    "",
    "t=,v1=",
    `t=${t}`,
    `v1=${hex}`,
    `t=${t},v1=`,
    `t=${t},v1=${hex.slice(1)}`,
    `t=${t},v1=${hex}0`,
    `t=${t},v1=${hex}${hex}`,
    `t=${t},v1=${hex.toUpperCase()}`,
    `t=${t},v1=${"g".repeat(64)}`,
    `t=${t},v1=${"é".repeat(64)}`,
    `t=${t},v1=${"😀".repeat(32)}`,
    `t=+${t},v1=${hex}`,
    `t=0${t},v1=${hex}`,
    `t=-${t},v1=${hex}`,
    `t=1.7e9,v1=${hex}`,
    `t=${t}.0,v1=${hex}`,
    `t=${t}x,v1=${hex}`,
    `t=0x1,v1=${hex}`,
    `t=${"9".repeat(400)},v1=${hex}`,
    `t= ${t},v1=${hex}`,
    `t=${t}, v1=${hex}`,
    `t=${t},v1=${hex}\n`,
    `t=${t},t=${t},v1=${hex}`,
    `t=${t},v1=${hex},v1=${hex}`,
    `t=${t},v1=${hex},v0=${hex}`,
    `v1=${hex},t=${t}`,
    `T=${t},V1=${hex}`
  ])("refuses the header %j", (header) => assert.strictEqual(outcome({ header }), "header_malformed"))

  it("refuses a malformed secret", () => {
    for (const wrong of ["", hex, secret.slice(7), `${secret}A`]) {
      assert.strictEqual(outcome({ secret: wrong }), "secret_malformed")
    }
  })

  it("never throws, whatever the header", () => {
    const noise = fc.string({ unit: fc.constantFrom(..."tv1=,0123456789abcdefA +-\u0000é"), maxLength: 90 })
    fc.assert(
      fc.property(fc.oneof(noise, fc.string({ unit: "binary" })), (header) => {
        assert.isString(outcome({ header }))
      })
    )
  })
})
