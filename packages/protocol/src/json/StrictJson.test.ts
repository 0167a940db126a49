import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as fc from "fast-check"
import { hasVectors, listVectors, readVectorBytes } from "../../test/PublicVectors.ts"
import { RefundBody } from "../Authorization.ts"
import { decodeBody } from "../request/DecodeBody.ts"
import type { JsonValue } from "./Json.ts"
import { REPEATED_NAME_MAX_UNITS } from "./JsonPointer.ts"
import { parseJson } from "./ParseJson.ts"
import { illFormedStrings, MAX_JSON_DEPTH, parseStrictJson } from "./StrictJson.ts"

const utf8 = (text: string) => new TextEncoder().encode(text)
const parse = (text: string) => parseStrictJson(utf8(text))
const detailOf = (result: ReturnType<typeof parseStrictJson>) =>
  Result.isFailure(result) ? result.failure.detail : "accepted"

const NOT_UTF8 = "The body is not well-formed UTF-8."
const NOT_JSON = "The body is not valid JSON."
const BOM = "The body begins with a byte order mark."
const DUPLICATE = "The body holds an object with a duplicate member name."
const BEYOND = "The body holds an integer beyond 2^53-1."
const OVERFLOW = "The body holds a number that overflows."
const TOO_DEEP = "The body nests deeper than 32 levels."

const JSON_TEST_SUITE = "jsontestsuite"

/** Valid JSON that the extra rules of part 1 refuse all the same. */
const REFUSED_THOUGH_VALID: Readonly<Record<string, string>> = {
  "y_number.json": BEYOND,
  "y_number_real_capital_e.json": BEYOND,
  "y_number_real_exponent.json": BEYOND,
  "y_number_real_fraction_exponent.json": BEYOND,
  "y_object_duplicated_key.json": DUPLICATE,
  "y_object_duplicated_key_and_value.json": DUPLICATE,
  "y_object_extreme_numbers.json": BEYOND
}

/** What the suite leaves to the implementation. Lone surrogates pass here: `illFormedStrings` sees them. */
const IMPLEMENTATION_DEFINED: Readonly<Record<string, string>> = {
  "i_number_double_huge_neg_exp.json": "accepted",
  "i_number_huge_exp.json": OVERFLOW,
  "i_number_neg_int_huge_exp.json": OVERFLOW,
  "i_number_pos_double_huge_exp.json": OVERFLOW,
  "i_number_real_neg_overflow.json": OVERFLOW,
  "i_number_real_pos_overflow.json": OVERFLOW,
  "i_number_real_underflow.json": "accepted",
  "i_number_too_big_neg_int.json": BEYOND,
  "i_number_too_big_pos_int.json": BEYOND,
  "i_number_very_big_negative_int.json": BEYOND,
  "i_object_key_lone_2nd_surrogate.json": "accepted",
  "i_string_1st_surrogate_but_2nd_missing.json": "accepted",
  "i_string_1st_valid_surrogate_2nd_invalid.json": "accepted",
  "i_string_UTF-16LE_with_BOM.json": NOT_UTF8,
  "i_string_UTF-8_invalid_sequence.json": NOT_UTF8,
  "i_string_UTF8_surrogate_U+D800.json": NOT_UTF8,
  "i_string_incomplete_surrogate_and_escape_valid.json": "accepted",
  "i_string_incomplete_surrogate_pair.json": "accepted",
  "i_string_incomplete_surrogates_escape_valid.json": "accepted",
  "i_string_invalid_lonely_surrogate.json": "accepted",
  "i_string_invalid_surrogate.json": "accepted",
  "i_string_invalid_utf-8.json": NOT_UTF8,
  "i_string_inverted_surrogates_U+1D11E.json": "accepted",
  "i_string_iso_latin_1.json": NOT_UTF8,
  "i_string_lone_second_surrogate.json": "accepted",
  "i_string_lone_utf8_continuation_byte.json": NOT_UTF8,
  "i_string_not_in_unicode_range.json": NOT_UTF8,
  "i_string_overlong_sequence_2_bytes.json": NOT_UTF8,
  "i_string_overlong_sequence_6_bytes.json": NOT_UTF8,
  "i_string_overlong_sequence_6_bytes_null.json": NOT_UTF8,
  "i_string_truncated-utf-8.json": NOT_UTF8,
  "i_string_utf16BE_no_BOM.json": NOT_UTF8,
  "i_string_utf16LE_no_BOM.json": NOT_UTF8,
  "i_structure_500_nested_arrays.json": TOO_DEEP,
  "i_structure_UTF-8_BOM_empty_object.json": BOM
}

describe.skipIf(!hasVectors(JSON_TEST_SUITE))("strict JSON (part 1) on JSONTestSuite", () => {
  const folder = `${JSON_TEST_SUITE}/test_parsing`
  const files = hasVectors(JSON_TEST_SUITE) ? listVectors(folder) : []
  const starting = (letter: string) => files.filter((file) => file.startsWith(letter))
  const outcome = (file: string) => detailOf(parseStrictJson(readVectorBytes(`${folder}/${file}`)))

  it.each(starting("y_"))("accepts %s", (file) => {
    assert.strictEqual(outcome(file), REFUSED_THOUGH_VALID[file] ?? "accepted")
    if (REFUSED_THOUGH_VALID[file] !== undefined) return
    const bytes = readVectorBytes(`${folder}/${file}`)
    assert.deepStrictEqual(
      Result.getOrThrow(parseStrictJson(bytes)),
      JSON.parse(new TextDecoder().decode(bytes)) as JsonValue
    )
  })

  it.each(starting("n_"))("refuses %s", (file) => assert.notStrictEqual(outcome(file), "accepted"))

  it("treats implementation-defined texts as listed", () => {
    const outcomes = Object.fromEntries(starting("i_").map((file) => [file, outcome(file)]))
    assert.deepStrictEqual(outcomes, IMPLEMENTATION_DEFINED)
  })
})

describe("strict JSON (part 1)", () => {
  it.each([
    ["", NOT_JSON],
    [" ", NOT_JSON],
    ["{bad", NOT_JSON],
    ['{"a":1,}', NOT_JSON],
    ['{"a', NOT_JSON],
    ['"\\', NOT_JSON],
    ["NaN", NOT_JSON],
    ["]]]]", NOT_JSON],
    ["\ufeff{}", BOM],
    ["\ufeff\ufeff{}", BOM],
    [" \ufeff{}", NOT_JSON],
    ['{"a":1,"a":1}', DUPLICATE],
    ['{"a":1,"b":2,"a":3}', DUPLICATE],
    ['{"a":1,"\\u0061":2}', DUPLICATE],
    ['{"\\u00e9":1,"é":2}', DUPLICATE],
    ['[{"x":[{"b":{},"b":[]}]}]', DUPLICATE],
    ['{"a":{"b":1},"c":[1,{"d":2}],"a":0}', DUPLICATE],
    ['{"__proto__":1,"__proto__":2}', DUPLICATE],
    ['{"":1,"":2}', DUPLICATE],
    ['{"a\\"b":1,"a\\u0022b":2}', DUPLICATE],
    ['{"\\ud800":1,"\\ud800":2}', DUPLICATE],
    ["9007199254740992", BEYOND],
    ["9007199254740993", BEYOND],
    ["-9007199254740993", BEYOND],
    ["9007199254740992.5", BEYOND],
    ["9007199254740993.0", BEYOND],
    ["1e16", BEYOND],
    ["1E+16", BEYOND],
    ["-1e16", BEYOND],
    ["0.1e17", BEYOND],
    ['[0,{"a":[1e16]}]', BEYOND],
    ["1e308", BEYOND],
    [`1${"0".repeat(400)}`, OVERFLOW],
    ["1e400", OVERFLOW],
    ["-1e400", OVERFLOW],
    ["[1,1e999999999]", OVERFLOW]
  ])("refuses %s", (text, detail) => assert.strictEqual(detailOf(parse(text)), detail))

  it.each([
    "null",
    '""',
    "9007199254740991",
    "-9007199254740991",
    "9007199254740991.0",
    "9.007199254740991e15",
    "1e15",
    "100.5",
    "1e-400",
    "-0",
    "0.30000000000000004",
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":1}]',
    '{"a":["a","a"],"b":"a"}',
    '{"a":1,"A":2}',
    '{"\u00e9":1,"e\u0301":2}',
    '{"a":"9007199254740993","b":"1e400","c":"}{[,:"}',
    '{"a\\\\":1,"a\\"":2,"a":"\\\\"}',
    ' {\t"a"\r:\n[ 1 , { "b" : "," } ] } '
  ])("accepts %s as the platform reads it", (text) => {
    assert.deepStrictEqual(Result.getOrThrow(parse(text)), parseJson(text))
  })

  it("keeps __proto__ and constructor as plain members", () => {
    const value = Result.getOrThrow(parse('{"__proto__":{"admin":true},"constructor":1}')) as object
    assert.deepStrictEqual(Object.keys(value), ["__proto__", "constructor"])
    assert.strictEqual(Object.getPrototypeOf(value), Object.prototype)
    assert.isUndefined((value as { admin?: unknown }).admin)
  })

  it.each(["[", '{"a":'])("refuses more than 32 levels opened by %s", (open) => {
    const close = open === "[" ? "]" : "}"
    const nested = (levels: number) => `${open.repeat(levels - 1)}[]${close.repeat(levels - 1)}`
    assert.strictEqual(detailOf(parse(nested(MAX_JSON_DEPTH))), "accepted")
    assert.strictEqual(detailOf(parse(nested(MAX_JSON_DEPTH + 1))), TOO_DEEP)
    const limited = (levels: number) => detailOf(parseStrictJson(utf8(nested(levels)), { maxDepth: 2 }))
    assert.strictEqual(limited(2), "accepted")
    assert.strictEqual(limited(3), "The body nests deeper than 2 levels.")
  })

  it("does not count brackets in strings or levels that were closed", () => {
    assert.strictEqual(detailOf(parse(JSON.stringify(["[".repeat(100), '{"'.repeat(100)]))), "accepted")
    assert.strictEqual(detailOf(parse(`[${"[],{},".repeat(100)}0]`)), "accepted")
  })

  it("handles any depth and many members", () => {
    assert.strictEqual(detailOf(parse("[".repeat(1_000_000))), TOO_DEEP)
    assert.strictEqual(detailOf(parse('{"a":'.repeat(1_000_000))), TOO_DEEP)
    const members = Array.from({ length: 100_000 }, (_, index) => `"m${index}":${index}`)
    assert.strictEqual(detailOf(parse(`{${members.join(",")}}`)), "accepted")
    assert.strictEqual(detailOf(parse(`{${members.join(",")},"m77":0}`)), DUPLICATE)
  })

  it("never quotes the body in its detail", () => {
    for (const text of ['{"canary', '{"canary":1,"canary":2}', '["canary",1e400]', '["canary",1e16]']) {
      assert.notInclude(detailOf(parse(text)), "canary")
    }
  })

  it("accepts what the platform writes, within the rule for numbers", () => {
    const value = fc.jsonValue({ maxDepth: 5, noUnicodeString: false }).filter((candidate) => {
      const numbers = JSON.stringify(candidate)
        .replace(/"(?:[^"\\]|\\.)*"/gu, "")
        .match(/-?\d[\d.eE+-]*/gu)
      return (numbers ?? []).every((literal) => Math.abs(Number(literal)) <= Number.MAX_SAFE_INTEGER)
    })
    fc.assert(
      fc.property(value, (candidate) => {
        const text = JSON.stringify(candidate)
        assert.deepStrictEqual(Result.getOrThrow(parse(text)), parseJson(text))
      })
    )
  })

  it("never accepts what the platform refuses, and never throws", () => {
    const noise = fc.string({ unit: fc.constantFrom(...'{}[]",:\\u0061e+-.ntrfs '), maxLength: 12 })
    fc.assert(
      fc.property(noise, (text) => {
        if (Result.isFailure(parse(text))) return
        JSON.parse(text)
      }),
      { numRuns: 2000 }
    )
  })
})

describe("strings that are not well-formed Unicode (part 1)", () => {
  const pointers = (text: string) => illFormedStrings(Result.getOrThrow(parse(text)), 100)
  const LONGEST_NAME = "n".repeat(REPEATED_NAME_MAX_UNITS)

  it.each([
    ['"ok \ud83d\ude00"', []],
    ['"\\ud800"', [""]],
    ['"\\u0000"', [""]],
    ['"\\ude00\\ud83d"', [""]],
    ['"\\ud83d\\ude00"', []],
    ['{"a":"\\u0000","b":["x","\\ud800"]}', ["/a", "/b/1"]],
    ['{"a/b":{"c~d":"\\u0000"}}', ["/a~1b/c~0d"]],
    ['{"a":{"\\ud800":1}}', ["/a"]],
    ['{"\\u0000":"\\u0000","\\ud800":1,"b":"\\ud800"}', ["", "/b"]],
    ['{"__proto__":"\\u0000"}', ["/__proto__"]],
    [`{"${LONGEST_NAME}":"\\ud800"}`, [`/${LONGEST_NAME}`]],
    [`{"a":{"${LONGEST_NAME}n":["\\ud800"]}}`, ["/a"]],
    ["[null,1,true]", []]
  ] as const)("are found in %s", (text, expected) => assert.deepStrictEqual(pointers(text), expected))

  it("have pointers that are well-formed themselves", () => {
    for (const pointer of pointers('{"\\ud800":{"\\u0000":"\\ud800"},"x":["\\ud800"]}')) {
      assert.isTrue(pointer.isWellFormed() && !pointer.includes("\u0000"))
    }
  })

  describe("strict JSON with fractions that a double would round to an integer", () => {
    const parse = (literal: string) => parseStrictJson(new TextEncoder().encode(`{"amount":${literal}}`))
    it.each([
      "9007199254740990.6",
      "-9007199254740990.6",
      "1.0000000000000000001",
      "10000000000000000001e-19",
      "99999999999999999.9e-2"
    ])("refuses %s", (literal) => assert.isTrue(Result.isFailure(parse(literal))))
    it.each([
      "1.0000000000000000000",
      "100.0",
      "1000e-2",
      "1.5e1",
      "100.5",
      "0.00000000000000001",
      "1e-400",
      "12.50e2"
    ])("accepts %s", (literal) => assert.isTrue(Result.isSuccess(parse(literal))))
  })

  describe("in a body made to be costly", () => {
    it("are listed up to the limit, without long names", () => {
      const name = "~".repeat(28_000)
      const value = { [name]: Array.from({ length: 4000 }, () => "\ud800"), short: "\ud800" }
      assert.deepStrictEqual(illFormedStrings(value, 100), ["", "/short"])
      const many = { list: Array.from({ length: 4000 }, () => "\ud800") }
      const found = illFormedStrings(many, 100)
      assert.strictEqual(found.length, 100)
      assert.strictEqual(found[99], "/list/99")
      assert.deepStrictEqual(illFormedStrings({ a: "\ud800", "\ud800": 1 }, 1), ["/a"])
    })
  })
})

describe("strict JSON of plain integers (part 7)", () => {
  const read = (text: string) => parseStrictJson(utf8(text), { plainIntegers: true })

  it("has any value but a number with a fraction or an exponent", () => {
    const text = '{"a":[true,false,null,"1.5e3"],"b":-5, "e":0,"c":9007199254740991}'
    assert.deepStrictEqual(Result.getOrThrow(read(text)), parseJson(text))
    for (const literal of ["1.0", "-1.5", "1e2", "1E2", "0e0"]) {
      assert.strictEqual(
        detailOf(read(`[${literal}]`)),
        "The JSON holds a number with a fraction or an exponent."
      )
    }
    assert.strictEqual(detailOf(read("[9007199254740992]")), BEYOND)
  })
})

describe("strict JSON that keeps fractions", () => {
  const read = (text: string) => parseStrictJson(new TextEncoder().encode(text), { keepFractions: true })

  it.each([
    ['{"a":5000.0000000000000000001}', { a: 0.5 }],
    ['{"a":-1.0000000000000000001,"b":[10000000000000000001e-19, 7]}', { a: 0.5, b: [0.5, 7] }],
    [
      '[1.5,0.10000000000000000001e1,9.0000000000000000001,"1.0000000000000000001"]',
      [1.5, 0.5, 0.5, "1.0000000000000000001"]
    ],
    ['{"a":"1.0000000000000000001","b":100.0,"c":100.5}', { a: "1.0000000000000000001", b: 100, c: 100.5 }]
  ])("reads %s as no integer where it is none", (text, value) => {
    assert.deepStrictEqual(Result.getOrThrow(read(text)) as unknown, value)
  })

  it.each(['{"a":1.0000000000000000001,"a":1}', "[1.0000000000000000001,9007199254740993]"])(
    "still refuses %s",
    (text) => assert.isTrue(Result.isFailure(read(text)))
  )

  it("leads to a fault of the member that must be an integer", () => {
    const body = Result.getOrThrow(
      read('{"amount":5000.0000000000000000001,"currency":"EUR","provider_refund_reference":"r"}')
    )
    const decoded = decodeBody(RefundBody)(body)
    const pointers = Result.isFailure(decoded) ? decoded.failure.map(({ pointer }) => pointer) : []
    assert.deepStrictEqual(pointers.toSorted(), ["/amount", "/reported_refunded_at"])
  })
})

it("a member's name is the one that was written, whatever others have sent before in its place", () => {
  const parsed = (text: string) => Result.getOrThrow(parseStrictJson(new TextEncoder().encode(text)))
  parsed('{"merchant":"m","\\\\":"v"}')
  for (const name of ["\u0000", "\ud800", '"', "\n"]) {
    const text = JSON.stringify({ merchant: "m", [name]: "v" })
    const value = parsed(text)
    assert.deepStrictEqual(Object.keys(value as object), ["merchant", name])
    assert.lengthOf(illFormedStrings(value, 1), name === "\u0000" || name === "\ud800" ? 1 : 0)
  }
})
