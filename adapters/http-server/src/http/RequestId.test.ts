import { assert, describe, it } from "@effect/vitest"
import { requestIdOf } from "./RequestId.ts"

describe("requestIdOf", () => {
  it("is the same for whoever asks, and another for each message", () => {
    const message = { url: "/" }
    const id = requestIdOf(message)
    assert.match(id, /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/u)
    assert.strictEqual(requestIdOf(message), id)
    assert.notStrictEqual(requestIdOf({ url: "/" }), id)
  })

  it("is no member of the message that anybody lists or writes out", () => {
    const message = { url: "/" }
    requestIdOf(message)
    assert.deepStrictEqual(Object.keys(message), ["url"])
    assert.strictEqual(JSON.stringify(message), '{"url":"/"}')
  })

  it("is the same for a message that takes no further member, such as a frozen request of a host", () => {
    const refusing = new Proxy({ url: "/" }, { set: () => false })
    for (const message of [
      Object.freeze({ url: "/" }),
      Object.seal(new Request("https://a.example/")),
      refusing
    ]) {
      const id = requestIdOf(message)
      assert.strictEqual(requestIdOf(message), id)
      assert.notStrictEqual(requestIdOf({ url: "/" }), id)
    }
  })
})
