import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

type Collect = (options?: { readonly type: "minor" | "major" }) => void

const collector = (): Collect => {
  setFlagsFromString("--expose-gc")
  return runInNewContext("gc") as Collect
}

/** Items that are held at a time. */
const HELD = 32
/** Items that come and go. */
const ITEMS = 600
/** Members of an item; each takes 8 bytes. */
const MEMBERS = 5000
const BYTES = ITEMS * MEMBERS * 8

/**
 * The share of the memory of items that came and went which is still used after collections of the young generation: what a
 * structure, once old, keeps of them though they have left it. `add` adds an item; its result removes it.
 */
export const keptByMinorCollections = (add: (item: object, number: number) => () => void): number => {
  const collect = collector()
  const removals: Array<() => void> = []
  const come = (number: number) => removals.push(add(new Array(MEMBERS).fill(number), number))
  for (let number = 0; number < HELD; number++) come(number)
  // What is alive now is old from now on.
  collect()
  collect()
  const before = process.memoryUsage().heapUsed
  for (let number = HELD; number < HELD + ITEMS; number++) {
    come(number)
    removals.shift()!()
    if (number % HELD === 0) collect({ type: "minor" })
  }
  collect({ type: "minor" })
  collect({ type: "minor" })
  return (process.memoryUsage().heapUsed - before) / BYTES
}
