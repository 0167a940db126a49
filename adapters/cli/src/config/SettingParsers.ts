import { MASTER_KEY_BYTES } from "@svc/domain/ports/SecretSealer"
import { isRetentionDays } from "@svc/domain/workers/CleaningWorker"
import { isRate, type Rate } from "@svc/http-server/gate/RateLimit"
import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { WEBHOOK_SECRET_BYTES, WEBHOOK_SECRET_PREFIX } from "@svc/protocol/webhook/WebhookSignature"
import { MAX_PARTITIONS } from "@svc/store-postgres/MaxPartitions"
import { type LogLevel, Redacted } from "effect"

/** Parses one of the given words. */
export const oneOfWords =
  <const A extends ReadonlyArray<string>>(...words: A) =>
  (text: string): A[number] | undefined =>
    words.includes(text) ? text : undefined

/** An `http` or `https` origin, as WHATWG URL serializes it: no path, query, fragment or user info. */
export const parseOrigin = (text: string): string | undefined => {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return undefined
  return url.href === `${url.origin}/` ? url.origin : undefined
}

export const parseMasterKey = (text: string): Redacted.Redacted<Uint8Array> | undefined => {
  const bytes = decodeBase64Url(text)
  return bytes?.length === MASTER_KEY_BYTES ? Redacted.make(bytes, { label: "master key" }) : undefined
}

/** The signing secret of a webhook endpoint (part 8). */
export const parseWebhookSecret = (text: string): Redacted.Redacted | undefined => {
  if (!text.startsWith(WEBHOOK_SECRET_PREFIX)) return undefined
  const bytes = decodeBase64Url(text.slice(WEBHOOK_SECRET_PREFIX.length))
  return bytes?.length === WEBHOOK_SECRET_BYTES ? Redacted.make(text, { label: "webhook secret" }) : undefined
}

export const parseApiKey = (text: string): Redacted.Redacted | undefined =>
  /^svc_(?:test|live)_[\w-]{43}$/u.test(text) ? Redacted.make(text, { label: "api_key" }) : undefined

/** `off`, `rate` or `rate:burst`; the burst is twice the rate unless given. */
export const parseRate = (text: string): Rate | "off" | undefined => {
  if (text === "off") return "off"
  const [, rate, burst] = /^(\d{1,7})(?::(\d{1,7}))?$/u.exec(text) ?? []
  if (rate === undefined) return undefined
  const limit = { rate: Number(rate), burst: burst === undefined ? 2 * Number(rate) : Number(burst) }
  return isRate(limit) ? limit : undefined
}

/** A whole number of days. */
export const parseRetentionDays = (text: string): number | undefined => {
  const days = /^[1-9]\d{0,4}$/u.test(text) ? Number(text) : undefined
  return days !== undefined && isRetentionDays(days) ? days : undefined
}

/** A number of partitions, or `none`, which is 0. */
export const parsePartitions = (text: string): number | undefined => {
  if (text === "none") return 0
  const partitions = /^[1-9]\d?$/u.test(text) ? Number(text) : undefined
  return partitions !== undefined && partitions <= MAX_PARTITIONS ? partitions : undefined
}

export const LOG_LEVELS: Readonly<Record<string, LogLevel.LogLevel>> = {
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
  none: "None"
}

export const parseLogLevel = (text: string): LogLevel.LogLevel | undefined =>
  Object.hasOwn(LOG_LEVELS, text) ? LOG_LEVELS[text] : undefined
