import { assert, describe, it } from "@effect/vitest"
import { storedJournal } from "@svc/testkit/ProgramHarness"
import { Effect } from "effect"
import { callerOf, enrolledWith, newDevice, tagOf } from "../../../test/ApprovalVisit.ts"
import { memoryPrograms } from "../../../test/MemoryPrograms.ts"
import { declineMandate } from "./DeclineMandate.ts"

const caller = callerOf()
const organization = caller.organization.id

const enrolled = Effect.suspend(() => enrolledWith(caller, newDevice()))

describe("declineMandate", () => {
  it.effect("rejects the mandate and closes the session", () =>
    Effect.gen(function* () {
      const { browser, mandate, session } = yield* enrolled
      yield* browser.ceremony()
      yield* declineMandate(browser.bearer())
      const shown = yield* caller.read(mandate)
      assert.deepStrictEqual([shown.state, shown.version], ["REJECTED", 2])
      const [, text] = yield* storedJournal(organization, mandate)
      assert.deepStrictEqual(JSON.parse(text ?? "").data, { approval_session_id: session.id })
      assert.strictEqual(yield* tagOf(browser.ceremony()), "ApprovalSessionClosed")
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
