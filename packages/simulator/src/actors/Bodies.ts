/** What callers send. Amounts are in minor units, times in microseconds. */
import { createHash } from "node:crypto"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import type { JsonObject } from "@svc/protocol/json/Json"
import { ZONES } from "../server/FixedZones.ts"
import { DAY, HOUR, MILLISECOND, MINUTE, type Micros } from "../time/Micros.ts"
import type { SeededRandom } from "../time/SeededRandom.ts"

export const textOf = (at: Micros): string => new Date(Math.floor(at / MILLISECOND)).toISOString()

/** An opening that a caller draws, and what it commits to (part 5). */
export const drawOpening = (
  random: SeededRandom
): { readonly opening: string; readonly commitment: string } => {
  const opening = random.bytes(32)
  const commitment = createHash("sha256").update("svc:authorization:commitment:v1\n").update(opening).digest()
  return { opening: encodeBase64Url(opening), commitment: encodeBase64Url(commitment) }
}

const period = (random: SeededRandom): JsonObject => {
  const alignment = random.pick(["CALENDAR", "CALENDAR", "MANDATE"])
  const caps = random.pick<JsonObject>([
    { max_amount: random.pick([2000, 6000, 20_000]) },
    { max_executions: random.integer(1, 6) },
    { max_amount: random.pick([2000, 6000, 20_000]), max_executions: random.integer(2, 9) }
  ])
  return {
    unit: random.pick(["DAY", "DAY", "WEEK", "MONTH"]),
    alignment,
    ...(alignment === "MANDATE" ? { interval: random.integer(1, 3) } : {}),
    time_zone: random.pick(ZONES),
    first_period: random.pick(["FULL", "PRORATED"]),
    ...caps
  }
}

const recurring = (random: SeededRandom): JsonObject => ({
  periods: Array.from({ length: random.integer(1, 2) }, () => period(random)),
  ...(random.chance(0.4) ? { max_total_amount: random.pick([3000, 20_000, 100_000]) } : {}),
  ...(random.chance(0.4) ? { max_executions: random.integer(1, 9) } : {})
})

export const mandateBody = (random: SeededRandom, subject: string, now: Micros): JsonObject => {
  const isSingle = random.chance(0.2)
  const startsIn = random.pick([0, 0, 0, 0, MINUTE, HOUR])
  const lasts = random.pick([HOUR, DAY, 3 * DAY, 40 * DAY])
  return {
    kind: isSingle ? "SINGLE" : "RECURRING",
    subject_reference: subject,
    policy: {
      currency: "EUR",
      max_amount: random.pick([1000, 2000]),
      ...(random.chance(0.3) ? { min_amount: 100 } : {}),
      allowed_actions: ["card.create"],
      ...(random.chance(0.2) ? { allowed_merchants: ["m"] } : {}),
      ...(isSingle ? {} : recurring(random))
    },
    window: {
      ...(startsIn === 0 ? {} : { starts_at: textOf(now + startsIn) }),
      ends_at: textOf(now + startsIn + lasts)
    },
    approval_deadline: textOf(now + random.pick([10 * MINUTE, 30 * MINUTE, HOUR]))
  }
}

export const proposalBody = (random: SeededRandom, commitment: string): JsonObject => ({
  external_reference: "order",
  proposed_action: {
    action: random.chance(0.03) ? "card.close" : "card.create",
    ...(random.chance(0.8) ? { attributes: { merchant: random.chance(0.9) ? "m" : "other" } } : {}),
    payment: {
      amount: random.pick([50, 200, 500, 900, 1000, 1500]),
      currency: random.chance(0.98) ? "EUR" : "USD"
    }
  },
  execution_window_seconds: random.pick([30, 30, 60, 300]),
  commitment
})

export const commitBody = (opening: string, now: Micros, variant: number): JsonObject => ({
  external_action_reference: `act ${variant}`,
  provider_transaction_reference: "txn",
  reported_accepted_at: textOf(now),
  commitment_opening: opening
})

export const cancellationBody = (variant: number): JsonObject => ({
  reason: "EXECUTION_FAILED",
  execution_disposition: "NEVER_BECAME_POSSIBLE",
  external_credential_reference: `card ${variant}`
})

export const refundBody = (amount: number, now: Micros): JsonObject => ({
  amount,
  currency: "EUR",
  provider_refund_reference: "ref",
  reported_refunded_at: textOf(now)
})
