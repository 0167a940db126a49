import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { TEXT_MAX_CODE_POINTS, Text, textBetween } from "./Text.ts"

/** One code point, two UTF-16 units, four bytes. */
const ASTRAL = "\u{1f600}"

describe("a string of a request (part 1)", () => {
  it.each([
    ["nothing", "", false],
    ["one character", "a", true],
    ["255 characters", "a".repeat(TEXT_MAX_CODE_POINTS), true],
    ["256 characters", "a".repeat(TEXT_MAX_CODE_POINTS + 1), false],
    ["255 characters of two units", ASTRAL.repeat(TEXT_MAX_CODE_POINTS), true],
    ["256 characters of two units", ASTRAL.repeat(TEXT_MAX_CODE_POINTS + 1), false],
    ["a combining character", "e\u0301", true],
    ["U+0000", "a\u0000b", false],
    ["a high surrogate alone", "a\ud800", false],
    ["a low surrogate alone", "\udc00a", false],
    ["a number", 1, false],
    ["null", null, false]
  ])("of %s: %#", (_, value, expected) => assert.strictEqual(Schema.is(Text)(value), expected))

  it("has its own bounds where a member says so, both counted in code points", () => {
    const accepted = ["", ASTRAL, "ab", ASTRAL.repeat(2), "abc", ASTRAL.repeat(3), "abcd"].filter(
      Schema.is(textBetween(2, 3))
    )
    assert.deepStrictEqual(accepted, ["ab", ASTRAL.repeat(2), "abc", ASTRAL.repeat(3)])
    const { schema } = Schema.toJsonSchemaDocument(textBetween(2, 3))
    assert.deepStrictEqual(schema, { type: "string", minLength: 2, maxLength: 3 })
  })
})
