import { assert, describe, it } from "@effect/vitest"
import type { MandateFactType } from "./JournalFact.ts"
import { stateAfter } from "./StateAfter.ts"

const STARTS_AT = "2026-12-01T00:00:00.25Z"

const after = (type: MandateFactType, occurred_at = "2026-12-01T00:00:00.250000000Z") =>
  stateAfter({ type, occurred_at }, STARTS_AT)

describe("stateAfter", () => {
  it("follows from the type of every event of a mandate's own life but its approval (part 4)", () => {
    assert.deepStrictEqual(
      (
        [
          "mandate.created",
          "mandate.rejected",
          "mandate.activated",
          "mandate.consumed",
          "mandate.revoked",
          "mandate.expired"
        ] as const
      ).map((type) => after(type)),
      ["PENDING_APPROVAL", "REJECTED", "ACTIVE", "CONSUMED", "REVOKED", "EXPIRED"]
    )
  })

  it("is SCHEDULED on approval until the very instant that the window starts, to the nanosecond", () => {
    assert.deepStrictEqual(
      [
        "2026-12-01T00:00:00.249999999Z",
        "2026-12-01T00:00:00.250000000Z",
        "2026-12-01T00:00:00.250000001Z"
      ].map((at) => after("mandate.approved", at)),
      ["SCHEDULED", "ACTIVE", "ACTIVE"]
    )
  })
})
