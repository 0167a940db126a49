import { assert, describe, it } from "@effect/vitest"
import { formatNanos } from "@svc/protocol/Timestamp"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import {
  callerOf,
  enrolledWith,
  newDevice,
  newPendingMandate,
  openSession,
  tagOf,
  watchedAppends
} from "../../../test/ApprovalVisit.ts"
import { memoryPrograms } from "../../../test/MemoryPrograms.ts"
import { beginCeremony } from "./BeginCeremony.ts"
import { declineMandate } from "./DeclineMandate.ts"
import { openApprovalPage } from "./OpenApprovalPage.ts"

const caller = callerOf()

const enrolled = Effect.suspend(() => enrolledWith(caller, newDevice()))

describe("a session", () => {
  it.effect("closes on expiry, to the instant", () =>
    Effect.gen(function* () {
      const { browser, device, mandate } = yield* enrolled
      const step = yield* browser.ceremony()
      const answer = device.authenticate(step.options as never)
      yield* TestClock.adjust("300 seconds")
      assert.strictEqual(yield* tagOf(browser.approve(answer)), "ApprovalSessionClosed")
      assert.strictEqual(yield* tagOf(declineMandate(browser.bearer())), "ApprovalSessionClosed")
      assert.strictEqual((yield* caller.read(mandate)).state, "PENDING_APPROVAL")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is changed while it is open, and not after that", () =>
    Effect.gen(function* () {
      const { browser, session } = yield* enrolled
      yield* TestClock.adjust("298 seconds")
      const { changes, layer } = yield* watchedAppends
      yield* Effect.provide(browser.ceremony(), layer)
      assert.deepStrictEqual(
        changes.map(({ recordBefore }) => formatNanos(recordBefore)),
        [session.expires_at]
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("closes when a newer one is created for its mandate", () =>
    Effect.gen(function* () {
      const { browser, device, mandate } = yield* enrolled
      const step = yield* browser.ceremony()
      yield* openSession(caller, mandate)
      assert.strictEqual(
        yield* tagOf(browser.approve(device.authenticate(step.options as never))),
        "ApprovalSessionClosed"
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("that was never given is refused as a closed one is", () =>
    Effect.gen(function* () {
      yield* newPendingMandate(caller)
      const token = Redacted.make("A".repeat(43))
      assert.strictEqual(yield* tagOf(openApprovalPage({ token, language: "en" })), "ApprovalSessionClosed")
      assert.strictEqual(
        yield* tagOf(beginCeremony({ token, cookie: undefined, language: "en" })),
        "ApprovalSessionClosed"
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
