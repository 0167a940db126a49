import { assert, describe, it } from "@effect/vitest"
import type { AuthorizationState } from "./MandateState.ts"
import { openReservationOf } from "./OpenReservation.ts"

const reserved: AuthorizationState = {
  id: "aut_01kdvdnjdwy5ka43be5z7qd3m3",
  order: 3,
  externalReference: "order 3",
  decision: "ALLOW",
  reasons: [],
  state: "RESERVED",
  expiresAt: "2026-01-01T00:00:00.000000001Z",
  proposedAction: { action: "card.create", payment: { amount: 9_007_199_254_740_991, currency: "EUR" } },
  commitment: "",
  createdAt: "2025-12-31T00:00:00.000000000Z",
  refunds: [],
  periods: [{ period: 0, startsAt: 1n, endsAt: 2n }],
  conflicts: [],
  late: false
}

describe("openReservationOf", () => {
  it("keeps the last digit of the amount and the nanosecond of the end", () => {
    assert.deepStrictEqual(openReservationOf(reserved), {
      id: reserved.id,
      order: 3,
      amount: 9_007_199_254_740_991n,
      expiresAt: 1_767_225_600_000_000_001n,
      periods: reserved.periods
    })
  })

  it("refuses a reservation without an end", () => {
    const { expiresAt: _, ...endless } = reserved
    assert.throws(() => openReservationOf(endless), RangeError)
    assert.throws(() => openReservationOf({ ...reserved, expiresAt: "tomorrow" }), RangeError)
  })
})
