import { assert, describe, it } from "@effect/vitest"
import { givenMembers, pathTexts } from "./GivenMembers.ts"

describe("what a caller gave", () => {
  it("is read by name, each member once", () => {
    let reads = 0
    const given = {
      kept: 1,
      inherited: undefined,
      other: 2,
      get counted() {
        reads += 1
        return reads
      }
    }
    const members = givenMembers(given, ["kept", "counted", "missing"])
    assert.deepStrictEqual(members, { kept: 1, counted: 1 })
    assert.deepStrictEqual([members.counted, reads], [1, 1])
  })

  it("lacks what is undefined or cannot be read", () => {
    const given = {
      nothing: null,
      undefined: undefined,
      get broken() {
        throw new Error("not to be read")
      }
    }
    assert.hasAllKeys(givenMembers(given, ["nothing", "undefined", "broken"]), ["nothing"])
  })

  it.each([undefined, null, 7, "text", true, Symbol("given")])("has no members if it is %s", (given) => {
    assert.deepStrictEqual(givenMembers(given, ["length", "description"]), {})
  })

  it("names in its path a resource, or none where no path could hold the text", () => {
    const given = { mandateId: "mnd_1", number: 7, broken: "\ud800" }
    assert.deepStrictEqual(pathTexts(given, ["mandateId", "number", "broken", "missing"]), {
      mandateId: "mnd_1",
      number: "",
      broken: "",
      missing: ""
    })
  })
})
