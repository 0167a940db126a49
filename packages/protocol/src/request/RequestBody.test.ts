import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import type { JsonValue } from "../json/Json.ts"
import { illFormedStrings } from "../json/StrictJson.ts"
import { MAX_PROBLEM_ERRORS } from "../Problem.ts"
import { MAX_BODY_BYTES } from "./MaxBodyBytes.ts"
import { EMPTY_BODY, jsonOfBody, parseRequestBody } from "./RequestBody.ts"

const parse = (text: string) => parseRequestBody(new TextEncoder().encode(text))

/** What is wrong with a text, if anything is. */
const faultOf = (text: string) => {
  const parsed = parse(text)
  return Result.isSuccess(parsed) ? undefined : parsed.failure
}

describe("a request body as bytes (part 1)", () => {
  it("is what was sent", () => {
    const body = Result.getOrThrow(parse('{"a":[1,"x",null],"__proto__":true}'))
    const value = Result.getOrThrow(jsonOfBody(body))
    assert.strictEqual(JSON.stringify(value), '{"a":[1,"x",null],"__proto__":true}')
    assert.strictEqual(Result.getOrThrow(jsonOfBody(body)), value)
  })

  it("is malformed when it is no strict JSON", () => {
    for (const text of ["", "{", '{"a":1,"a":1}', "[9007199254740993]"]) {
      assert.strictEqual(faultOf(text)?._tag, "MalformedJson", text)
    }
  })

  it("keeps a fraction that is too fine for a double, for the member's own rule to refuse", () => {
    const body = Result.getOrThrow(parse('{"a":1.0000000000000000001}'))
    assert.deepStrictEqual(Result.getOrThrow(jsonOfBody(body)), { a: 0.5 })
  })

  it("names the strings that are not well-formed, at most 100", () => {
    const detail = "Must be well-formed Unicode without U+0000."
    assert.deepStrictEqual(faultOf('{"a":"\\ud800","b":["\\u0000"]}'), {
      _tag: "IllFormedStrings",
      errors: ["/a", "/b/0"].map((pointer) => ({ pointer, code: "invalid_value", detail }))
    })
    const many = faultOf(JSON.stringify(Array.from({ length: 200 }, () => "\u0000")))
    assert.lengthOf(many?._tag === "IllFormedStrings" ? many.errors : [], MAX_PROBLEM_ERRORS)
  })
})

it("a request body is refused for ill-formed strings exactly if it has one, wherever that is", () => {
  const unit = fc.constantFrom("a", "\\", '"', "\n", "\u0000", "\ud800", "\udc00", "\u00e9")
  const text = fc.string({ unit, maxLength: 4 })
  const value = fc.letrec<{ any: JsonValue }>((tie) => ({
    any: fc.oneof(
      { maxDepth: 3 },
      text,
      fc.integer(),
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(text, tie("any"), { maxKeys: 3 })
    )
  })).any
  fc.assert(
    fc.property(value, (body) => {
      const isIllFormed = illFormedStrings(body, 1).length > 0
      assert.strictEqual(faultOf(JSON.stringify(body))?._tag, isIllFormed ? "IllFormedStrings" : undefined)
    })
  )
})

describe("a request body of this process (part 1)", () => {
  it("is copied by the rules for bytes", () => {
    const given = { a: { b: 1 } }
    const value = Result.getOrThrow(jsonOfBody(given))
    assert.deepStrictEqual(value, given)
    assert.notStrictEqual(value, given)
    const pointers = (body: unknown) => {
      const copied = jsonOfBody(body)
      return Result.isFailure(copied) ? copied.failure.map(({ pointer }) => pointer) : []
    }
    assert.deepStrictEqual(pointers({ a: undefined, b: 1n }), ["/a", "/b"])
    assert.deepStrictEqual(pointers("x".repeat(MAX_BODY_BYTES - 2)), [])
    assert.deepStrictEqual(pointers("x".repeat(MAX_BODY_BYTES - 1)), [""])
  })

  it("is not taken for a parsed one, whatever it looks like", () => {
    const parsed = Result.getOrThrow(parse("{}"))
    const alike = Object.create(Object.getPrototypeOf(parsed), { value: { value: { a: 1n } } })
    for (const body of [alike, null, undefined, 1n, () => parsed]) {
      const copied = jsonOfBody(body)
      assert.isTrue(body === null ? Result.isSuccess(copied) : Result.isFailure(copied))
    }
  })

  it("may be empty", () => assert.deepStrictEqual(Result.getOrThrow(jsonOfBody(EMPTY_BODY)), {}))
})
