import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { callerOf, enrolledWith, newDevice, newPendingMandate, tagOf } from "../../../test/ApprovalVisit.ts"
import { memoryPrograms } from "../../../test/MemoryPrograms.ts"
import { admitBearer } from "./AdmitBearer.ts"
import { languageOf } from "./CeremonySession.ts"

const caller = callerOf()
const enrolled = Effect.suspend(() => enrolledWith(caller, newDevice()))

describe("the bearer of a token", () => {
  it.effect("is admitted without a cookie to begin a ceremony alone, and then with its cookie", () =>
    Effect.gen(function* () {
      const { browser, mandate, session } = yield* enrolled
      const { token } = browser
      const admit = (cookie: Redacted.Redacted<string> | undefined, ceremony: boolean) =>
        admitBearer({ token, cookieOf: (id) => (id === session.id ? cookie : undefined), ceremony })
      assert.strictEqual(yield* tagOf(admit(undefined, false)), "ApprovalSessionBound")
      assert.deepStrictEqual(yield* admit(undefined, true), {
        bearer: { token, cookie: undefined },
        about: { sessionId: session.id, organizationId: caller.organization.id, mandateId: mandate }
      })
      yield* browser.ceremony()
      const { cookie } = browser.bearer()
      for (const ceremony of [true, false]) {
        assert.strictEqual((yield* admit(cookie, ceremony)).bearer.cookie, cookie)
        for (const other of [undefined, Redacted.make("x"), Redacted.make("A".repeat(43))]) {
          assert.strictEqual(yield* tagOf(admit(other, ceremony)), "ApprovalSessionBound")
        }
      }
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("is refused with a token that is none, or that was never given", () =>
    Effect.gen(function* () {
      yield* newPendingMandate(caller)
      for (const text of ["x", "A".repeat(43)]) {
        const admit = admitBearer({ token: Redacted.make(text), cookieOf: () => undefined, ceremony: true })
        assert.strictEqual(yield* tagOf(admit), "ApprovalSessionClosed")
      }
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

it.effect("a language of the page is one of those that there are (part 6)", () =>
  Effect.gen(function* () {
    assert.strictEqual(yield* languageOf({ language: "he" }), "he")
    for (const given of [{ language: "sv" }, {}, undefined]) {
      const { errors } = yield* Effect.flip(languageOf(given))
      assert.deepStrictEqual(
        errors.map(({ code, pointer }) => `${pointer} ${code}`),
        ["/language invalid_value"]
      )
    }
  })
)
