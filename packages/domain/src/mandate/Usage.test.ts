import { assert, describe, it } from "@effect/vitest"
import {
  after,
  approve,
  at,
  commit,
  created,
  DAY,
  ENDS,
  HOUR,
  MONTHLY,
  propose,
  recurring,
  SECOND,
  STARTS,
  single,
  until
} from "../../test/MandateStory.ts"
import { addLate, NO_USE, shownAmount, shownCounters } from "./Counters.ts"
import { usageAt } from "./Usage.ts"

const none = {
  committed_amount: 0,
  reserved_amount: 0,
  late_amount: 0,
  committed_executions: 0,
  reserved_executions: 0,
  late_executions: 0
}

const active = until(
  after(
    created(recurring({ policy: { periods: [MONTHLY, { ...MONTHLY, unit: "DAY", max_executions: 3 }] } })),
    approve,
    at("2026-11-29T00:00:00Z")
  ),
  STARTS
)

describe("usage", () => {
  it("of a SINGLE mandate has no periods", () => {
    assert.deepStrictEqual(usageAt(created(single()).stream.mandate, STARTS), { ...none, periods: [] })
  })

  it("before the window shows the first periods, after it the last ones", () => {
    const bounds = (now: bigint) =>
      usageAt(active.stream.mandate, now).periods.map(({ starts_at, ends_at }) => [starts_at, ends_at])
    assert.deepStrictEqual(bounds(STARTS - 40n * DAY), [
      ["2026-12-01T00:00:00.000000000Z", "2027-01-01T00:00:00.000000000Z"],
      ["2026-12-01T00:00:00.000000000Z", "2026-12-02T00:00:00.000000000Z"]
    ])
    for (const now of [ENDS, ENDS + 400n * DAY]) {
      assert.deepStrictEqual(bounds(now), [
        ["2027-11-01T00:00:00.000000000Z", "2027-12-01T00:00:00.000000000Z"],
        ["2027-11-30T00:00:00.000000000Z", "2027-12-01T00:00:00.000000000Z"]
      ])
    }
  })

  it("of a month is not that of the day on which it began, while something of that day is still open", () => {
    const begun = until(
      after(
        created(recurring({ policy: { periods: [{ ...MONTHLY, unit: "DAY" }, MONTHLY] } })),
        approve,
        at("2026-11-29T00:00:00Z")
      ),
      STARTS
    )
    const evening = after(begun, propose(1, { window: 86_400 }), STARTS + 12n * HOUR)
    const story = after(evening, propose(2), STARTS + DAY)
    const reserved = usageAt(story.stream.mandate, STARTS + DAY).periods.map(
      ({ reserved_executions }) => reserved_executions
    )
    assert.deepStrictEqual(reserved, [1, 2])
  })

  it("shows each period's index, bounds, caps and use", () => {
    const story = after(after(active, propose(1), STARTS), commit(1), STARTS + SECOND)
    const used = { ...none, committed_amount: 1000, committed_executions: 1 }
    assert.deepStrictEqual(usageAt(story.stream.mandate, STARTS + HOUR), {
      ...used,
      periods: [
        {
          period: 0,
          starts_at: "2026-12-01T00:00:00.000000000Z",
          ends_at: "2027-01-01T00:00:00.000000000Z",
          max_amount: 20_000,
          ...used
        },
        {
          period: 1,
          starts_at: "2026-12-01T00:00:00.000000000Z",
          ends_at: "2026-12-02T00:00:00.000000000Z",
          max_amount: 20_000,
          max_executions: 3,
          ...used
        }
      ]
    })
  })

  it("of a period that began anew is nothing", () => {
    const story = after(after(active, propose(1), STARTS), commit(1), STARTS + SECOND)
    const [month, day] = usageAt(story.stream.mandate, STARTS + DAY).periods
    assert.strictEqual(month?.committed_amount, 1000)
    assert.strictEqual(day?.committed_amount, 0)
  })

  it("of the last period stays to be shown when the mandate has ended", () => {
    const late = after(
      after(active, propose(1), ENDS - HOUR),
      commit(1, { reported_accepted_at: "2027-11-30T00:00:00Z" }),
      ENDS - HOUR + SECOND
    )
    const ended = until(late, ENDS + DAY)
    assert.strictEqual(usageAt(ended.stream.mandate, ENDS + DAY).periods[0]?.committed_amount, 1000)
  })
})

describe("what is shown of a sum", () => {
  it("stops at 2^53-1", () => {
    assert.strictEqual(shownAmount(9007199254740991n), 9007199254740991)
    assert.strictEqual(shownAmount(9007199254740992n), 9007199254740991)
    const counters = addLate(addLate(NO_USE, 9007199254740991n), 9007199254740991n)
    assert.strictEqual(counters.lateAmount, 18014398509481982n)
    assert.deepStrictEqual(shownCounters(counters), {
      ...none,
      late_amount: 9007199254740991,
      late_executions: 2
    })
  })
})
