import { assert, describe, it } from "@effect/vitest"
import { keptByMinorCollections } from "@svc/testkit/MinorCollections"
import { makeSlotSet } from "./SlotSet.ts"

describe("SlotSet", () => {
  it("has the items that were added and not deleted", () => {
    const set = makeSlotSet<{ readonly name: string }>()
    const [a, b, c] = ["a", "b", "c"].map((name) => ({ name }))
    const deleteA = set.add(a!)
    set.add(b!)
    deleteA()
    const deleteC = set.add(c!)
    assert.sameMembers([...set.items()], [b!, c!])
    deleteC()
    assert.sameMembers([...set.items()], [b!])
  })

  it("deletes an item once, also when another has its slot by then", () => {
    const set = makeSlotSet<{ readonly name: string }>()
    const deleteFirst = set.add({ name: "first" })
    deleteFirst()
    const second = { name: "second" }
    set.add(second)
    deleteFirst()
    assert.deepStrictEqual(set.items(), [second])
  })

  it("keeps nothing of what was deleted, though the set itself is old", () => {
    const set = makeSlotSet<object>()
    assert.isBelow(
      keptByMinorCollections((item) => set.add(item)),
      0.5
    )
  })
})
