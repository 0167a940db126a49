import { assert, it } from "@effect/vitest"
import { keptByMinorCollections } from "@svc/testkit/MinorCollections"
import * as fc from "fast-check"
import { makeLeastRecentlySet } from "./LeastRecentlySet.ts"

it("LeastRecentlySet evicts the entry that was set least recently once its capacity is exceeded", () => {
  const entries = makeLeastRecentlySet<number>(2)
  entries.set("a", 1)
  entries.set("b", 2)
  entries.set("a", 3)
  entries.set("c", 4)
  assert.isFalse(entries.has("b"))
  assert.deepStrictEqual([entries.get("a"), entries.get("c")], [3, 4])
})

it("LeastRecentlySet evicts nothing for a key that it already holds", () => {
  const entries = makeLeastRecentlySet<number>(2)
  entries.set("a", 1)
  entries.set("b", 2)
  entries.set("b", 3)
  assert.isTrue(entries.has("a"))
  entries.delete("a")
  assert.isUndefined(entries.get("a"))
})

it("LeastRecentlySet is a map in the order in which its keys were set last", () => {
  const change = fc.record({
    key: fc.constantFrom("a", "b", "c", "d", "e"),
    value: fc.option(fc.nat(), { nil: undefined })
  })
  fc.assert(
    fc.property(fc.array(change), fc.integer({ min: 1, max: 4 }), (changes, capacity) => {
      const entries = makeLeastRecentlySet<number>(capacity)
      const model = new Map<string, number>()
      for (const { key, value } of changes) {
        model.delete(key)
        if (value === undefined) entries.delete(key)
        else {
          if (model.size >= capacity) model.delete(model.keys().next().value!)
          model.set(key, value)
          entries.set(key, value)
        }
        assert.deepStrictEqual([...entries.entries()], [...model])
        assert.strictEqual(entries.size, model.size)
        assert.strictEqual(entries.get(key), model.get(key))
        assert.strictEqual(entries.has(key), model.has(key))
      }
    })
  )
})

it("LeastRecentlySet gives its entries while they are deleted", () => {
  const entries = makeLeastRecentlySet<number>(3)
  for (const [at, key] of ["a", "b", "c"].entries()) entries.set(key, at)
  const given = []
  for (const [key] of entries.entries()) {
    given.push(key)
    entries.delete(key)
  }
  assert.deepStrictEqual(given, ["a", "b", "c"])
  assert.strictEqual(entries.size, 0)
})

it("LeastRecentlySet keeps no value that was replaced or deleted, though it is old itself", () => {
  const replaced = makeLeastRecentlySet<object>(100)
  const replacing = keptByMinorCollections((item, number) => {
    replaced.set(String(number % 8), item)
    return () => {}
  })
  assert.isBelow(replacing, 0.5)
  const evicting = makeLeastRecentlySet<object>(40)
  const kept = keptByMinorCollections((item, number) => {
    evicting.set(String(number), item)
    return () => evicting.delete(String(number))
  })
  assert.isBelow(kept, 0.5)
})
