import { assert, describe, it } from "@effect/vitest"
import { type ComparedServer, relationOf } from "./ComparedServers.ts"

const primary: ComparedServer = {
  place: "svc 2",
  isStandby: false,
  follows: false,
  cluster: "7",
  timeline: 2
}

const standby: ComparedServer = { ...primary, place: "svc 1", isStandby: true }

describe("another database that a store is compared with", () => {
  it("is the same one by another name if its server started in the same microsecond", () => {
    assert.strictEqual(relationOf(primary, { ...primary }), "same")
  })

  it("is a copy if it follows a primary that may be the one here", () => {
    assert.strictEqual(relationOf(primary, { ...standby, follows: true }), "copy")
    // A plain role is not told the timeline, and some servers tell nothing.
    assert.strictEqual(relationOf(primary, { ...standby, follows: true, timeline: null }), "copy")
    assert.strictEqual(
      relationOf(primary, { ...standby, follows: true, timeline: null, cluster: null }),
      "copy"
    )
  })

  it("may be a copy if it follows nobody and nothing speaks against it", () => {
    assert.strictEqual(relationOf(primary, standby), "unsure")
    assert.strictEqual(relationOf(primary, { ...standby, timeline: null }), "unsure")
    assert.strictEqual(relationOf({ ...primary, timeline: null }, standby), "unsure")
  })

  it("is one of its own if it takes writes, or has another timeline or cluster", () => {
    const lost = { ...standby, timeline: 1 }
    assert.strictEqual(relationOf(primary, lost), "other")
    // A standby of the lost primary, which runs.
    assert.strictEqual(relationOf(primary, { ...lost, follows: true }), "other")
    assert.strictEqual(relationOf(primary, { ...standby, cluster: "8", follows: true }), "other")
    assert.strictEqual(relationOf(primary, { ...primary, place: "svc 1" }), "other")
  })
})
