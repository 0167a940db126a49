import {
  ASSERTION_RETENTION_DAYS,
  isRetentionDays,
  MAX_RETENTION_DAYS,
  MIN_RETENTION_DAYS,
  retention,
  WEBHOOK_RETENTION_DAYS
} from "@svc/domain/workers/CleaningWorker"
import { isWebhookCapacity, WebhookCapacity } from "@svc/domain/workers/WebhookWorker"
import * as RateLimit from "@svc/http-server/gate/RateLimit"
import { Layer } from "effect"
import { type Faults, isObject, unknownNames } from "./OptionFaults.ts"

/** The limits of a service that its host may set. Those that callers rely on, such as the size of a body, are fixed. */
export interface ServiceLimits {
  /**
   * Requests a second of each API key, and how many may come at once, in this process; `off` also lifts the limit on requests
   * without a valid key. Default: 100 and 200.
   */
  readonly rateLimit?: RateLimit.Rate | "off"
  /** For how many days a webhook delivery is kept after it was delivered or exhausted, 1 to 36500. Default: 30. */
  readonly webhookRetentionDays?: number
  /**
   * For how many days the `jti` of an identity assertion is kept after it could be used again, 1 to 36500, in case the
   * store's clock is set back. Default: 1.
   */
  readonly assertionRetentionDays?: number
  /**
   * Webhook deliveries that this process has under way at most, 32 to 1024, each with a socket for up to 15 s. Default: 1024.
   */
  readonly webhookAttempts?: number
}

const NAMES: Readonly<Record<keyof ServiceLimits, true>> = {
  rateLimit: true,
  webhookRetentionDays: true,
  assertionRetentionDays: true,
  webhookAttempts: true
}

const isRateLimit = (limit: unknown): boolean =>
  limit === undefined ||
  limit === "off" ||
  (isObject(limit) && RateLimit.isRate({ rate: Number(limit.rate), burst: Number(limit.burst) }))

const isWithin = (value: unknown, isAllowed: (value: number) => boolean): boolean =>
  value === undefined || (typeof value === "number" && isAllowed(value))

/** What is wrong with the limits of the options. */
export const limitsFaults = (limits: unknown): Faults => {
  if (limits === undefined) return []
  if (!isObject(limits)) return ["limits must be an object."]
  const { rateLimit, webhookAttempts } = limits
  return [
    ...unknownNames(limits, Object.keys(NAMES), " of limits"),
    ...(isObject(rateLimit) ? unknownNames(rateLimit, ["rate", "burst"], " of limits.rateLimit") : []),
    ...(isRateLimit(rateLimit)
      ? []
      : [
          'limits.rateLimit must be "off", or have a rate of 1 to 1000000 and a burst of 1 to 2000000, as whole numbers.'
        ]),
    ...(["webhookRetentionDays", "assertionRetentionDays"] as const).flatMap((name) =>
      isWithin(limits[name], isRetentionDays)
        ? []
        : [`limits.${name} must be a whole number of ${MIN_RETENTION_DAYS} to ${MAX_RETENTION_DAYS}.`]
    ),
    ...(isWithin(webhookAttempts, isWebhookCapacity)
      ? []
      : ["limits.webhookAttempts must be a whole number of 32 to 1024."])
  ]
}

/** The limits for the gate and the workers. */
export const limitsLayer = ({
  assertionRetentionDays = ASSERTION_RETENTION_DAYS,
  rateLimit = RateLimit.DEFAULT_RATE,
  webhookAttempts,
  webhookRetentionDays = WEBHOOK_RETENTION_DAYS
}: ServiceLimits) =>
  Layer.mergeAll(
    rateLimit === "off" ? RateLimit.layerOff : RateLimit.layer(rateLimit),
    retention({ webhookRetentionDays, assertionRetentionDays }),
    webhookAttempts === undefined ? Layer.empty : Layer.succeed(WebhookCapacity, webhookAttempts)
  )
