import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  approveWith,
  browserOf,
  callerOf,
  enrolledWith,
  newDevice,
  newPendingMandate,
  openSession,
  pendingMandate,
  tagOf,
  tokenOf
} from "../../../test/ApprovalVisit.ts"
import { memoryPrograms } from "../../../test/MemoryPrograms.ts"
import { LANGUAGES } from "../../approval/StatementLanguage.ts"
import { listPasskeys, retirePasskey } from "../Passkeys.ts"
import { beginCeremony } from "./BeginCeremony.ts"
import { openApprovalPage } from "./OpenApprovalPage.ts"

const caller = callerOf()
const organization = caller.organization.id
const subject = { organization, subjectReference: "user_8f2" }

const pageOf = (session: { readonly approval_url?: string }) =>
  openApprovalPage({ token: tokenOf(session), language: "en" })

const retireAll = Effect.gen(function* () {
  const { data } = yield* listPasskeys({ ...subject, limit: 9 })
  for (const { id } of data) yield* retirePasskey({ ...subject, passkeyId: id })
})

describe("openApprovalPage", () => {
  it.effect("says to create a passkey until there is one to use", () =>
    Effect.gen(function* () {
      const session = yield* openSession(caller, yield* newPendingMandate(caller))
      assert.strictEqual((yield* pageOf(session)).way, "register")
      const browser = browserOf(session)
      const device = newDevice()
      const { options } = yield* browser.ceremony()
      assert.strictEqual((yield* pageOf(session)).way, "register")
      yield* browser.register(device.register(options as never))
      assert.strictEqual((yield* pageOf(session)).way, "approve")
      yield* browser.approve(device.authenticate((yield* browser.ceremony()).options as never))

      const next = yield* openSession(caller, yield* pendingMandate(caller))
      assert.strictEqual((yield* pageOf(next)).way, "approve")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect(
    "says that nothing can approve once the last passkey is retired, unless the assertion allows a new one",
    () =>
      Effect.gen(function* () {
        yield* approveWith(yield* openSession(caller, yield* newPendingMandate(caller)), newDevice())
        const session = yield* openSession(caller, yield* pendingMandate(caller))
        const allowed = yield* openSession(caller, yield* pendingMandate(caller), { enrol: true })
        yield* retireAll
        assert.strictEqual((yield* pageOf(session)).way, "none")
        assert.strictEqual((yield* pageOf(allowed)).way, "register")
        yield* approveWith(allowed, newDevice())
      }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("leads back to where an answer would", () =>
    Effect.gen(function* () {
      const session = yield* openSession(caller, yield* newPendingMandate(caller))
      const { returnAddress } = yield* pageOf(session)
      assert.deepStrictEqual(yield* approveWith(session, newDevice()), { redirect_to: returnAddress })
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("shows the lines that are then signed, in each language (part 6)", () =>
    Effect.gen(function* () {
      yield* approveWith(yield* openSession(caller, yield* newPendingMandate(caller)), newDevice())
      const session = yield* openSession(caller, yield* pendingMandate(caller))
      const token = tokenOf(session)
      const { bind } = yield* beginCeremony({ token, cookie: undefined, language: "en" })
      const cookie = bind?.cookie
      for (const language of LANGUAGES) {
        const { lines, locale } = yield* openApprovalPage({ token, language })
        const { statement } = yield* beginCeremony({ token, cookie, language })
        assert.deepStrictEqual(statement?.display, { locale, lines })
        assert.strictEqual(locale, language)
      }
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("spends nothing, however often it is called", () =>
    Effect.gen(function* () {
      const { browser, device } = yield* enrolledWith(caller, newDevice())
      for (let times = 0; times < 3; times++)
        yield* openApprovalPage({ token: browser.token, language: "en" })
      const step = yield* browser.ceremony()
      yield* openApprovalPage({ token: browser.token, language: "en" })
      yield* browser.approve(device.authenticate(step.options as never))
      assert.strictEqual(
        yield* tagOf(openApprovalPage({ token: browser.token, language: "en" })),
        "ApprovalSessionClosed"
      )
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
