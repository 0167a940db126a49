import { assert, describe, it } from "@effect/vitest"
import { recountBudget } from "./RecountBudget.ts"
import { nanosOf } from "./RecountCalendar.ts"

const budget = () =>
  recountBudget({
    kind: "RECURRING",
    policy: {
      currency: "EUR",
      min_amount: 1,
      max_amount: 1000,
      allowed_actions: ["card.create"],
      max_total_amount: 3000,
      periods: [
        {
          unit: "DAY",
          interval: 1,
          alignment: "CALENDAR",
          time_zone: "UTC",
          first_period: "FULL",
          max_amount: 1000,
          max_executions: 2
        }
      ]
    },
    window: { starts_at: "2026-03-01T00:00:00Z", ends_at: "2026-04-01T00:00:00Z" },
    time_zones: [{ name: "UTC", offset_seconds: 0, transitions: [] }]
  })

const DAYS = ["2026-03-01T12:00:00Z", "2026-03-02T12:00:00Z"].map(nanosOf)
const [FIRST = 0n, SECOND = 0n] = DAYS

describe("what is overspent", () => {
  it("is nothing at a cap, and the period one above it", () => {
    const { overspent, periodsAt, spend } = budget()
    spend("committed", 1000n, periodsAt(FIRST))
    assert.deepStrictEqual(overspent(["committed", "reserved"]), [])
    spend("reserved", 1n, periodsAt(FIRST))
    assert.deepStrictEqual(overspent(["committed", "reserved"]), [
      `period 0:${nanosOf("2026-03-01T00:00:00Z")}`
    ])
    assert.deepStrictEqual(overspent(["committed"]), [])
  })

  it("is told of the periods that are asked for alone, and of all by default", () => {
    const { overspent, periodsAt, spend } = budget()
    spend("committed", 1001n, periodsAt(FIRST))
    assert.deepStrictEqual(overspent(["committed"], periodsAt(SECOND)), [])
    assert.lengthOf(overspent(["committed"], periodsAt(FIRST)), 1)
    spend("committed", 1001n, periodsAt(SECOND))
    assert.lengthOf(overspent(["committed"], periodsAt(FIRST)), 1)
    assert.lengthOf(overspent(["committed"]), 2)
    assert.deepStrictEqual(overspent(["committed"], []), [])
  })

  it("is the total whatever the periods, and counts executions", () => {
    const { overspent, periodsAt, spend } = budget()
    spend("late", 3001n, [])
    assert.deepStrictEqual(overspent(["late"], []), ["the total"])
    assert.deepStrictEqual(overspent(["committed"], []), [])
    for (let times = 0; times < 3; times++) spend("reserved", 1n, periodsAt(FIRST))
    assert.lengthOf(overspent(["reserved"], periodsAt(FIRST)), 1)
    spend("reserved", 1n, periodsAt(FIRST), -1)
    assert.deepStrictEqual(overspent(["reserved"], periodsAt(FIRST)), [])
  })
})
