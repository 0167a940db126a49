import { assert, describe, it } from "@effect/vitest"
import { textTable } from "./TextTable.ts"

describe("textTable", () => {
  it("aligns columns, shows absent values as a hyphen, and leaves no spaces at the end", () => {
    const rows = [
      ["a", undefined, "x"],
      ["longer", "b", undefined]
    ]
    assert.strictEqual(
      textTable(["ONE", "TWO", "THREE"], rows),
      "ONE     TWO  THREE\na       -    x\nlonger  b    -"
    )
  })

  it("has its headings alone without rows", () => {
    assert.strictEqual(textTable(["ONE", "TWO"], []), "ONE  TWO")
  })
})
