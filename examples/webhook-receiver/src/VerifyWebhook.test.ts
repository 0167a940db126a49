import { webhookSignature } from "@svc/protocol/webhook/WebhookSignature"
import { assert, describe, it } from "vitest"
import { isAuthentic } from "./VerifyWebhook.ts"

const secret = `svc_wh_${Buffer.alloc(32, 7).toString("base64url")}`
const body = Buffer.from('{"id":"evt_1","note":"\u{1f600}"}')
const timestamp = 1_800_000_000
const signature = webhookSignature({ secret, timestamp, body })
const at = (seconds: number) => new Date((timestamp + seconds) * 1000)

describe("isAuthentic", () => {
  it("accepts what the service signs, within 300 s of the clock", () => {
    for (const seconds of [-300, -1, 0, 1, 300, 300.9]) {
      assert.isTrue(isAuthentic({ secret, signature, body, now: at(seconds) }), String(seconds))
    }
    for (const seconds of [-302, -301, 301, 302]) {
      assert.isFalse(isAuthentic({ secret, signature, body, now: at(seconds) }), String(seconds))
    }
  })

  it("refuses every other body, secret and form, without an exception", () => {
    const now = at(0)
    const v1 = signature.slice(-64)
    assert.isFalse(isAuthentic({ secret, signature, body: Buffer.concat([body, Buffer.from(" ")]), now }))
    const other = `svc_wh_${Buffer.alloc(32, 8).toString("base64url")}`
    for (const wrong of [other, "", secret.slice(0, -1), secret.slice(7)]) {
      assert.isFalse(isAuthentic({ secret: wrong, signature, body, now }))
    }
    const t = String(timestamp)
    for (const wrong of [
      "",
      `t=${t},v1=`,
      `t=${t},v1=${v1.slice(1)}`,
      `t=${t},v1=${v1}0`,
      `t=${t},v1=${v1.toUpperCase()}`,
      `t=+${t},v1=${v1}`,
      `t=0${t},v1=${v1}`,
      `t=1.8e9,v1=${v1}`,
      `t=${t}, v1=${v1}`,
      `t=${t},v1=${"é".repeat(64)}`
    ]) {
      assert.isFalse(isAuthentic({ secret, signature: wrong, body, now }), wrong)
    }
  })
})
