import { assert, describe, it } from "@effect/vitest"
import { sourceOf } from "./EventSource.ts"
import { JournalEventType } from "./Journal.ts"

describe("the source of an event (part 7)", () => {
  it("is the caller for what is known from reports alone, and the service for the rest", () => {
    assert.deepStrictEqual(
      JournalEventType.literals.filter((type) => sourceOf(type) === "CALLER_REPORTED"),
      [
        "authorization.committed",
        "authorization.cancelled",
        "authorization.outcome_conflict",
        "authorization.refund_reported"
      ]
    )
    assert.strictEqual(sourceOf("mandate.approved"), "SERVICE_VERIFIED")
  })
})
