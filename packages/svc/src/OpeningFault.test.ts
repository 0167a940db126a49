import { assert, describe, it } from "@effect/vitest"
import { openingFault } from "./OpeningFault.ts"

const caused = (message: string, cause: unknown) => new Error(message, { cause })

describe("the error of a store that cannot be opened", () => {
  it("says what is behind it, which drivers wrap", () => {
    const refused = new Error('password authentication failed for user "svc"')
    const fault = caused("Failed to connect", caused("SqlError", refused))
    assert.strictEqual(
      openingFault(fault).message,
      'the store cannot be opened: Failed to connect (password authentication failed for user "svc")'
    )
    assert.strictEqual(openingFault(refused).message, `the store cannot be opened: ${refused.message}`)
    assert.strictEqual(
      openingFault(caused("Failed to connect", Object.assign(new Error(""), { code: "ECONNREFUSED" })))
        .message,
      "the store cannot be opened: Failed to connect (ECONNREFUSED)"
    )
    assert.include(openingFault({ _tag: "FolderHeld", cause: 7 }).message, "another process")
  })

  it("follows causes that go in a circle only so far", () => {
    const one: Error & { cause?: unknown } = new Error("one")
    one.cause = caused("two", one)
    assert.include(openingFault(one).message, "one")
  })
})
