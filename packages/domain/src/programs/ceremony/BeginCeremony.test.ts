import { assert, describe, it } from "@effect/vitest"
import { decodeBase64Url, encodeBase64Url } from "@svc/protocol/Base64Url"
import { approvalChallenge } from "@svc/protocol/evidence/ApprovalChallenge"
import type { JsonValue } from "@svc/protocol/json/Json"
import { Effect, Redacted, Result } from "effect"
import { TestClock } from "effect/testing"
import {
  browserOf,
  callerOf,
  enrolledWith,
  newDevice,
  newPendingMandate,
  openSession,
  tagOf
} from "../../../test/ApprovalVisit.ts"
import { memoryPrograms, racingPrograms } from "../../../test/MemoryPrograms.ts"
import { beginCeremony } from "./BeginCeremony.ts"
import { declineMandate } from "./DeclineMandate.ts"

const caller = callerOf()
const organization = caller.organization.id

const enrolled = Effect.suspend(() => enrolledWith(caller, newDevice()))

describe("beginCeremony", () => {
  it.effect(
    "asks for a resident, verified passkey of this rp, and then for the statement signed with it (part 6)",
    () =>
      Effect.gen(function* () {
        const mandate = yield* newPendingMandate(caller)
        const session = yield* openSession(caller, mandate)
        const browser = browserOf(session)
        const register = yield* browser.ceremony()
        const { challenge, user, ...creation } = register.options as {
          readonly challenge: string
          readonly user: { readonly id: string }
        }
        assert.strictEqual(decodeBase64Url(challenge)?.length, 32)
        assert.strictEqual(decodeBase64Url(user.id)?.length, 32)
        assert.deepStrictEqual(creation as unknown, {
          rp: { id: "approve.svc.test", name: "Ağaç & Söhne" },
          pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: "public-key", alg })),
          timeout: 300_000,
          excludeCredentials: [],
          authenticatorSelection: {
            residentKey: "required",
            requireResidentKey: true,
            userVerification: "required"
          },
          attestation: "none"
        })
        const device = newDevice()
        const created = device.register(register.options as never)
        yield* browser.register(created)
        yield* TestClock.adjust("10 seconds")
        const { options, statement } = yield* browser.ceremony()
        assert.deepStrictEqual(options as unknown, {
          challenge: encodeBase64Url(approvalChallenge(statement as unknown as JsonValue)),
          rpId: "approve.svc.test",
          timeout: 290_000,
          allowCredentials: [{ type: "public-key", id: created.id }],
          userVerification: "required"
        })
        const { display, nonce, policy, ...facts } = statement ?? assert.fail("no statement")
        assert.strictEqual(decodeBase64Url(nonce)?.length, 32)
        assert.strictEqual(display.locale, "en")
        const shown = yield* caller.read(mandate)
        assert.deepStrictEqual(policy, shown.policy)
        assert.deepStrictEqual(facts as unknown, {
          approval_session_id: session.id,
          environment: "test",
          organization_id: organization,
          organization_name: "Ağaç & Söhne",
          mandate_id: mandate,
          subject_reference: "user_8f2",
          kind: "SINGLE",
          policy_digest: shown.policy_digest,
          window: shown.window,
          approval_deadline: shown.approval_deadline
        })
        const again = yield* browser.ceremony()
        assert.notStrictEqual(again.statement?.nonce, nonce)
      }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("binds the session to the browser that began, and refuses every other", () =>
    Effect.gen(function* () {
      const { browser, device, session } = yield* enrolled
      const stranger = browserOf(session)
      assert.strictEqual(yield* tagOf(stranger.approve({})), "ApprovalSessionBound")
      assert.strictEqual(yield* tagOf(declineMandate(stranger.bearer())), "ApprovalSessionBound")
      const step = yield* browser.ceremony()
      assert.strictEqual(yield* tagOf(stranger.ceremony()), "ApprovalSessionBound")
      const guess = { token: browser.token, cookie: Redacted.make("guess"), language: "en" as const }
      assert.strictEqual(yield* tagOf(beginCeremony(guess)), "ApprovalSessionBound")
      const answer = device.authenticate(step.options as never)
      assert.strictEqual(yield* tagOf(stranger.approve(answer)), "ApprovalSessionBound")
      yield* browser.approve(answer)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("keeps the browser's cookie for an hour after the session's end", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const browser = browserOf(yield* openSession(caller, mandate))
      assert.strictEqual((yield* browser.ceremony()).bind?.maxAgeSeconds, 300 + 3600)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("lets one of several browsers that begin at once have the session", () =>
    Effect.gen(function* () {
      const { session } = yield* enrolled
      const raced = yield* Effect.all(
        Array.from({ length: 10 }, () => Effect.result(browserOf(session).ceremony())),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(raced.filter(Result.isSuccess).length, 1)
    }).pipe(Effect.provide(racingPrograms()))
  )

  it.effect("replaces the open challenge", () =>
    Effect.gen(function* () {
      const { browser, device } = yield* enrolled
      const old = yield* browser.ceremony()
      yield* browser.ceremony()
      assert.strictEqual(
        yield* tagOf(browser.approve(device.authenticate(old.options as never))),
        "PasskeyVerificationFailed"
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
