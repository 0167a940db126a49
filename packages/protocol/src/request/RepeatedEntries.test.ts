import { assert, describe, it } from "@effect/vitest"
import { repeatedEntries } from "./RepeatedEntries.ts"

describe("repeated entries of a list (part 4)", () => {
  it.each([
    [[], []],
    [["a", "b", "A", "a "], []],
    [["a", "b", "a"], ["/policy/allowed_actions/2"]],
    [
      ["a", "a", "b", "b", "a"],
      ["/policy/allowed_actions/1", "/policy/allowed_actions/3", "/policy/allowed_actions/4"]
    ]
  ])("are in %j the later ones", (list, pointers) => {
    const faults = repeatedEntries(list, ["policy", "allowed_actions"])
    assert.deepStrictEqual(
      faults,
      pointers.map((pointer) => ({ pointer, code: "duplicate", detail: "repeats an earlier entry" }))
    )
  })
})
