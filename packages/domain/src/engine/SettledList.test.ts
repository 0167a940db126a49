import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { settledList } from "./SettledList.ts"

/** A list of which so many reads find something due. */
const listWith = (dueReads: number) => {
  let reads = 0
  let settled = 0
  const list = settledList({
    read: Effect.sync(() => {
      reads += 1
      return reads
    }),
    isDue: (read) => read <= dueReads,
    settle: () =>
      Effect.sync(() => {
        settled += 1
      })
  })
  return { list, counts: () => ({ reads, settled }) }
}

describe("a list that shows nothing due (part 4)", () => {
  it.effect("is read again each time that something was, and shown once nothing is", () =>
    Effect.gen(function* () {
      for (const due of [0, 1, 9]) {
        const { counts, list } = listWith(due)
        assert.strictEqual(yield* list, due + 1)
        assert.deepStrictEqual(counts(), { reads: due + 1, settled: due })
      }
    })
  )

  it.effect("is given up after ten reads, to be tried again in a second", () =>
    Effect.gen(function* () {
      const { counts, list } = listWith(10)
      const failure = yield* Effect.flip(list)
      assert.strictEqual(failure.retryAfterSeconds, 1)
      assert.strictEqual(counts().reads, 10)
    })
  )
})
