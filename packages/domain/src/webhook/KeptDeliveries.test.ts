import { assert, describe, it } from "@effect/vitest"
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { isKept, keptDeliveriesAfter, keptDeliveriesOf } from "./KeptDeliveries.ts"

const SEVEN_DAYS = 604_800n * NANOS_PER_SECOND
const DISABLED = { status: "disabled", disabledAt: 5n } as const

describe("what is kept for a disabled endpoint (part 8)", () => {
  it("is 10,000 deliveries within seven days of when it was disabled", () => {
    assert.deepStrictEqual(keptDeliveriesOf(DISABLED), { until: 5n + SEVEN_DAYS, left: 10_000 })
    assert.isUndefined(keptDeliveriesOf({ status: "active" }))
    assert.isUndefined(keptDeliveriesOf({ ...DISABLED, status: "deleted" }))
  })

  it("ends at the very instant, and with the last delivery that is left", () => {
    const kept = { until: 100n, left: 1 }
    assert.isTrue(isKept(kept, 99n))
    assert.isFalse(isKept(kept, 100n))
    assert.isFalse(isKept({ ...kept, left: 0 }, 99n))
  })

  it("counts on while it stays disabled, and anew once it was active", () => {
    const used = { until: 5n + SEVEN_DAYS, left: 7 }
    assert.deepStrictEqual(keptDeliveriesAfter(used, { ...DISABLED, disabledAt: 9n }), {
      until: 9n + SEVEN_DAYS,
      left: 7
    })
    assert.isUndefined(keptDeliveriesAfter(used, { status: "active" }))
    assert.deepStrictEqual(keptDeliveriesAfter(undefined, DISABLED), keptDeliveriesOf(DISABLED))
  })
})
