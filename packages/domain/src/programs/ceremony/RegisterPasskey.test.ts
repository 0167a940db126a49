import { assert, describe, it } from "@effect/vitest"
import {
  FLAG_ATTESTED_CREDENTIAL,
  FLAG_BACKED_UP,
  FLAG_BACKUP_ELIGIBLE,
  FLAG_USER_PRESENT,
  FLAG_USER_VERIFIED,
  type Misbehaviour
} from "@svc/testkit/SoftwarePasskey"
import { Effect } from "effect"
import {
  approveWith,
  browserOf,
  callerOf,
  type Device,
  deviceWithCredential,
  enrolledWith,
  newDevice,
  newPendingMandate,
  openSession,
  pendingMandate,
  tagOf
} from "../../../test/ApprovalVisit.ts"
import { memoryPrograms } from "../../../test/MemoryPrograms.ts"
import { listPasskeys, retirePasskey } from "../Passkeys.ts"

const caller = callerOf()
const organization = caller.organization.id
const subject = { organization, subjectReference: "user_8f2" }
const ORIGIN = "https://approve.svc.test"
const VERIFIED = FLAG_USER_PRESENT | FLAG_USER_VERIFIED

const enrolled = Effect.suspend(() => enrolledWith(caller, newDevice()))

describe("registerPasskey", () => {
  it.effect("takes a passkey for its session alone", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const browser = browserOf(yield* openSession(caller, mandate))
      const step = yield* browser.ceremony()
      yield* browser.register(newDevice().register(step.options as never))
      const next = browserOf(yield* openSession(caller, mandate))
      assert.strictEqual((yield* next.ceremony()).step, "register")
      assert.deepStrictEqual((yield* listPasskeys({ ...subject, limit: 9 })).data, [])
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("takes a passkey that loses to one that the subject got meanwhile", () =>
    Effect.gen(function* () {
      const one = yield* newPendingMandate(caller)
      const two = yield* pendingMandate(caller)
      const [mine, other] = [newDevice(), newDevice()]
      const browser = browserOf(yield* openSession(caller, one))
      yield* browser.register(mine.register((yield* browser.ceremony()).options as never))
      const step = yield* browser.ceremony()
      yield* approveWith(yield* openSession(caller, two), other)
      assert.strictEqual(
        yield* tagOf(browser.approve(mine.authenticate(step.options as never))),
        "PasskeyVerificationFailed"
      )
      const again = yield* browser.ceremony()
      assert.strictEqual(again.step, "approve")
      yield* browser.approve(other.authenticate(again.options as never))
      assert.strictEqual((yield* caller.read(one)).state, "ACTIVE")
      assert.strictEqual((yield* listPasskeys({ ...subject, limit: 9 })).data.length, 1)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("refuses a second passkey of a subject", () =>
    Effect.gen(function* () {
      const { browser, device } = yield* enrolled
      const step = yield* browser.ceremony()
      assert.strictEqual(step.step, "approve")
      const made = newDevice().register({
        challenge: String(step.options.challenge),
        rp: { id: "approve.svc.test" },
        user: { id: "AAAA" },
        pubKeyCredParams: [{ alg: -7 }]
      })
      assert.strictEqual(yield* tagOf(browser.register(made)), "EnrolmentNotAllowed")
      yield* browser.approve(device.authenticate(step.options as never))
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("refuses an unsound registration, and spends the challenge", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const browser = browserOf(yield* openSession(caller, mandate))
      const device = newDevice()
      const attested = FLAG_ATTESTED_CREDENTIAL | FLAG_BACKUP_ELIGIBLE | FLAG_BACKED_UP
      const registrationFaults: Readonly<Record<string, Misbehaviour>> = {
        origin: { origin: `${ORIGIN}:8443` },
        "rp id": { rpId: "svc.test" },
        type: { type: "webauthn.get" },
        challenge: { challenge: "A".repeat(43) },
        crossOrigin: { crossOrigin: true },
        topOrigin: { topOrigin: ORIGIN },
        "not verified": { flags: attested | FLAG_USER_PRESENT },
        "not present": { flags: attested | FLAG_USER_VERIFIED },
        "backed up, not eligible": { flags: VERIFIED | FLAG_ATTESTED_CREDENTIAL | FLAG_BACKED_UP },
        "no credential": { flags: VERIFIED },
        id: { id: "A".repeat(43) },
        rawId: { rawId: "A".repeat(43) }
      }
      for (const [title, misbehaviour] of Object.entries(registrationFaults)) {
        const { options, step } = yield* browser.ceremony()
        assert.strictEqual(step, "register")
        const refused = tagOf(browser.register(device.register(options as never, misbehaviour)))
        assert.strictEqual(yield* refused, "PasskeyVerificationFailed", title)
        const honest = tagOf(browser.register(newDevice().register(options as never)))
        assert.strictEqual(yield* honest, "PasskeyVerificationFailed", title)
      }
      const { options } = yield* browser.ceremony()
      yield* browser.register(newDevice().register(options as never))
      assert.strictEqual((yield* caller.read(mandate)).state, "PENDING_APPROVAL")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("refuses the challenge of an approval, as an approval refuses that of a registration", () =>
    Effect.gen(function* () {
      const browser = browserOf(yield* openSession(caller, yield* newPendingMandate(caller)))
      const device = newDevice()
      const register = yield* browser.ceremony()
      const created = device.register(register.options as never)
      const { challenge, rp } = register.options as {
        readonly challenge: string
        readonly rp: { id: string }
      }
      const early = device.authenticate({ challenge, rpId: rp.id })
      assert.strictEqual(yield* tagOf(browser.approve(early)), "PasskeyVerificationFailed")
      yield* browser.register(created)
      assert.strictEqual(yield* tagOf(browser.register(created)), "PasskeyVerificationFailed")
      const { options } = yield* browser.ceremony()
      assert.strictEqual(yield* tagOf(browser.register(created)), "PasskeyVerificationFailed")
      yield* browser.approve(device.authenticate(options as never))
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("takes no credential that was retired, and spends the challenge", () =>
    Effect.gen(function* () {
      const first = yield* newPendingMandate(caller)
      yield* approveWith(yield* openSession(caller, first), deviceWithCredential(7))
      const { data } = yield* listPasskeys({ ...subject, limit: 9 })
      yield* retirePasskey({ ...subject, passkeyId: data[0]?.id ?? "" })
      const mandate = yield* pendingMandate(caller)
      const browser = browserOf(yield* openSession(caller, mandate, { enrol: true }))
      const { options, step } = yield* browser.ceremony()
      assert.strictEqual(step, "register")
      for (const device of [deviceWithCredential(7), newDevice()]) {
        const refused = tagOf(browser.register(device.register(options as never)))
        assert.strictEqual(yield* refused, "PasskeyVerificationFailed")
      }
      yield* browser.register(newDevice().register((yield* browser.ceremony()).options as never))
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("takes no credential that another session enrolled and that was retired since", () =>
    Effect.gen(function* () {
      const first = yield* newPendingMandate(caller)
      const second = yield* pendingMandate(caller)
      // Two software authenticators with the same randomness make the same credential, as a thief with a copy would.
      const copies = [0, 1].map(() => deviceWithCredential(7))
      const [a, b] = [
        browserOf(yield* openSession(caller, first, { enrol: true })),
        browserOf(yield* openSession(caller, second, { enrol: true }))
      ]
      const [device, copy] = copies as [Device, Device]
      yield* a.register(device.register((yield* a.ceremony()).options as never))
      yield* b.register(copy.register((yield* b.ceremony()).options as never))
      const asked = yield* b.ceremony()
      yield* a.approve(device.authenticate((yield* a.ceremony()).options as never))
      const { data } = yield* listPasskeys({ ...subject, limit: 9 })
      yield* retirePasskey({ ...subject, passkeyId: data[0]?.id ?? "" })
      assert.strictEqual(asked.step, "approve")
      assert.strictEqual(
        yield* tagOf(b.approve(copy.authenticate(asked.options as never))),
        "PasskeyVerificationFailed"
      )
      assert.strictEqual((yield* b.ceremony()).step, "register")
      assert.strictEqual((yield* caller.read(second)).state, "PENDING_APPROVAL")
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
