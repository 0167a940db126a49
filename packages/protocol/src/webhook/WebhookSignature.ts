import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"
import * as Data from "effect/Data"
import * as Result from "effect/Result"
import { decodeBase64Url } from "../Base64Url.ts"
import { equalInConstantTime } from "../crypto/ConstantTime.ts"
import { hmacSha256 } from "../crypto/HmacSha256.ts"

/** How far `t` may be from the receiver's clock, in seconds, in both directions and inclusive (part 8). */
export const WEBHOOK_TOLERANCE_SECONDS = 300

export const WEBHOOK_SECRET_PREFIX = "svc_wh_"

/** Random bytes of a webhook secret (part 8). */
export const WEBHOOK_SECRET_BYTES = 32

export type WebhookSignatureFault =
  | "secret_malformed"
  | "header_malformed"
  | "timestamp_out_of_tolerance"
  | "signature_mismatch"

/** The delivery is not authentic, or is too old or too new to act on. */
export class WebhookSignatureInvalid extends Data.TaggedError("WebhookSignatureInvalid")<{
  readonly reason: WebhookSignatureFault
}> {}

/** `t` canonical base-10, `v1` lower-case hex of 32 bytes, in this order and nothing else. */
const HEADER = /^t=(0|[1-9][0-9]{0,14}),v1=([0-9a-f]{64})$/u

const secretBytes = (secret: string): Uint8Array | undefined => {
  if (!secret.startsWith(WEBHOOK_SECRET_PREFIX)) return undefined
  const bytes = decodeBase64Url(secret.slice(WEBHOOK_SECRET_PREFIX.length))
  return bytes?.length === WEBHOOK_SECRET_BYTES ? bytes : undefined
}

const mac = (key: Uint8Array, timestamp: number, body: Uint8Array): Uint8Array =>
  hmacSha256({ key, parts: [new TextEncoder().encode(`${timestamp}.`), body] })

/**
 * The `Svc-Signature` of one delivery attempt: `t=<unix seconds>,v1=<64 hex characters>`, HMAC-SHA-256
 * under the secret's 32 bytes over `t`, a point, and the exact bytes of the body.
 *
 * Throws a `TypeError` for a secret that is not `svc_wh_` and base64url of 32 bytes, a `RangeError` for a
 * timestamp that is not a whole number of seconds from 0.
 */
export const webhookSignature = (delivery: {
  readonly secret: string
  readonly timestamp: number
  readonly body: Uint8Array
}): string => {
  const key = secretBytes(delivery.secret)
  if (key === undefined) throw new TypeError("not a webhook secret")
  if (!Number.isSafeInteger(delivery.timestamp) || delivery.timestamp < 0) {
    throw new RangeError("a webhook timestamp is a whole number of seconds")
  }
  return `t=${delivery.timestamp},v1=${bytesToHex(mac(key, delivery.timestamp, delivery.body))}`
}

/**
 * Verifies a delivery as its receiver does: `header` is the `Svc-Signature` as received, `body` the raw
 * bytes, `now` the receiver's clock in Unix seconds. Never throws, whatever the header. Override the tolerance of
 * `WEBHOOK_TOLERANCE_SECONDS` only to inspect an old delivery, never in a receiver.
 */
export const verifyWebhookSignature = (delivery: {
  readonly secret: string
  readonly header: string
  readonly body: Uint8Array
  readonly now: number
  readonly toleranceSeconds?: number
}): Result.Result<{ readonly timestamp: number }, WebhookSignatureInvalid> => {
  const key = secretBytes(delivery.secret)
  if (key === undefined) return invalid("secret_malformed")
  const fields = HEADER.exec(delivery.header)
  if (fields === null) return invalid("header_malformed")
  const timestamp = Number(fields[1])
  const tolerance = delivery.toleranceSeconds ?? WEBHOOK_TOLERANCE_SECONDS
  // Negated so that a `now` of NaN is refused.
  if (!(Math.abs(delivery.now - timestamp) <= tolerance)) {
    return invalid("timestamp_out_of_tolerance")
  }
  const expected = mac(key, timestamp, delivery.body)
  if (!equalInConstantTime(hexToBytes(fields[2]!), expected)) return invalid("signature_mismatch")
  return Result.succeed({ timestamp })
}

const invalid = (reason: WebhookSignatureFault) => Result.fail(new WebhookSignatureInvalid({ reason }))
