import { assert, describe, it } from "@effect/vitest"
import { recurring, STARTS } from "../../test/MandateStory.ts"
import { instantOf, prepareTerms } from "./PreparedTerms.ts"

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
