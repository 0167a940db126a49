import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  IdentityAssertionRefused,
  IdentityKeysUnavailable,
  IdentityVerifier
} from "../src/ports/IdentityVerifier.ts"
import { createApprovalSession } from "../src/programs/ApprovalSessions.ts"
import { assertionFor, callerOf, newPendingMandate, sessionBody } from "./ApprovalVisit.ts"
import { memoryPrograms } from "./MemoryPrograms.ts"

const unavailable = new IdentityKeysUnavailable({ cause: "down", retryAfterSeconds: 5 })

describe("an assertion whose keys cannot be had", () => {
  it.effect("is not refused but put off: the same request succeeds once they are there", () =>
    Effect.gen(function* () {
      const caller = callerOf()
      const mandateId = yield* newPendingMandate(caller)
      const request = { ...caller.write(sessionBody(yield* assertionFor()), "key_1"), mandateId }
      const asked: Array<string> = []
      const verify: IdentityVerifier["Service"]["verify"] = ({ organization }) => {
        asked.push(organization)
        return Effect.fail(unavailable)
      }
      const failure = yield* createApprovalSession(request).pipe(
        Effect.provideService(IdentityVerifier, IdentityVerifier.of({ verify })),
        Effect.flip
      )
      assert.strictEqual(failure, unavailable)
      assert.deepStrictEqual(asked, [caller.organization.id])
      const { replayed, resource } = yield* createApprovalSession(request)
      assert.isFalse(replayed)
      assert.strictEqual(resource.state, "OPEN")
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

describe("an assertion that its verifier refuses", () => {
  it.effect("is invalid, with the detail that the verifier gives and nothing else of it", () =>
    Effect.gen(function* () {
      const caller = callerOf()
      const mandateId = yield* newPendingMandate(caller)
      const request = { ...caller.write(sessionBody(yield* assertionFor())), mandateId }
      const refusedWith = (detail?: string) =>
        createApprovalSession(request).pipe(
          Effect.provideService(
            IdentityVerifier,
            IdentityVerifier.of({
              verify: () =>
                Effect.fail(
                  new IdentityAssertionRefused({ reason: "exp", ...(detail === undefined ? {} : { detail }) })
                )
            })
          ),
          Effect.flip
        )
      const told = yield* refusedWith("It has expired.")
      assert.deepStrictEqual(
        [told._tag, told._tag === "IdentityAssertionInvalid" && told.detail],
        ["IdentityAssertionInvalid", "It has expired."]
      )
      const untold = yield* refusedWith()
      assert.strictEqual(untold._tag, "IdentityAssertionInvalid")
      assert.notProperty(untold, "detail")
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
