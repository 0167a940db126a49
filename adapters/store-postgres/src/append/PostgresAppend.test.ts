import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { byBytes } from "./PostgresAppend.ts"

/** Texts that begin alike, of code points of every length in UTF-8 and on both sides of those that UTF-16 writes in two units. */
const texts = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      "a",
      "b",
      "\u007f",
      "\u0080",
      "\u07ff",
      "\ud7ff",
      "\ue000",
      "\uffff",
      "\u{10000}",
      "\u{10ffff}"
    ),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 })
  ),
  maxLength: 4
})

describe("byBytes", () => {
  it("orders texts as their bytes in UTF-8", () => {
    fc.assert(
      fc.property(texts, texts, (left, right) => {
        assert.strictEqual(
          Math.sign(byBytes(left, right)),
          Buffer.compare(Buffer.from(left), Buffer.from(right))
        )
      }),
      { numRuns: 2000 }
    )
  })
})
