/** Verifies a webhook with `node:crypto` alone; copy it into your own receiver. */
import { createHmac, timingSafeEqual } from "node:crypto"

const TOLERANCE_SECONDS = 300

/** `t` in canonical decimal digits, `v1` in lower-case hex, and nothing else. */
const SIGNATURE = /^t=(0|[1-9][0-9]{0,14}),v1=([0-9a-f]{64})$/

const SECRET = /^svc_wh_([\w-]{43})$/

export interface SignedWebhook {
  /** `svc_wh_...`, from the answer that created the endpoint. */
  readonly secret: string
  /** The header `Svc-Signature`. */
  readonly signature: string
  readonly body: Uint8Array
  readonly now?: Date
}

/** Whether a header has the form of a signature. */
export const isSignature = (text: string): boolean => SIGNATURE.test(text)

/** What is wrong with a webhook, for the log; `undefined` if it is authentic. Quotes none of it. */
export const signatureFault = ({ body, now, secret, signature }: SignedWebhook): string | undefined => {
  const key = SECRET.exec(secret)?.[1]
  if (key === undefined) return "the secret is not svc_wh_ and 32 bytes as base64url"
  const [, t, v1] = SIGNATURE.exec(signature) ?? []
  if (t === undefined || v1 === undefined) {
    return "Svc-Signature is not t=<unix seconds>,v1=<64 lower-case hex characters>"
  }
  const age = (now ?? new Date()).getTime() / 1000 - Number(t)
  // `t` is in whole seconds.
  if (Math.abs(Math.trunc(age)) > TOLERANCE_SECONDS)
    return `t is more than ${TOLERANCE_SECONDS} s from this clock`
  const mac = createHmac("sha256", Buffer.from(key, "base64url")).update(`${t}.`).update(body)
  return timingSafeEqual(mac.digest(), Buffer.from(v1, "hex"))
    ? undefined
    : "it was signed with another secret, or its body is not what was signed"
}

/**
 * Whether the owner of the secret signed these bytes at most 300 s ago. `body` must be the raw bytes of the request, since
 * JSON that was parsed and serialized again differs.
 */
export const isAuthentic = (webhook: SignedWebhook): boolean => signatureFault(webhook) === undefined
