import { spawnSync } from "node:child_process"
import { assert, it } from "@effect/vitest"

/**
 * Keeps many objects and then makes others, from the same place, that nobody keeps. Prints by how many bytes the old
 * generation has grown from those.
 */
const PROGRAM = `
import { getHeapSpaceStatistics } from "node:v8"
import { keepNewObjectsYoung } from ${JSON.stringify(new URL("HeapFlags.ts", import.meta.url).href)}
keepNewObjectsYoung()
const make = (number) => ({ number, list: [number, number, number, number] })
const kept = []
for (let number = 0; number < 1_500_000; number++) kept.push(make(number))
gc()
gc()
const old = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === "old_space").space_used_size
const before = old()
let last
for (let number = 0; number < 300_000; number++) last = make(number)
console.log(old() - before, last.number + kept.length)
`

const MEGABYTE = 1_000_000

// Without the flag it mostly grows by 36 MB: by how much, and whether, depends on when V8 compiles what.
it("objects that nobody keeps stay out of the old generation, whatever the same place made before", () => {
  const { stderr, stdout } = spawnSync(
    process.execPath,
    ["--expose-gc", "--no-warnings", "--input-type=module", "--eval", PROGRAM],
    { encoding: "utf8" }
  )
  assert.strictEqual(stderr, "", "V8 does not know the flag")
  assert.isBelow(Number(stdout.split(" ")[0]), MEGABYTE)
})
