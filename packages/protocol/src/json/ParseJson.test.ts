import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { parseJson } from "./ParseJson.ts"

/** Names that V8 met in the place of a second member, after which it misreads others that are written with escapes. */
const MET = ["\\", "z\\", "\\\\", "\\u0061", '"', "\n", "z"]

for (const name of MET) JSON.parse(JSON.stringify({ met: 1, [name]: 1 }))

const written = fc.constantFrom(
  ...["\\", "z\\", "z", "a", "\\u0061", '"', "\n", "\u0000", "\ud800", "\u00e9", "__proto__", "met", "1", ""]
)

const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    written,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(true, false, null),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.array(fc.tuple(written, tie("any")), { maxLength: 4 }).map((members) => {
      const object = {}
      for (const [name, member] of [["met", 1], ...members] as const) {
        Object.defineProperty(object, name, {
          value: member,
          configurable: true,
          enumerable: true,
          writable: true
        })
      }
      return object
    })
  )
})).any

describe("JSON is read as it is written", () => {
  it("with the names that it has, whatever names were met before in their place", () => {
    for (const name of ["\u0000", "\ud800", '"', "\n", "z\n", 'z"', "\\n", "a"]) {
      const text = JSON.stringify({ met: 1, [name]: 1 })
      assert.deepStrictEqual(Object.keys(parseJson(text) as object), ["met", name], text)
    }
    assert.deepStrictEqual(Object.keys(parseJson('{"met":1,"\\u0061mount":2}') as object), ["met", "amount"])
    assert.deepStrictEqual(parseJson('{"met":1,"\\n":2,"\\\\":3}'), { met: 1, "\n": 2, "\\": 3 })
  })

  it("whatever it holds", () => {
    fc.assert(
      fc.property(value, fc.constantFrom(0, 1, "\t"), (any, space) => {
        const text = JSON.stringify(any, null, space)
        assert.strictEqual(JSON.stringify(parseJson(text), null, space), text)
      }),
      { numRuns: 2000 }
    )
  })

  it("the last of several members of one name counts", () => {
    assert.deepStrictEqual(parseJson('{"\\u0061":1,"a":2}'), { a: 2 })
  })

  it("however deep it nests", () => {
    const depth = 100_000
    const text = `${'{"\\n":['.repeat(depth)}${"]}".repeat(depth)}`
    assert.doesNotThrow(() => parseJson(text))
  })

  it.each(["", "{", '{"\\":1}', '{"a\\n":}', '"\\x"', "[1,]", "\\", "nul", '{"a":1}}'])(
    "and is refused where it is no JSON: %s",
    (text) => assert.throws(() => parseJson(text), SyntaxError)
  )
})
