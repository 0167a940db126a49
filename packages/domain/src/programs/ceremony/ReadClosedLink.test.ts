import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as TestClock from "effect/testing/TestClock"
import {
  approveWith,
  browserOf,
  callerOf,
  newDevice,
  newPendingMandate,
  openSession,
  tokenOf
} from "../../../test/ApprovalVisit.ts"
import { memoryPrograms } from "../../../test/MemoryPrograms.ts"
import { declineMandate } from "./DeclineMandate.ts"
import { readClosedLink } from "./ReadClosedLink.ts"

const caller = callerOf()

type Session = Effect.Success<ReturnType<typeof openSession>>

const look = (session: Session, cookie?: Redacted.Redacted<string>) =>
  readClosedLink({ token: tokenOf(session), cookieOf: () => cookie })

const opened = Effect.gen(function* () {
  const mandate = yield* newPendingMandate(caller)
  return { mandate, session: yield* openSession(caller, mandate) }
})

describe("a closed link", () => {
  it.effect("that was never given is unknown, and leads nowhere", () =>
    Effect.gen(function* () {
      for (const text of ["A".repeat(43), "no token", ""]) {
        const link = yield* readClosedLink({ token: Redacted.make(text), cookieOf: () => undefined })
        assert.deepStrictEqual(link, { cause: "unknown", isBoundElsewhere: false })
      }
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("that nobody began with leads back whoever has it", () =>
    Effect.gen(function* () {
      const { session } = yield* opened
      yield* TestClock.adjust("5 minutes")
      const { cause, isBoundElsewhere, returnAddress } = yield* look(session)
      assert.deepStrictEqual([cause, isBoundElsewhere], ["expired", false])
      assert.include(returnAddress, `approval_session_id=${session.id}`)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("tells an outcome and the way back to the browser that began alone", () =>
    Effect.gen(function* () {
      const { session } = yield* opened
      const browser = browserOf(session)
      yield* browser.ceremony()
      yield* declineMandate(browser.bearer())
      const own = yield* look(session, browser.bearer().cookie)
      assert.deepStrictEqual([own.cause, own.isBoundElsewhere], ["declined", false])
      assert.include(own.returnAddress, "return_state=")
      for (const cookie of [undefined, Redacted.make("A".repeat(43))]) {
        const other = yield* look(session, cookie)
        assert.deepStrictEqual(
          [other.cause, other.isBoundElsewhere, other.returnAddress],
          ["used", true, undefined]
        )
      }
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is used, not approved, without the cookie", () =>
    Effect.gen(function* () {
      const { session } = yield* opened
      yield* approveWith(session, newDevice())
      assert.strictEqual((yield* look(session)).cause, "used")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("was withdrawn with its mandate while it was open, and expired before that", () =>
    Effect.gen(function* () {
      const { mandate, session } = yield* opened
      yield* TestClock.adjust("5 minutes")
      const next = yield* openSession(caller, mandate)
      yield* caller.revoke(mandate)
      assert.strictEqual((yield* look(next)).cause, "withdrawn")
      assert.strictEqual((yield* look(session)).cause, "expired")
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* look(next)).cause, "withdrawn")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("was replaced, whatever became of the newer one", () =>
    Effect.gen(function* () {
      const { mandate, session } = yield* opened
      yield* approveWith(yield* openSession(caller, mandate), newDevice())
      assert.strictEqual((yield* look(session)).cause, "replaced")
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
