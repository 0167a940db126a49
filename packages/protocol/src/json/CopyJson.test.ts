import { runInNewContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { MAX_PROBLEM_ERRORS } from "../Problem.ts"
import { copyJson } from "./CopyJson.ts"
import type { JsonValue } from "./Json.ts"
import { REPEATED_NAME_MAX_UNITS } from "./JsonPointer.ts"
import { parseJson } from "./ParseJson.ts"
import { MAX_JSON_DEPTH } from "./StrictJson.ts"

const LIMIT = 65_536

const copied = (value: unknown): JsonValue => Result.getOrThrow(copyJson(value, LIMIT))

/** Pointers and codes of the faults. */
const faultsOf = (value: unknown, limit = LIMIT): ReadonlyArray<string> => {
  const result = copyJson(value, limit)
  return Result.isSuccess(result) ? [] : result.failure.map(({ code, pointer }) => `${pointer} ${code}`)
}

const nested = (levels: number): unknown => (levels === 1 ? [] : [nested(levels - 1)])

const throwing = {
  get a(): never {
    throw new RangeError("the getter's own error")
  }
}

const revoked = (target: object): object => {
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  return proxy
}

const cyclic: Array<unknown> = []
cyclic.push(cyclic, cyclic)

const LONGEST_NAME = "n".repeat(REPEATED_NAME_MAX_UNITS)

const invalidType = (pointer: string): string => `${pointer} invalid_type`

const arrayOfLength = (length: number): object => new Proxy([], { get: () => length })

class Point {
  readonly x = 1
}

describe("a copy of JSON given in this process (part 1)", () => {
  it("equals what JSON text would carry and shares nothing with the original", () => {
    const tree = fc.jsonValue({ maxDepth: 5 }) as fc.Arbitrary<JsonValue>
    fc.assert(
      fc.property(tree, (value) => {
        fc.pre(faultsOf(value).length === 0)
        const copy = copied(value)
        assert.deepStrictEqual(copy, parseJson(JSON.stringify(value)))
        if (typeof value === "object" && value !== null) assert.notStrictEqual(copy, value)
      })
    )
  })

  it.each<[string, unknown, ReadonlyArray<string>]>([
    ["undefined", undefined, [" invalid_type"]],
    ["an undefined member", { a: { b: undefined } }, ["/a/b invalid_type"]],
    ["a hole in an array", { a: Object.assign([1], { 2: 3 }) }, ["/a/1 invalid_type"]],
    ["a BigInt", { a: 1n }, ["/a invalid_type"]],
    ["a symbol", { a: Symbol("s") }, ["/a invalid_type"]],
    ["a function", { a: () => 1 }, ["/a invalid_type"]],
    ["NaN", { a: Number.NaN }, ["/a invalid_value"]],
    ["infinity", [Number.NEGATIVE_INFINITY], ["/0 invalid_value"]],
    ["an integer beyond 2^53-1", { a: 2 ** 53 }, ["/a invalid_value"]],
    ["a lone surrogate", { a: "\ud800" }, ["/a invalid_value"]],
    ["U+0000", { a: ["ok", "\u0000"] }, ["/a/1 invalid_value"]],
    ["an ill-formed name", { a: { "\udc00": 1 } }, ["/a invalid_value"]],
    ["a Date", { a: new Date(0) }, ["/a invalid_type"]],
    ["a Map", new Map([["a", 1]]), [" invalid_type"]],
    ["an instance of a class", { a: new Point() }, ["/a invalid_type"]],
    ["a boxed string", { a: Object("text") }, ["/a invalid_type"]],
    ["bytes", { a: new Uint8Array(2) }, ["/a invalid_type"]],
    ["members of a prototype", Object.create({ a: 1 }), [" invalid_type"]],
    ["a getter that throws", { b: throwing }, ["/b/a invalid_type"]],
    ["a proxy that is revoked", { a: revoked({}), b: revoked([]) }, ["/a invalid_type", "/b invalid_type"]],
    ["a cyclic value", cyclic, [" invalid_value"]],
    ["a long name", { [LONGEST_NAME]: { n: { a: undefined } } }, [`/${LONGEST_NAME}/n/a invalid_type`]],
    ["a longer name", { [`${LONGEST_NAME}n`]: { a: undefined } }, [" invalid_type"]],
    [
      "arrays without a length",
      [-1, 0.5, Number.NaN].map(arrayOfLength),
      ["/0", "/1", "/2"].map(invalidType)
    ],
    ["several faults", { a: undefined, b: 1n, c: "ok" }, ["/a invalid_type", "/b invalid_type"]]
  ])("names the place of %s", (_, value, faults) => assert.deepStrictEqual(faultsOf(value), faults))

  it("reads each member once", () => {
    let reads = 0
    const value = {
      get amount() {
        reads += 1
        return reads
      }
    }
    assert.deepStrictEqual(copied(value), { amount: 1 })
    assert.strictEqual(reads, 1)
  })

  it("is not changed with the original", () => {
    const value = { list: [{ amount: 1 }] }
    const copy = copied(value)
    value.list[0]!.amount = 2
    value.list.push({ amount: 3 })
    assert.deepStrictEqual(copy, { list: [{ amount: 1 }] })
  })

  it("keeps __proto__ as a plain member and writes minus zero as 0", () => {
    const copy = copied(JSON.parse('{"__proto__":{"admin":true},"a":-0}')) as object
    assert.deepStrictEqual(Object.keys(copy), ["__proto__", "a"])
    assert.strictEqual(Object.getPrototypeOf(copy), Object.prototype)
    assert.strictEqual(JSON.stringify(copy), '{"__proto__":{"admin":true},"a":0}')
    assert.isFalse(Object.is((copy as { a: number }).a, -0))
    const plain = { value: { admin: true }, enumerable: true, configurable: true, writable: true }
    assert.deepStrictEqual(Object.getOwnPropertyDescriptor(copy, "__proto__"), plain)
  })

  it("keeps a member whose name a host has given all objects", () => {
    const given: PropertyDescriptorMap = {
      extend: { value: () => 1, configurable: true },
      watched: { get: () => 1, set: () => undefined, configurable: true }
    }
    const value = JSON.parse('{"watched":2,"extend":{"watched":3}}')
    Object.defineProperties(Object.prototype, given)
    try {
      assert.strictEqual(JSON.stringify(copied(value)), '{"watched":2,"extend":{"watched":3}}')
    } finally {
      for (const name of Object.keys(given)) Reflect.deleteProperty(Object.prototype, name)
    }
  })

  it("leaves out what JSON has no place for: members named by symbols, hidden members, names of an array", () => {
    const value = { a: Object.assign([1], { extra: 2 }), [Symbol("s")]: 3 }
    Object.defineProperty(value, "hidden", { value: 4, enumerable: false })
    assert.deepStrictEqual(copied(value), { a: [1] })
  })

  it("takes null, booleans and the largest exact integers", () => {
    const value = { a: [null, true, false, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER] }
    assert.deepStrictEqual(copied(value), value)
  })

  it("takes plain objects without a prototype, and those of another realm", () => {
    assert.deepStrictEqual(copied(Object.assign(Object.create(null), { a: 1 })), { a: 1 })
    assert.deepStrictEqual(copied(runInNewContext("({ a: [1] })")), { a: [1] })
  })

  it(`takes ${MAX_JSON_DEPTH} levels and no more`, () => {
    assert.deepStrictEqual(faultsOf(nested(MAX_JSON_DEPTH)), [])
    assert.deepStrictEqual(faultsOf(nested(MAX_JSON_DEPTH + 1)), [" invalid_value"])
  })

  it("takes as many bytes of JSON text as its limit says and no more", () => {
    const tree = fc.jsonValue({ maxDepth: 4, stringUnit: "grapheme" }) as fc.Arbitrary<JsonValue>
    fc.assert(
      fc.property(tree, (value) => {
        fc.pre(faultsOf(value).length === 0)
        const bytes = new TextEncoder().encode(JSON.stringify(value)).length
        assert.deepStrictEqual(faultsOf(value, bytes), [])
        assert.deepStrictEqual(faultsOf(value, bytes - 1), [" invalid_value"])
      }),
      { examples: [[{ "": null }]] }
    )
  })

  it("gives up on what is far too large or has far too many faults before it is all read", () => {
    assert.deepStrictEqual(faultsOf(new Array(2 ** 32 - 1)), [" invalid_value"])
    let shared: unknown = {}
    for (let level = 1; level < MAX_JSON_DEPTH; level++) shared = Array.from({ length: 100 }, () => shared)
    assert.deepStrictEqual(faultsOf(shared), [" invalid_value"])
    for (const faulty of [Array.from({ length: 1000 }, () => 1n), { ...new Array(1000).fill(1n) }]) {
      let reads = 0
      const counted = new Proxy(faulty, {
        get: (target, name) => {
          if (name !== "length") reads++
          return Reflect.get(target, name)
        }
      })
      assert.lengthOf(faultsOf(counted), MAX_PROBLEM_ERRORS)
      assert.strictEqual(reads, MAX_PROBLEM_ERRORS)
    }
  })
})
