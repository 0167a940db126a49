import { assert, it } from "@effect/vitest"
import * as fc from "fast-check"
import { MEASURED_UNITS, utf8Length } from "./Utf8.ts"

it("the length of a text in UTF-8 is one to four bytes for each code point", () => {
  assert.deepStrictEqual(
    ["", "a\u0000", "\u00e9", "\uffff", "\u{1f600}", "a\u00e9\u{1f600}"].map(utf8Length),
    [0, 2, 2, 3, 4, 7]
  )
})

it("a text has the length of its bytes, whatever was measured before, and one of any length", () => {
  const unit = fc.constantFrom("a", "\u00e9", "\uffff", "\u{1f600}", "\ud800", "\udc00")
  const fill = fc.constantFrom(0, MEASURED_UNITS - 1, MEASURED_UNITS, 3 * MEASURED_UNITS)
  fc.assert(
    fc.property(unit, fill, fc.string({ unit: "binary" }), (repeated, times, ends) => {
      const text = repeated.repeat(times) + ends
      assert.strictEqual(utf8Length(text), new TextEncoder().encode(text).length)
    })
  )
})
