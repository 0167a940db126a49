import { assert, describe, it } from "@effect/vitest"
import { isolated } from "./BidiIsolation.ts"

describe("isolated", () => {
  it("leaves text alone whose direction is that of its surroundings", () => {
    for (const text of ["", "Shop 42", "Ağaç & Söhne", "書店", "50.00 €"])
      assert.strictEqual(isolated(text, "ltr"), text)
  })

  it("keeps text apart that could reorder its neighbours", () => {
    for (const text of ["ספרים", "a מכתב 5", "متجر", "\ufefb", "\u{1e900}"]) {
      assert.strictEqual(isolated(text, "ltr"), `\u2068${text}\u2069`)
    }
    assert.strictEqual(isolated("Shop", "rtl"), "\u2068Shop\u2069")
  })
})
