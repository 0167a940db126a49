import { assert, it } from "@effect/vitest"
import { ownCopy } from "./OwnCopy.ts"

it("a copy is equal, in the same order, and shares nothing", () => {
  const json = JSON.parse('{"b":[{"c":null},[1,"t",true]],"a":{"__proto__":{"x":1}},"d":{}}')
  const copy = ownCopy(json)
  assert.strictEqual(JSON.stringify(copy), JSON.stringify(json))
  const containersOf = (value: unknown): ReadonlyArray<unknown> =>
    typeof value === "object" && value !== null ? [value, ...Object.values(value).flatMap(containersOf)] : []
  const own = new Set(containersOf(json))
  assert.lengthOf(containersOf(copy), own.size)
  assert.isFalse(containersOf(copy).some((container) => own.has(container)))
})
