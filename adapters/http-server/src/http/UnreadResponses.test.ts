import { EventEmitter } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { makeUnreadResponses } from "./UnreadResponses.ts"

const KIB = 1024

const A = { kind: "key", id: "a" } as const
const B = { kind: "key", id: "b" } as const

/** A response that counts as read once it emits `close`. */
const sink = () => Object.assign(new EventEmitter(), { destroyed: false })

describe("UnreadResponses (part 9)", () => {
  it("bounds each API key, and frees what has been read", () => {
    const unread = makeUnreadResponses({ address: 50 * KIB, key: 100 * KIB, all: 1000 * KIB })
    const first = sink()
    assert.strictEqual(unread.add(first, A, 60 * KIB), "counted")
    assert.strictEqual(unread.add(sink(), A, 60 * KIB), "key")
    assert.strictEqual(unread.add(sink(), B, 60 * KIB), "counted")
    first.emit("close")
    assert.strictEqual(unread.add(sink(), A, 60 * KIB), "counted")
  })

  it("bounds each address without an API key", () => {
    const unread = makeUnreadResponses({ address: 50 * KIB, key: 100 * KIB, all: 1000 * KIB })
    const first = { kind: "address", id: "203.0.113.7" } as const
    const second = { kind: "address", id: "203.0.113.8" } as const
    assert.strictEqual(unread.add(sink(), first, 40 * KIB), "counted")
    assert.strictEqual(unread.add(sink(), first, 40 * KIB), "address")
    assert.strictEqual(unread.add(sink(), second, 40 * KIB), "counted")
    assert.strictEqual(unread.add(sink(), { kind: "key", id: first.id }, 40 * KIB), "counted")
  })

  it("allows one response of any size to a key with none unread", () => {
    const unread = makeUnreadResponses({ address: 50 * KIB, key: 100 * KIB, all: 1000 * KIB })
    assert.strictEqual(unread.add(sink(), A, 500 * KIB), "counted")
    assert.strictEqual(unread.add(sink(), A, 20 * KIB), "key")
  })

  it("bounds all clients together", () => {
    const unread = makeUnreadResponses({ address: 50 * KIB, key: 100 * KIB, all: 150 * KIB })
    assert.strictEqual(unread.add(sink(), A, 90 * KIB), "counted")
    assert.strictEqual(unread.add(sink(), B, 90 * KIB), "all")
  })

  it("does not count small responses and closed connections", () => {
    const unread = makeUnreadResponses({ address: 50 * KIB, key: 20 * KIB, all: 20 * KIB })
    for (let count = 0; count < 100; count++) {
      assert.strictEqual(unread.add(sink(), A, KIB), "counted")
      assert.strictEqual(unread.add(Object.assign(sink(), { destroyed: true }), A, 50 * KIB), "counted")
    }
    assert.strictEqual(unread.add(sink(), A, 20 * KIB), "counted")
  })
})
