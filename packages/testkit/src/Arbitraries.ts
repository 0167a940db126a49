import type { JsonObject } from "@svc/protocol/json/Json"
import * as fc from "fast-check"

/** The bounds of a made-up mandate, as its model knows them. Amounts in minor units, times in milliseconds. */
export interface MandateShape {
  readonly kind: "SINGLE" | "RECURRING"
  readonly subject: string
  readonly maxAmount: number
  readonly minAmount: number
  /** Whether the policy names merchants: `m` alone. */
  readonly merchants: boolean
  readonly total?: number
  readonly executions?: number
  readonly day: { readonly amount?: number; readonly executions?: number }
  readonly month: { readonly amount?: number; readonly executions?: number }
  /** From creation to the start: at once when 0. */
  readonly startsIn: number
  readonly lasts: number
  /** From creation to the deadline of approval; never after the end. */
  readonly waits: number
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const caps = fc.oneof(
  fc.record({ amount: fc.constantFrom(1500, 6000, 15_000) }),
  fc.record({ executions: fc.integer({ min: 1, max: 8 }) }),
  fc.record({ amount: fc.constantFrom(1500, 6000, 15_000), executions: fc.integer({ min: 1, max: 8 }) })
)

/** Small budgets, so that runs of a few dozen steps reach every one of them. */
export const mandateShapes: fc.Arbitrary<MandateShape> = fc
  .record(
    {
      kind: fc.constantFrom("RECURRING", "RECURRING", "RECURRING", "SINGLE"),
      subject: fc.constantFrom("user_1", "user_2"),
      maxAmount: fc.constantFrom(1000, 2000),
      minAmount: fc.constantFrom(1, 1, 100),
      merchants: fc.boolean(),
      total: fc.constantFrom(3000, 9000),
      executions: fc.integer({ min: 1, max: 9 }),
      day: caps,
      month: caps,
      startsIn: fc.constantFrom(0, 0, 0, HOUR, DAY),
      lasts: fc.constantFrom(HOUR, 3 * DAY, 45 * DAY, 45 * DAY),
      waits: fc.constantFrom(10 * MINUTE, 30 * MINUTE, DAY)
    },
    {
      requiredKeys: [
        "kind",
        "subject",
        "maxAmount",
        "minAmount",
        "merchants",
        "day",
        "month",
        "startsIn",
        "lasts",
        "waits"
      ]
    }
  )
  .map((shape) => shape as MandateShape)

const timestamp = (milliseconds: number): string => new Date(milliseconds).toISOString()

const capsOf = ({ amount, executions }: MandateShape["day"]): JsonObject => ({
  ...(amount === undefined ? {} : { max_amount: amount }),
  ...(executions === undefined ? {} : { max_executions: executions })
})

/** When a mandate of this shape starts and ends, and until when it waits, made at `now`. */
export const shapeTimes = (shape: MandateShape, now: number) => {
  const startsAt = now + shape.startsIn
  const endsAt = startsAt + shape.lasts
  return { startsAt, endsAt, deadline: Math.min(now + shape.waits, endsAt) }
}

/** The request that makes a mandate of this shape at `now`. */
export const shapeBody = (shape: MandateShape, now: number): JsonObject => {
  const { deadline, endsAt, startsAt } = shapeTimes(shape, now)
  const recurring = shape.kind === "RECURRING"
  return {
    kind: shape.kind,
    subject_reference: shape.subject,
    policy: {
      currency: "EUR",
      max_amount: shape.maxAmount,
      min_amount: shape.minAmount,
      allowed_actions: ["card.create"],
      ...(shape.merchants ? { allowed_merchants: ["m"] } : {}),
      ...(recurring && shape.total !== undefined ? { max_total_amount: shape.total } : {}),
      ...(recurring && shape.executions !== undefined ? { max_executions: shape.executions } : {}),
      ...(recurring
        ? {
            periods: [
              { unit: "DAY", ...capsOf(shape.day) },
              { unit: "MONTH", ...capsOf(shape.month) }
            ]
          }
        : {})
    },
    window: {
      ...(shape.startsIn === 0 ? {} : { starts_at: timestamp(startsAt) }),
      ends_at: timestamp(endsAt)
    },
    approval_deadline: timestamp(deadline)
  }
}

/** What a made-up proposal asks for. */
export interface ProposalShape {
  readonly amount: number
  readonly currency: "EUR" | "USD"
  readonly action: "card.create" | "other"
  readonly merchant: "m" | "x" | undefined
  readonly window: number
}

const rightProposals: fc.Arbitrary<ProposalShape> = fc.record({
  amount: fc.constantFrom(500, 700, 1000),
  currency: fc.constant("EUR"),
  action: fc.constant("card.create"),
  merchant: fc.constant("m"),
  window: fc.constantFrom(30, 300, 86_400)
})

const anyProposals: fc.Arbitrary<ProposalShape> = fc.record({
  amount: fc.constantFrom(50, 500, 1000, 2001),
  currency: fc.constantFrom("EUR", "EUR", "USD"),
  action: fc.constantFrom("card.create", "card.create", "other"),
  merchant: fc.constantFrom("m", "x", undefined),
  window: fc.constantFrom(30, 300, 86_400)
})

/** Mostly right, now and then wrong in one way or several. */
export const proposalShapes: fc.Arbitrary<ProposalShape> = fc.oneof(
  { weight: 4, arbitrary: rightProposals },
  { weight: 1, arbitrary: anyProposals }
)
