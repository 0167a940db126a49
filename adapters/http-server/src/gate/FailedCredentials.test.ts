import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { CurrentRequest } from "../http/CurrentRequest.ts"
import { Refused } from "../http/ProblemResponse.ts"
import { FailedCredentials, layer, layerOff } from "./FailedCredentials.ts"

const HOME = "203.0.113.7"

const wrong = new Refused({ code: "api_key_invalid" })
const down = new Refused({ code: "store_unavailable" })

/** Looks a credential up from an address; says what came of it, and whether the store was asked. */
const ask = (
  credential: string | undefined,
  { address = HOME, answer = Effect.succeed("found") as Effect.Effect<string, Refused> } = {}
) =>
  Effect.gen(function* () {
    let asked = false
    const look = Effect.suspend(() => {
      asked = true
      return answer
    })
    const failures = yield* FailedCredentials
    const outcome = yield* failures
      .lookUp(credential, look, ({ code }) => code === wrong.code)
      .pipe(Effect.catch((refused) => Effect.succeed(refused.code)))
    return { outcome, asked }
  }).pipe(
    Effect.provideService(CurrentRequest, {
      requestId: "",
      baseUrl: "",
      route: undefined,
      clientAddress: address
    })
  )

const failing = { answer: Effect.fail(wrong) }
const FOUND = { outcome: "found", asked: true }
const WRONG = { outcome: "api_key_invalid", asked: true }
const LIMITED = { outcome: "rate_limited", asked: false }

const limited = Effect.provide(layer({ rate: 1, burst: 2 }))

describe("FailedCredentials", () => {
  it.effect("refuses an address with too many failures, until time has passed", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* ask("a", failing), WRONG)
      assert.deepStrictEqual(yield* ask(undefined, failing), WRONG)
      assert.deepStrictEqual(yield* ask("b", failing), LIMITED)
      assert.deepStrictEqual(yield* ask(undefined, failing), LIMITED)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* ask("c", failing), WRONG)
      assert.deepStrictEqual(yield* ask("d", failing), LIMITED)
    }).pipe(limited)
  )

  it.effect("admits a credential that this process has just issued", () =>
    Effect.gen(function* () {
      for (const credential of ["a", "b"]) yield* ask(credential, failing)
      assert.deepStrictEqual(yield* ask("new"), LIMITED)
      yield* (yield* FailedCredentials).remember("new")
      assert.deepStrictEqual(yield* ask("new"), FOUND)
      assert.deepStrictEqual(yield* ask("c"), LIMITED)
    }).pipe(limited)
  )

  it.effect("says when to retry", () =>
    Effect.gen(function* () {
      yield* ask("a", failing)
      yield* ask("b", failing)
      const failures = yield* FailedCredentials
      const refused = yield* Effect.flip(failures.lookUp("c", Effect.fail(wrong), () => true)).pipe(
        Effect.provideService(CurrentRequest, {
          requestId: "",
          baseUrl: "",
          route: undefined,
          clientAddress: HOME
        })
      )
      assert.include(refused.headers, { "retry-after": "1", ratelimit: '"address";r=0;t=1' })
    }).pipe(limited)
  )

  it.effect("counts by IPv4 address and by IPv6 /64", () =>
    Effect.gen(function* () {
      for (const address of [HOME, "2001:db8::1"]) {
        yield* ask("a", { ...failing, address })
        yield* ask("a", { ...failing, address })
      }
      assert.deepStrictEqual(yield* ask("a", { ...failing, address: "2001:db8::2" }), LIMITED)
      assert.deepStrictEqual(yield* ask("a", { ...failing, address: "2001:db8:0:1::1" }), WRONG)
      assert.deepStrictEqual(yield* ask("a", { ...failing, address: "203.0.113.8" }), WRONG)
    }).pipe(limited)
  )

  it.effect("admits a credential that was valid when last used", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* ask("good"), FOUND)
      for (let failed = 0; failed < 9; failed++) yield* ask("a", failing)
      assert.deepStrictEqual(yield* ask("good"), FOUND)
      assert.deepStrictEqual(yield* ask("good", { address: "203.0.113.8" }), FOUND)
    }).pipe(limited)
  )

  it.effect("forgets a credential that fails", () =>
    Effect.gen(function* () {
      yield* ask("good")
      assert.deepStrictEqual(yield* ask("good", failing), WRONG)
      assert.deepStrictEqual(yield* ask("a", failing), WRONG)
      assert.deepStrictEqual(yield* ask("good", failing), LIMITED)
    }).pipe(limited)
  )

  it.effect("counts neither failures of the store nor valid credentials", () =>
    Effect.gen(function* () {
      for (let asked = 0; asked < 9; asked++) {
        assert.isTrue((yield* ask(`a${asked}`, { answer: Effect.fail(down) })).asked)
        assert.isTrue((yield* ask(`b${asked}`)).asked)
      }
      assert.deepStrictEqual(yield* ask("a", failing), WRONG)
    }).pipe(limited)
  )

  it.effect("charges concurrent look-ups afterwards", () =>
    Effect.gen(function* () {
      const slow = { answer: Effect.andThen(Effect.yieldNow, Effect.fail(wrong)) }
      yield* Effect.all(
        Array.from({ length: 4 }, (_, index) => ask(`a${index}`, slow)),
        { concurrency: "unbounded" }
      )
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* ask("b", failing), LIMITED)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* ask("b", failing), WRONG)
    }).pipe(limited)
  )

  it.effect("can be switched off", () =>
    Effect.gen(function* () {
      for (let failed = 0; failed < 1000; failed++) assert.isTrue((yield* ask("a", failing)).asked)
    }).pipe(Effect.provide(layerOff))
  )
})
