import { assert, it } from "@effect/vitest"
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
