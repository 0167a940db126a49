import { EventEmitter } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { makeUnreadAnswers } from "./UnreadAnswers.ts"

const KIB = 1024

/** An answer that somebody reads when told to. */
const sink = () => Object.assign(new EventEmitter(), { destroyed: false })

describe("unread answers", () => {
  it("are bounded for each key, and again free once read", () => {
    const unread = makeUnreadAnswers({ perKey: 100 * KIB, all: 1000 * KIB })
    const first = sink()
    assert.strictEqual(unread.add(first, "a", 60 * KIB), "counted")
    assert.strictEqual(unread.add(sink(), "a", 60 * KIB), "key")
    assert.strictEqual(unread.add(sink(), "b", 60 * KIB), "counted")
    first.emit("close")
    assert.strictEqual(unread.add(sink(), "a", 60 * KIB), "counted")
  })

  it("let a key that has none unread have one of any size", () => {
    const unread = makeUnreadAnswers({ perKey: 100 * KIB, all: 1000 * KIB })
    assert.strictEqual(unread.add(sink(), "a", 500 * KIB), "counted")
    assert.strictEqual(unread.add(sink(), "a", 20 * KIB), "key")
  })

  it("are bounded for all together", () => {
    const unread = makeUnreadAnswers({ perKey: 100 * KIB, all: 150 * KIB })
    assert.strictEqual(unread.add(sink(), "a", 90 * KIB), "counted")
    assert.strictEqual(unread.add(sink(), "b", 90 * KIB), "all")
  })

  it("do not count small ones, nor those that nobody waits for any more", () => {
    const unread = makeUnreadAnswers({ perKey: 20 * KIB, all: 20 * KIB })
    for (let count = 0; count < 100; count++) {
      assert.strictEqual(unread.add(sink(), "a", KIB), "counted")
      assert.strictEqual(unread.add(Object.assign(sink(), { destroyed: true }), "a", 50 * KIB), "counted")
    }
    assert.strictEqual(unread.add(sink(), "a", 20 * KIB), "counted")
  })
})
