import { assert, describe, it } from "@effect/vitest"
import { didYouMean } from "./DidYouMean.ts"

describe("didYouMean", () => {
  it("suggests a name at most two edits away, in any case", () => {
    const known = ["sslmode", "sslrootcert", "host"]
    for (const [name, expected] of [
      ["sslmod", "sslmode"],
      ["SSLMODE", "sslmode"],
      ["ssl_mode", "sslmode"],
      ["slmoed", undefined],
      ["sslrootcrt", "sslrootcert"],
      ["hsot", "host"],
      ["xxhost", "host"],
      ["xxxhost", undefined],
      ["password", undefined]
    ] as const) {
      assert.strictEqual(didYouMean(name, known), expected, name)
    }
    assert.isUndefined(didYouMean("host", []))
  })
})
