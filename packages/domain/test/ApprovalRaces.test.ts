import { assert, describe, it } from "@effect/vitest"
import { makeTurns, StreamTurns } from "@svc/domain/engine/StreamTurns"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { createApprovalSession } from "@svc/domain/programs/ApprovalSessions"
import { declineMandate } from "@svc/domain/programs/ceremony/DeclineMandate"
import { listPasskeys, retirePasskey } from "@svc/domain/programs/Passkeys"
import { type ProgramPorts, storedJournal } from "@svc/testkit/ProgramHarness"
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import {
  approveWith,
  assertionFor,
  browserOf,
  callerOf,
  newDevice,
  newPendingMandate,
  openSession,
  pendingMandate,
  sessionBody
} from "./ApprovalVisit.ts"
import { memoryPrograms, racingPrograms } from "./MemoryPrograms.ts"

/** Each seed makes other pauses, so that other steps come first. */
const SEEDS = Array.from({ length: 12 }, (_, index) => index + 1)

const caller = callerOf()
const organization = caller.organization.id
const subject = { organization, subjectReference: "user_8f2" }

const tagOf = <A, E extends { readonly _tag: string }>(result: Result.Result<A, E>): string =>
  Result.isSuccess(result) ? "done" : result.failure._tag

const typesOf = Effect.fnUntraced(function* (mandate: string) {
  const texts = yield* storedJournal(organization, mandate)
  return texts.map((text) => JSON.parse(text).type as string)
})

/** A browser that needs one press more, on a mandate of a subject with a passkey. */
const aboutToApprove = Effect.gen(function* () {
  const device = newDevice()
  yield* approveWith(yield* openSession(caller, yield* newPendingMandate(caller)), device)
  const mandate = yield* pendingMandate(caller)
  const session = yield* openSession(caller, mandate)
  const browser = browserOf(session)
  const step = yield* browser.ceremony()
  return { device, mandate, session, browser, answer: device.authenticate(step.options as never) }
})

const both = <A, E, R, A2, E2, R2>(one: Effect.Effect<A, E, R>, two: Effect.Effect<A2, E2, R2>) =>
  Effect.all([Effect.result(one), Effect.result(two)], { concurrency: "unbounded" })

type Append = ReturnType<MandateStore["Service"]["append"]>

/** Runs a program in a process of its own. Its first write is done as `instead` says. */
const whenItWrites = Effect.fnUntraced(function* <A, E, R, R2>(
  program: Effect.Effect<A, E, R>,
  instead: (write: Append) => Effect.Effect<Effect.Success<Append>, Effect.Error<Append>, R2>
) {
  const store = yield* MandateStore
  const context = yield* Effect.context<R2>()
  let written = false
  const paused = MandateStore.of({
    ...store,
    append: (change) =>
      Effect.suspend(() => {
        const write = store.append(change)
        if (written) return write
        written = true
        return Effect.provideContext(instead(write), context)
      })
  })
  const result = yield* program.pipe(
    Effect.provideService(MandateStore, paused),
    Effect.provideService(StreamTurns, makeTurns()),
    Effect.result
  )
  assert.isTrue(written, "nothing was written")
  return result
})

type Contender = Effect.Effect<unknown, { readonly _tag: string }, ProgramPorts>

describe("at once with an approval", () => {
  it.effect("a new session supersedes it or finds the mandate approved, never both", () =>
    Effect.gen(function* () {
      for (const seed of SEEDS) {
        yield* Effect.gen(function* () {
          const { answer, browser, mandate } = yield* aboutToApprove
          const body = sessionBody(yield* assertionFor())
          const create = createApprovalSession({ ...caller.write(body, "racer"), mandateId: mandate })
          const [approved, created] = yield* both(browser.approve(answer), create)
          const outcome = `${tagOf(approved)} ${tagOf(created)}`
          const { state } = yield* caller.read(mandate)
          const approvedEvents = (yield* typesOf(mandate)).slice(1)
          if (outcome === "ApprovalSessionClosed done") {
            assert.deepStrictEqual([state, approvedEvents], ["PENDING_APPROVAL", []])
            assert.strictEqual((yield* create).resource.state, "OPEN")
          } else {
            assert.strictEqual(outcome, "done StateConflict", `seed ${seed}`)
            assert.deepStrictEqual([state, approvedEvents], ["ACTIVE", ["mandate.approved"]])
          }
        }).pipe(Effect.provide(racingPrograms(seed)))
      }
    })
  )

  it.effect("what is recorded while the other is decided wins, whichever that is", () =>
    Effect.gen(function* () {
      for (const winner of ["approval", "session", "decline"] as const) {
        yield* Effect.gen(function* () {
          const { answer, browser, mandate } = yield* aboutToApprove
          const body = sessionBody(yield* assertionFor())
          const create = createApprovalSession({ ...caller.write(body), mandateId: mandate })
          const approve: Contender = browser.approve(answer)
          const order: Readonly<Record<typeof winner, readonly [Contender, Contender]>> = {
            approval: [approve, create],
            session: [create, approve],
            decline: [declineMandate(browser.bearer()), approve]
          }
          const [inTime, late] = order[winner]
          const lost = yield* whenItWrites(late, (write) => Effect.andThen(Effect.orDie(inTime), write))
          assert.strictEqual(tagOf(lost), winner === "approval" ? "StateConflict" : "ApprovalSessionClosed")
          const recorded = { approval: ["mandate.approved"], session: [], decline: ["mandate.rejected"] }
          assert.deepStrictEqual((yield* typesOf(mandate)).slice(1), recorded[winner])
        }).pipe(Effect.provide(memoryPrograms()))
      }
    })
  )

  it.effect("a decline is the other answer: one of them counts", () =>
    Effect.gen(function* () {
      for (const seed of SEEDS) {
        yield* Effect.gen(function* () {
          const { answer, browser, mandate } = yield* aboutToApprove
          const [approved, declined] = yield* both(browser.approve(answer), declineMandate(browser.bearer()))
          const [won, lost] = Result.isSuccess(approved)
            ? (["mandate.approved", declined] as const)
            : (["mandate.rejected", approved] as const)
          assert.strictEqual(tagOf(lost), "ApprovalSessionClosed")
          assert.deepStrictEqual((yield* typesOf(mandate)).slice(1), [won])
        }).pipe(Effect.provide(racingPrograms(seed)))
      }
    })
  )

  it.effect("a revocation leaves at most one approval, and the mandate revoked", () =>
    Effect.gen(function* () {
      for (const seed of SEEDS) {
        yield* Effect.gen(function* () {
          const { answer, browser, mandate } = yield* aboutToApprove
          const [approved, revoked] = yield* both(browser.approve(answer), caller.revoke(mandate))
          assert.strictEqual(tagOf(revoked), "done")
          assert.include(["done", "ApprovalSessionClosed"], tagOf(approved))
          assert.deepStrictEqual((yield* typesOf(mandate)).slice(1), [
            ...(Result.isSuccess(approved) ? ["mandate.approved"] : []),
            "mandate.revoked"
          ])
        }).pipe(Effect.provide(racingPrograms(seed)))
      }
    })
  )

  for (const moment of ["between its decision and its write", "right after its write"] as const) {
    it.effect(`a retirement of the passkey, ${moment}`, () =>
      Effect.gen(function* () {
        const { answer, browser, mandate } = yield* aboutToApprove
        const [passkey] = (yield* listPasskeys({ ...subject, limit: 9 })).data
        const retire = retirePasskey({ ...subject, passkeyId: passkey?.id ?? "" })
        const first = moment === "between its decision and its write"
        const approved = yield* whenItWrites(browser.approve(answer), (write) =>
          first ? Effect.andThen(Effect.orDie(retire), write) : Effect.tap(write, () => Effect.orDie(retire))
        )
        assert.strictEqual(tagOf(approved), first ? "PasskeyVerificationFailed" : "done")
        assert.strictEqual((yield* caller.read(mandate)).state, first ? "PENDING_APPROVAL" : "ACTIVE")
        // Whatever came first, what was retired stays so.
        assert.deepStrictEqual((yield* listPasskeys({ ...subject, limit: 9 })).data, [])
      }).pipe(Effect.provide(memoryPrograms()))
    )
  }

  it.effect("the same answer in two tabs approves once", () =>
    Effect.gen(function* () {
      for (const seed of SEEDS) {
        yield* Effect.gen(function* () {
          const { answer, browser, mandate } = yield* aboutToApprove
          const answers = yield* both(browser.approve(answer), browser.approve(answer))
          assert.deepStrictEqual(answers.map(tagOf).toSorted(), ["ApprovalSessionClosed", "done"])
          assert.deepStrictEqual((yield* typesOf(mandate)).slice(1), ["mandate.approved"])
        }).pipe(Effect.provide(racingPrograms(seed)))
      }
    })
  )

  it.effect("a forged answer to the same challenge spends it or comes too late", () =>
    Effect.gen(function* () {
      for (const seed of SEEDS) {
        yield* Effect.gen(function* () {
          const { answer, browser, device, mandate } = yield* aboutToApprove
          const forged = { ...answer, response: { ...answer.response, signature: "MAYCAQECAQE" } }
          const [honest, other] = yield* both(browser.approve(answer), browser.approve(forged))
          if (Result.isSuccess(honest)) {
            assert.include(["ApprovalSessionClosed", "PasskeyVerificationFailed"], tagOf(other))
            return
          }
          assert.deepStrictEqual([tagOf(honest), tagOf(other)], Array(2).fill("PasskeyVerificationFailed"))
          assert.strictEqual((yield* caller.read(mandate)).state, "PENDING_APPROVAL")
          const next = yield* browser.ceremony()
          yield* browser.approve(device.authenticate(next.options as never))
        }).pipe(Effect.provide(racingPrograms(seed)))
      }
    })
  )

  it.effect("the end of the session closes it, even between its decision and its write", () =>
    Effect.gen(function* () {
      const { answer, browser, mandate } = yield* aboutToApprove
      yield* TestClock.adjust("299 seconds")
      const late = yield* whenItWrites(browser.approve(answer), (write) =>
        Effect.andThen(TestClock.adjust("1 second"), write)
      )
      assert.strictEqual(tagOf(late), "ApprovalSessionClosed")
      assert.strictEqual((yield* caller.read(mandate)).state, "PENDING_APPROVAL")
    }).pipe(Effect.provide(memoryPrograms()))
  )
})

describe("one subject that enrols in two sessions at once", () => {
  it.effect("keeps the passkey of the first approval; the other session goes on with that one", () =>
    Effect.gen(function* () {
      for (const seed of SEEDS) {
        yield* Effect.gen(function* () {
          const mandates = [yield* newPendingMandate(caller), yield* pendingMandate(caller)]
          const devices = [newDevice(), newDevice()]
          const browsers = []
          for (const mandate of mandates) browsers.push(browserOf(yield* openSession(caller, mandate)))
          const answers = yield* Effect.forEach(
            browsers,
            (browser, index) =>
              Effect.gen(function* () {
                const device = devices[index]!
                const register = yield* browser.ceremony()
                assert.strictEqual(register.step, "register")
                yield* browser.register(device.register(register.options as never))
                const approve = yield* browser.ceremony()
                assert.strictEqual(approve.step, "approve")
                return device.authenticate(approve.options as never)
              }),
            { concurrency: "unbounded" }
          )
          const [one, two] = [browsers[0]!, browsers[1]!]
          const results = yield* both(one.approve(answers[0]), two.approve(answers[1]))
          assert.deepStrictEqual(results.map(tagOf).toSorted(), ["PasskeyVerificationFailed", "done"])
          const winner = results.findIndex(Result.isSuccess)
          const loser = 1 - winner
          assert.strictEqual((yield* caller.read(mandates[loser]!)).state, "PENDING_APPROVAL")
          assert.lengthOf((yield* listPasskeys({ ...subject, limit: 9 })).data, 1)

          const again = yield* browsers[loser]!.ceremony()
          assert.strictEqual(again.step, "approve")
          const allowed = again.options.allowCredentials as ReadonlyArray<{ readonly id: string }>
          assert.deepStrictEqual(
            allowed.map(({ id }) => id),
            [answers[winner]!.id]
          )
          yield* browsers[loser]!.approve(devices[winner]!.authenticate(again.options as never))
          assert.strictEqual((yield* caller.read(mandates[loser]!)).state, "ACTIVE")
          assert.lengthOf((yield* listPasskeys({ ...subject, limit: 9 })).data, 1)
        }).pipe(Effect.provide(racingPrograms(seed)))
      }
    })
  )

  it.effect("has one user id, whichever session asked first", () =>
    Effect.gen(function* () {
      const mandates = [yield* newPendingMandate(caller), yield* pendingMandate(caller)]
      const browsers = []
      for (const mandate of mandates) browsers.push(browserOf(yield* openSession(caller, mandate)))
      const steps = yield* Effect.all(
        browsers.map((browser) => browser.ceremony()),
        { concurrency: "unbounded" }
      )
      const ids = new Set(steps.map(({ options }) => (options.user as { readonly id: string }).id))
      assert.strictEqual(ids.size, 1)
    }).pipe(Effect.provide(racingPrograms()))
  )
})

describe("a passkey on trial, when the subject's last one is retired", () => {
  /** One session with a passkey on trial, while another gives the subject one that is retired again. */
  const overtaken = Effect.fnUntraced(function* (enrol: boolean) {
    const mandate = yield* newPendingMandate(caller)
    const browser = browserOf(yield* openSession(caller, mandate, { enrol }))
    const device = newDevice()
    yield* browser.register(device.register((yield* browser.ceremony()).options as never))
    const { options } = yield* browser.ceremony()
    yield* approveWith(yield* openSession(caller, yield* pendingMandate(caller)), newDevice())
    const [passkey] = (yield* listPasskeys({ ...subject, limit: 9 })).data
    yield* retirePasskey({ ...subject, passkeyId: passkey?.id ?? "" })
    return { browser, mandate, answer: device.authenticate(options as never) }
  })

  it.effect("serves no more without the claim: that was the first use", () =>
    Effect.gen(function* () {
      const { answer, browser, mandate } = yield* overtaken(false)
      assert.strictEqual(tagOf(yield* Effect.result(browser.approve(answer))), "PasskeyVerificationFailed")
      assert.strictEqual(tagOf(yield* Effect.result(browser.ceremony())), "EnrolmentNotAllowed")
      assert.strictEqual((yield* caller.read(mandate)).state, "PENDING_APPROVAL")
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("still serves with the claim: the subject has none", () =>
    Effect.gen(function* () {
      const { answer, browser, mandate } = yield* overtaken(true)
      yield* browser.approve(answer)
      assert.strictEqual((yield* caller.read(mandate)).state, "ACTIVE")
      assert.lengthOf((yield* listPasskeys({ ...subject, limit: 9 })).data, 1)
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("serves its own session alone", () =>
    Effect.gen(function* () {
      const mandate = yield* newPendingMandate(caller)
      const browser = browserOf(yield* openSession(caller, mandate))
      const device = newDevice()
      yield* browser.register(device.register((yield* browser.ceremony()).options as never))
      const other = browserOf(yield* openSession(caller, yield* pendingMandate(caller)))
      const step = yield* other.ceremony()
      assert.strictEqual(step.step, "register")
      const foreign = device.authenticate({
        challenge: String(step.options.challenge),
        rpId: "approve.svc.test"
      })
      assert.strictEqual(tagOf(yield* Effect.result(other.approve(foreign))), "PasskeyVerificationFailed")
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
