import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { hasVectors, listVectors, readVectorJson, readVectorText } from "../../test/PublicVectors.ts"
import { canonicalBytes, canonicalJson } from "./CanonicalJson.ts"
import type { JsonValue } from "./Json.ts"
import { parseJson } from "./ParseJson.ts"

const RFC_8785 = "rfc8785-jcs"

const fromHexText = (text: string) =>
  Uint8Array.from(text.trim().split(/\s+/u), (byte) => Number.parseInt(byte, 16))

const doubleFromHex = (hex: string): number => {
  const view = new DataView(new ArrayBuffer(8))
  view.setBigUint64(0, BigInt(`0x${hex}`))
  return view.getFloat64(0)
}

describe.skipIf(!hasVectors(RFC_8785))("canonical JSON (part 1) agrees with RFC 8785", () => {
  for (const file of hasVectors(RFC_8785) ? listVectors(`${RFC_8785}/input`) : []) {
    it(`on ${file}`, () => {
      const value = readVectorJson<JsonValue>(`${RFC_8785}/input/${file}`)
      assert.strictEqual(canonicalJson(value), readVectorText(`${RFC_8785}/output/${file}`).trimEnd())
      const hex = readVectorText(`${RFC_8785}/outhex/${file.replace(".json", ".txt")}`)
      assert.deepStrictEqual(canonicalBytes(value), fromHexText(hex))
    })
  }

  it("on the 10,000 numbers of es6numbers", () => {
    const lines = readVectorText(`${RFC_8785}/es6numbers-10000.txt`).trim().split("\n")
    assert.strictEqual(lines.length, 10_000)
    for (const line of lines) {
      const [hex, text] = line.split(",") as [string, string]
      assert.strictEqual(canonicalJson(doubleFromHex(hex)), text)
    }
  })
})

describe("canonical JSON (part 1)", () => {
  it("sorts members by UTF-16 code units, not by code points", () => {
    const lastByCodePoint = "\u{1f600}"
    const text = canonicalJson({ "\ufb33": 1, [lastByCodePoint]: 2, b: 3, B: 4, "": 5 })
    assert.strictEqual(text, `{"":5,"B":4,"b":3,"${lastByCodePoint}":2,"\ufb33":1}`)
  })

  it("writes null and booleans as JSON does", () => {
    assert.strictEqual(canonicalJson({ a: [true, false, null] }), '{"a":[true,false,null]}')
  })

  it("writes minus zero as 0", () => assert.strictEqual(canonicalJson(-0), "0"))

  it("keeps a member named __proto__", () => {
    const value = JSON.parse('{"a":{"__proto__":{"x":1}},"__proto__":2}') as JsonValue
    assert.strictEqual(canonicalJson(value), '{"__proto__":2,"a":{"__proto__":{"x":1}}}')
  })

  it("keeps a member whose name a host has given all objects", () => {
    const given: PropertyDescriptorMap = {
      extend: { value: () => 1, configurable: true },
      watched: { get: () => 1, set: () => undefined, configurable: true },
      toJSON: { value: "no function", configurable: true }
    }
    Object.defineProperties(Object.prototype, given)
    try {
      const value = JSON.parse('{"watched":2,"extend":{"toJSON":1},"a":[{}]}') as JsonValue
      assert.strictEqual(canonicalJson(value), '{"a":[{}],"extend":{"toJSON":1},"watched":2}')
    } finally {
      for (const name of Object.keys(given)) Reflect.deleteProperty(Object.prototype, name)
    }
  })

  it("throws on a value that JSON cannot represent", () => {
    const impossible: ReadonlyArray<unknown> = [
      undefined,
      { a: undefined },
      [undefined],
      Number.NaN,
      Number.POSITIVE_INFINITY,
      1n,
      "\ud800",
      { "\udc00": 1 },
      () => 1
    ]
    for (const value of impossible) assert.throws(() => canonicalJson(value as JsonValue), TypeError)
  })

  it("throws on it beside any other names, too", () => {
    for (const name of ["a", "0", "__proto__"]) {
      for (const impossible of [undefined, Number.NaN, 1n, "\ud800", [undefined], { b: undefined }]) {
        const value = { [name]: 1, z: impossible }
        assert.throws(() => canonicalJson(value as unknown as JsonValue), TypeError)
      }
      assert.throws(() => canonicalJson({ [name]: 1, "\udc00": 1 }), TypeError)
    }
    assert.throws(() => canonicalJson([{ 0: 1 }, new Array(1)] as JsonValue), TypeError)
  })

  it("is the text of each member in the order of their names, whatever these are", () => {
    const name = fc.oneof(
      fc.constantFrom(
        "",
        "-",
        "0",
        "00",
        "10",
        "9",
        "1e3",
        "01",
        "4294967295",
        "a",
        "B",
        "\u00e9",
        "\ufb33",
        "\u{1f600}"
      ),
      fc.constantFrom(
        "__proto__",
        "constructor",
        "toString",
        "toJSON",
        "valueOf",
        "length",
        '"',
        "\\",
        "\n",
        "\u2028"
      ),
      fc.string({ unit: "grapheme", maxLength: 3 })
    )
    const { tree } = fc.letrec<{ readonly tree: JsonValue }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.jsonValue({ maxDepth: 0, stringUnit: "binary" }) as fc.Arbitrary<JsonValue>,
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(name, tie("tree"), { maxKeys: 20 }) as fc.Arbitrary<JsonValue>
      )
    }))
    const written = (value: JsonValue): string => {
      if (Array.isArray(value)) return `[${value.map(written).join(",")}]`
      if (typeof value !== "object" || value === null) return JSON.stringify(value)
      const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))
      return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${written(member)}`).join(",")}}`
    }
    fc.assert(fc.property(tree, (value) => assert.strictEqual(canonicalJson(value), written(value))))
  })

  it("parses back to the same value and does not depend on the order of members", () => {
    const tree = fc.jsonValue({ maxDepth: 4, stringUnit: "binary" }) as fc.Arbitrary<JsonValue>
    const reversed = (value: JsonValue): JsonValue => {
      if (typeof value !== "object" || value === null) return value
      if (Array.isArray(value)) return value.map(reversed)
      const entries = Object.entries(value).map(([name, member]) => [name, reversed(member)] as const)
      return Object.fromEntries(entries.reverse())
    }
    fc.assert(
      fc.property(tree, (value) => {
        const text = canonicalJson(value)
        assert.strictEqual(canonicalJson(reversed(value)), text)
        assert.strictEqual(canonicalJson(parseJson(text)), text)
      })
    )
  })
})
