import { assert, describe, it } from "@effect/vitest"
import { visibleText } from "./VisibleText.ts"

describe("visibleText", () => {
  const rows: ReadonlyArray<readonly [string, string, string]> = [
    ["ordinary text of any script", "Ağaç & Söhne 本 مرحبا <b>", "Ağaç & Söhne 本 مرحبا <b>"],
    ["spaces stay", "a b\u00a0c", "a b\u00a0c"],
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
    ["a blank symbol", "a\u2800b", "aU+2800b"],
    ["the empty text", "", ""]
  ]
  for (const [title, given, expected] of rows) {
    it(title, () => assert.strictEqual(visibleText(given), expected))
  }
})
