/** Checks a webhook with nothing but `node:crypto`: copy it into your own receiver. */
import { createHmac, timingSafeEqual } from "node:crypto"

const TOLERANCE_SECONDS = 300

/** `t` in canonical decimal digits, `v1` in lower-case hex, and nothing else. */
const SIGNATURE = /^t=(0|[1-9][0-9]{0,14}),v1=([0-9a-f]{64})$/

const SECRET = /^svc_wh_([\w-]{43})$/

/**
 * Whether these bytes were sent by whoever has the secret, at most 300 s ago. `body` must be the raw bytes of the request:
 * JSON that was parsed and written again is another text.
 */
export const isAuthentic = (webhook: {
  /** `svc_wh_...`, as it was shown once. */
  readonly secret: string
  /** The header `Svc-Signature`. */
  readonly signature: string
  readonly body: Uint8Array
  readonly now?: Date
}): boolean => {
  const key = SECRET.exec(webhook.secret)?.[1]
  const [, t, v1] = SIGNATURE.exec(webhook.signature) ?? []
  if (key === undefined || t === undefined || v1 === undefined) return false
  const age = (webhook.now ?? new Date()).getTime() / 1000 - Number(t)
  // Rounded towards zero, because `t` has whole seconds.
  if (Math.abs(Math.trunc(age)) > TOLERANCE_SECONDS) return false
  const mac = createHmac("sha256", Buffer.from(key, "base64url")).update(`${t}.`).update(webhook.body)
  return timingSafeEqual(mac.digest(), Buffer.from(v1, "hex"))
}
