import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { encodeCursor } from "./Cursor.ts"
import { isAt, journalCursor, journalPosition } from "./JournalCursor.ts"

const scope = { list: "events", mandate_id: "mnd_1" }
/** SHA-256 of the empty text. */
const DIGEST = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"

const read = (position: string) => journalCursor(scope, encodeCursor(scope, position))

describe("a cursor of a journal", () => {
  it.effect("names an event by its number and the digest of its text", () =>
    Effect.gen(function* () {
      assert.strictEqual(journalPosition(7, ""), `7.${DIGEST}`)
      assert.deepStrictEqual(yield* read(journalPosition(7, "")), { seq: 7, digest: DIGEST })
      assert.isUndefined(yield* journalCursor(scope, undefined))
    })
  )

  it("is at the very event that it was given after", () => {
    const position = { seq: 7, digest: DIGEST }
    assert.isTrue(isAt(position, ""))
    assert.isFalse(isAt(position, "another text"))
    assert.isFalse(isAt(position, undefined))
  })

  for (const position of [
    `0.${DIGEST}`,
    `-1.${DIGEST}`,
    `1000000000000000.${DIGEST}`,
    `7.${DIGEST}a`,
    `7.${DIGEST.slice(1)}`,
    `7 ${DIGEST}`,
    `a7.${DIGEST}`,
    "7"
  ]) {
    it.effect(`is refused at ${position}`, () =>
      Effect.map(Effect.flip(read(position)), ({ _tag }) => assert.strictEqual(_tag, "InvalidCursor"))
    )
  }
})
