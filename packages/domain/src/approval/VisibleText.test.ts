import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { exactText, hidesCharacters, visibleText } from "./VisibleText.ts"

describe("text with its invisible characters shown (part 6)", () => {
  const rows: ReadonlyArray<readonly [string, string, string]> = [
    ["ordinary text of any script, which stays", "Ağaç & Söhne 本 مرحبا <b>", "Ağaç & Söhne 本 مرحبا <b>"],
    ["spaces, which stay", "a b\u00a0c", "a b\u00a0c"],
    ["controls", "a\u0001b\tc\nd\u007fe\u0085", "aU+0001bU+0009cU+000AdU+007FeU+0085"],
    ["right-to-left override", "pay \u202e001", "pay U+202E001"],
    ["isolates and marks", "\u2066a\u2069\u200e\u200f\u061c", "U+2066aU+2069U+200EU+200FU+061C"],
    ["zero width", "a\u200bb\u200cc\u200dd\ufeffe\u2060", "aU+200BbU+200CcU+200DdU+FEFFeU+2060"],
    ["soft hyphen", "a\u00adb", "aU+00ADb"],
    ["fillers that show nothing", "\u3164\uffa0\u115f", "U+3164U+FFA0U+115F"],
    ["line and paragraph separators", "a\u2028b\u2029", "aU+2028bU+2029"],
    ["tags beyond the basic plane", "a\u{e0041}", "aU+E0041"],
    ["private use", "\ue000", "U+E000"],
    ["emoji with a variation selector", "❤\ufe0f 1\ufe0f\u20e3", "❤\ufe0f 1\ufe0f\u20e3"],
    [
      "variation selectors that select nothing",
      "a\ufe00 1\ufe0f ❤\ufe0f\ufe0f\ufe01",
      "aU+FE00 1U+FE0F ❤\ufe0fU+FE0FU+FE01"
    ],
    ["a text variation selector, which stays", "☎\ufe0e", "☎\ufe0e"],
    ["a joiner after an emoji", "❤\u200d❤", "❤U+200D❤"],
    ["two digits after an escape, which would extend it", "\u000e00", "U+000E0U+0030"],
    ["a blank symbol", "a\u2800b", "aU+2800b"],
    ["text that looks like an escape", "a U+200B U+20", "a U+0055+200B U+20"],
    ["a digit after an escape, which would extend it", "\uf0000", "U+F000U+0030"],
    ["the empty text", "", ""]
  ]
  for (const [title, given, expected] of rows) {
    it(`is written as required: ${title}`, () => assert.strictEqual(visibleText(given), expected))
  }
})

it("a text hides characters only if some are invisible: not if it looks like an escape", () => {
  for (const text of ["a\u200bb", "pay \u202e001", "a\ufe00", "\ue000"]) assert.isTrue(hidesCharacters(text))
  for (const text of ["", "a U+200B", "❤\ufe0f 1\ufe0f\u20e3", "مرحبا"]) assert.isFalse(hidesCharacters(text))
})

describe("text with every ambiguous character shown (part 6)", () => {
  const rows: ReadonlyArray<readonly [string, string, string]> = [
    [
      "ordinary words of any script, which stay",
      "mrc_42 Bücher & Söhne 本屋 متجر",
      "mrc_42 Bücher & Söhne 本屋 متجر"
    ],
    ["a space of another kind", "a\u00a0b\u3000c", "aU+00A0bU+3000c"],
    ["spaces at the ends", " a ", "U+0020aU+0020"],
    ["spaces side by side", "a  b", "aU+0020U+0020b"],
    ["selectors", "©\ufe0e ❤\ufe0f", "©U+FE0E ❤U+FE0F"],
    ["combining marks that have a composed form", "cafe\u0301", "cafeU+0301"],
    ["combining marks that have no composed form", "q\u0307", "q\u0307"]
  ]
  for (const [title, given, expected] of rows) {
    it(`is written as required: ${title}`, () => assert.strictEqual(exactText(given), expected))
  }
})

describe("two texts that differ (part 6)", () => {
  const piece = fc.constantFrom(
    ..."U+0123456789ABCDEFabc #* ❤©",
    "\u200b",
    "\u202e",
    "\uf000",
    "\ue000",
    "\u{f0000}",
    "\u{10fff}",
    "\u{e0041}",
    "\ufe0f",
    "\u20e3",
    "\u0301",
    "\u00a0",
    "U+200B"
  )
  const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""))

  for (const [name, shown] of Object.entries({ visibleText, exactText })) {
    it(`are shown differently by ${name}`, () => {
      const seen = new Map<string, string>()
      fc.assert(
        fc.property(text, (given) => {
          const before = seen.get(shown(given))
          assert.isTrue(
            before === undefined || before === given,
            `${JSON.stringify(before)} ${JSON.stringify(given)}`
          )
          seen.set(shown(given), given)
        }),
        { numRuns: 20_000 }
      )
    })
  }
})
