import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { DAY, ENDS, MONTHLY, recurring, STARTS } from "../../test/MandateStory.ts"
import { periodAt } from "../calendar/PeriodGeometry.ts"
import { currentPeriods, instantOf, prepareTerms } from "./PreparedTerms.ts"

describe("the terms of a mandate", () => {
  it("are parsed once for as long as they are in use", () => {
    const terms = recurring()
    assert.strictEqual(prepareTerms(terms).startsAt, STARTS)
    assert.strictEqual(prepareTerms(terms), prepareTerms(terms))
    assert.notStrictEqual(prepareTerms(terms), prepareTerms(recurring()))
  })

  it("are a fault of the record where a period's time zone is missing, or an instant is none", () => {
    const zoneless = recurring({ time_zones: [] })
    assert.throws(() => prepareTerms(zoneless), "the time zone of a period was not recorded")
    assert.throws(() => instantOf("2026-02-30T00:00:00Z"), "a recorded timestamp does not parse")
  })
})

describe("the periods that are current", () => {
  const terms = recurring({
    policy: { periods: [MONTHLY, { ...MONTHLY, unit: "WEEK" }, { ...MONTHLY, unit: "DAY" }] }
  })

  it("are those of each instant, in whatever order these are asked for", () => {
    const { periods } = prepareTerms(terms)
    const day = fc.bigInt({ min: -3n, max: 40n })
    const offset = fc.constantFrom(-1n, 0n, 1n)
    const instants = fc.array(
      fc.oneof(
        fc.tuple(day, offset).map(([days, nanos]) => STARTS + days * DAY + nanos),
        fc.constantFrom(ENDS - 1n, ENDS, ENDS + 40n * DAY)
      ),
      { minLength: 1, maxLength: 10 }
    )
    fc.assert(
      fc.property(instants, (asked) => {
        for (const instant of asked) {
          const within = instant < STARTS ? STARTS : instant < ENDS ? instant : ENDS - 1n
          assert.deepStrictEqual(
            currentPeriods(terms, instant),
            periods.map(({ rule, zone }, period) => ({ period, ...periodAt(rule, zone, STARTS, within) }))
          )
        }
      })
    )
  })

  it("are found once for several questions at one instant", () => {
    assert.strictEqual(currentPeriods(terms, STARTS), currentPeriods(terms, STARTS + DAY - 1n))
    assert.notStrictEqual(currentPeriods(terms, STARTS), currentPeriods(terms, STARTS + DAY))
  })
})
