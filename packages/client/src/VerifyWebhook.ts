import { decode32Bytes } from "./Base64Url.ts"
import { invalidArgument, SvcError } from "./SvcError.ts"
import type { WebhookEvent } from "./Webhook.ts"

/** How far the time of a signature may be from the receiver's clock, in seconds, in both directions and inclusive. */
export const WEBHOOK_TOLERANCE_SECONDS = 300

const SECRET_PREFIX = "svc_wh_"
const MILLISECONDS_PER_SECOND = 1000

/** `t` canonical base-10, `v1` lower-case hex of 32 bytes, in this order and nothing else (part 8). */
const SIGNATURE = /^t=(0|[1-9][0-9]{0,14}),v1=([0-9a-f]{64})$/

/** Headers of the fetch standard, of whichever implementation. */
interface HeaderReader {
  readonly get: (name: string) => string | null
}

type HeaderRecord = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

/** A webhook as it was received. */
export interface ReceivedWebhook {
  /** `svc_wh_...`, from the answer that created the endpoint. Two around a rotation: either may have signed. */
  readonly secrets: ReadonlyArray<string>
  /** Headers of the fetch standard, or an object such as that of `node:http`. */
  readonly headers: HeaderReader | HeaderRecord
  /** The raw bytes, before anything parses them, or the text that they decode to. */
  readonly body: Uint8Array | ArrayBuffer | string
  /** Seconds. Default {@link WEBHOOK_TOLERANCE_SECONDS}. */
  readonly tolerance?: number
  /** The receiver's clock, in Unix seconds. Default: the host's. */
  readonly now?: number
}

const fail = (code: SvcError["code"], message: string): never => {
  throw new SvcError({ code, message })
}

const isReader = (headers: ReceivedWebhook["headers"]): headers is HeaderReader =>
  typeof headers.get === "function"

const signatureHeader = (headers: ReceivedWebhook["headers"]): string => {
  const value = isReader(headers)
    ? headers.get("svc-signature")
    : Object.entries(headers).find(([name]) => name.toLowerCase() === "svc-signature")?.[1]
  if (value === null || value === undefined) {
    return fail("webhook_signature_missing", "there is no header Svc-Signature")
  }
  return typeof value === "string" ? value : value.join(", ")
}

const readSignature = (header: string): readonly [timestamp: number, signature: Uint8Array<ArrayBuffer>] => {
  const [, t, v1] = SIGNATURE.exec(header) ?? []
  if (t === undefined || v1 === undefined) {
    const form = "t=<unix seconds>,v1=<64 lower-case hex characters>"
    return fail("webhook_signature_malformed", `Svc-Signature is not ${form}`)
  }
  const bytes = Array.from({ length: v1.length / 2 }, (_, i) =>
    Number.parseInt(v1.slice(2 * i, 2 * i + 2), 16)
  )
  return [Number(t), Uint8Array.from(bytes)]
}

/** A copy of the bytes, so that what is verified is what is parsed. */
const bytesOf = (body: ReceivedWebhook["body"]): Uint8Array<ArrayBuffer> => {
  if (typeof body === "string") return new TextEncoder().encode(body)
  if (body instanceof ArrayBuffer) return new Uint8Array(body.slice())
  if (body instanceof Uint8Array) return new Uint8Array(body)
  throw invalidArgument("body must be the raw bytes of the request: verify before anything parses it")
}

const keysOf = (secrets: ReadonlyArray<string>): ReadonlyArray<Uint8Array<ArrayBuffer>> => {
  if (secrets.length === 0) throw invalidArgument("there is no secret to verify with")
  return secrets.map((secret) => {
    const key = secret.startsWith(SECRET_PREFIX)
      ? decode32Bytes(secret.slice(SECRET_PREFIX.length))
      : undefined
    return key ?? fail("webhook_secret_malformed", "a secret is svc_wh_ and 32 bytes as base64url")
  })
}

/** Whether the key signed the bytes. WebCrypto compares the two in constant time. */
const isSignedWith = async (
  key: Uint8Array<ArrayBuffer>,
  signature: Uint8Array<ArrayBuffer>,
  signed: Uint8Array<ArrayBuffer>
): Promise<boolean> => {
  const hmac = { name: "HMAC", hash: "SHA-256" }
  const imported = await crypto.subtle.importKey("raw", key, hmac, false, ["verify"])
  return crypto.subtle.verify("HMAC", imported, signature, signed)
}

const parseEvent = (bytes: Uint8Array): WebhookEvent => {
  try {
    const event = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes))
    if (typeof event.id === "string" && typeof event.type === "string" && typeof event.data === "object") {
      return event
    }
  } catch {
    // What is no JSON is refused as what is no event.
  }
  return fail("webhook_body_malformed", "the body is signed, and is not an event")
}

/**
 * Verifies a webhook and gives its event. Rejects with a code that begins with `webhook_` unless one of the secrets signed
 * these very bytes within the tolerance, and with `invalid_argument` for what is no webhook at all. Read afterwards what the
 * event names: it is a trigger, not a proof.
 */
export const verifyWebhook = async (webhook: ReceivedWebhook): Promise<WebhookEvent> => {
  const keys = keysOf(webhook.secrets)
  const body = bytesOf(webhook.body)
  const [timestamp, signature] = readSignature(signatureHeader(webhook.headers))
  const now = webhook.now ?? Math.floor(Date.now() / MILLISECONDS_PER_SECOND)
  const tolerance = webhook.tolerance ?? WEBHOOK_TOLERANCE_SECONDS
  // Negated so that a clock of NaN is refused.
  if (!(Math.abs(now - timestamp) <= tolerance)) {
    return fail("webhook_timestamp_out_of_tolerance", `t is more than ${tolerance} s from this clock`)
  }
  const prefix = new TextEncoder().encode(`${timestamp}.`)
  const signed = new Uint8Array(prefix.length + body.length)
  signed.set(prefix)
  signed.set(body, prefix.length)
  const matches = await Promise.all(keys.map((key) => isSignedWith(key, signature, signed)))
  if (!matches.includes(true)) {
    const message = "it was signed with another secret, or its body is not what was signed"
    return fail("webhook_signature_mismatch", message)
  }
  return parseEvent(body)
}
