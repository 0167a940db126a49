import { assert, it } from "@effect/vitest"
import { utf8Length } from "./Utf8.ts"

it("the length of a text in UTF-8 is one to four bytes for each code point", () => {
  assert.deepStrictEqual(
    ["", "a\u0000", "\u00e9", "\uffff", "\u{1f600}", "a\u00e9\u{1f600}"].map(utf8Length),
    [0, 2, 2, 3, 4, 7]
  )
})
