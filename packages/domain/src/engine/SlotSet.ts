/** A set of objects that come and go often. Each is added once, and has a slot until it is deleted. */
export interface SlotSet<Item extends object> {
  /** Adds an item; the result deletes it, and does nothing if it is called again. */
  readonly add: (item: Item) => () => void
  /** The items, in no certain order. */
  readonly items: () => ReadonlyArray<Item>
}

/**
 * Makes a set that keeps nothing of what was deleted. V8 copies a `Set` with many deletions to a new table and links the old
 * one to it, so that an old table that garbage collection moved to the old generation keeps all later ones, with all items
 * they ever had, until the next full collection.
 */
export const makeSlotSet = <Item extends object>(): SlotSet<Item> => {
  const slots: Array<Item | undefined> = []
  const free: Array<number> = []
  return {
    add: (item) => {
      let slot = free.pop() ?? slots.length
      slots[slot] = item
      return () => {
        if (slot < 0) return
        slots[slot] = undefined
        free.push(slot)
        slot = -1
      }
    },
    items: () => slots.filter((item) => item !== undefined)
  }
}
