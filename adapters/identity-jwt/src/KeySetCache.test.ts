import { assert, describe, it } from "@effect/vitest"
import { IdentityKeysUnavailable } from "@svc/domain/ports/IdentityVerifier"
import { suspendedClock } from "@svc/testkit/SuspendedClock"
import { Clock, Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { IdentityKeySet } from "./IdentityKey.ts"
import {
  cachedKeySets,
  FAILURE_PAUSE_SECONDS,
  KEY_SET_LIFETIME_SECONDS,
  MAX_KEY_SETS,
  UNKNOWN_KID_PAUSE_SECONDS
} from "./KeySetCache.ts"

const URI = "https://id.example/jwks"
const keySet = (...kids: ReadonlyArray<string>): IdentityKeySet => ({ keys: kids.map((kid) => ({ kid })) })

/** An address that answers as it is told to, and counts. */
const makeIssuer = () => {
  const issuer = {
    fetches: [] as Array<string>,
    answer: Effect.succeed(keySet("k1")) as Effect.Effect<IdentityKeySet, unknown>
  }
  const resolve = cachedKeySets((jwksUri) =>
    Effect.suspend(() => {
      issuer.fetches.push(jwksUri)
      return issuer.answer
    })
  )
  const kidsFor = (kid: string | undefined, organization = "org_1", jwksUri = URI) =>
    resolve({ organization, jwksUri, kid }).pipe(
      Effect.map(({ keys }) => keys.map((key) => (key as { kid: string }).kid).join()),
      Effect.catch((error) =>
        Effect.succeed(error instanceof IdentityKeysUnavailable ? "unavailable" : "defect")
      )
    )
  return { issuer, kidsFor, resolve }
}

const pass = (seconds: number) => TestClock.adjust(seconds * 1000)
const DOWN = Effect.fail("down")

describe("cachedKeySets", () => {
  it.effect("fetches once, and again when 5 minutes have passed", () =>
    Effect.gen(function* () {
      const { issuer, kidsFor } = makeIssuer()
      assert.strictEqual(yield* kidsFor("k1"), "k1")
      issuer.answer = Effect.succeed(keySet("k2"))
      yield* pass(KEY_SET_LIFETIME_SECONDS - 1)
      assert.strictEqual(yield* kidsFor("k1"), "k1")
      assert.strictEqual(yield* kidsFor(undefined), "k1")
      assert.strictEqual(issuer.fetches.length, 1)
      yield* pass(1)
      assert.strictEqual(yield* kidsFor("k1"), "k2")
      assert.strictEqual(issuer.fetches.length, 2)
    })
  )

  it.effect("fetches again after the machine was suspended for 5 minutes", () =>
    Effect.gen(function* () {
      const { issuer, kidsFor } = makeIssuer()
      const suspended = yield* suspendedClock
      const kid = Effect.provideService(kidsFor("k1"), Clock.Clock, suspended)
      assert.strictEqual(yield* kid, "k1")
      issuer.answer = Effect.succeed(keySet("k2"))
      yield* pass(KEY_SET_LIFETIME_SECONDS - 1)
      assert.strictEqual(yield* kid, "k1")
      yield* pass(1)
      assert.strictEqual(yield* kid, "k2")
    })
  )

  it.effect("fetches again for a kid it does not know, at most every 30 s", () =>
    Effect.gen(function* () {
      const { issuer, kidsFor } = makeIssuer()
      yield* kidsFor("k1")
      issuer.answer = Effect.succeed(keySet("k1", "k2"))
      yield* pass(UNKNOWN_KID_PAUSE_SECONDS - 1)
      assert.strictEqual(yield* kidsFor("k2"), "k1")
      assert.strictEqual(issuer.fetches.length, 1)
      yield* pass(1)
      assert.strictEqual(yield* kidsFor("k2"), "k1,k2")
      assert.strictEqual(issuer.fetches.length, 2)
      for (const kid of ["k3", "k4", "__proto__"]) assert.strictEqual(yield* kidsFor(kid), "k1,k2")
      assert.strictEqual(issuer.fetches.length, 2)
    })
  )

  it.effect("does not fetch for want of a kid where there are several keys", () =>
    Effect.gen(function* () {
      const { issuer, kidsFor } = makeIssuer()
      issuer.answer = Effect.succeed(keySet("k1", "k2"))
      yield* kidsFor("k1")
      yield* pass(UNKNOWN_KID_PAUSE_SECONDS)
      assert.strictEqual(yield* kidsFor(undefined), "k1,k2")
      assert.strictEqual(issuer.fetches.length, 1)
    })
  )

  it.effect("serves what it has while the address is down, until 5 minutes are over and not longer", () =>
    Effect.gen(function* () {
      const { issuer, kidsFor } = makeIssuer()
      yield* kidsFor("k1")
      issuer.answer = DOWN
      yield* pass(UNKNOWN_KID_PAUSE_SECONDS)
      // The new key may be there: nothing can be said of it.
      assert.strictEqual(yield* kidsFor("k2"), "unavailable")
      assert.strictEqual(yield* kidsFor("k2"), "unavailable")
      assert.strictEqual(yield* kidsFor("k1"), "k1")
      assert.strictEqual(issuer.fetches.length, 2)
      yield* pass(KEY_SET_LIFETIME_SECONDS - UNKNOWN_KID_PAUSE_SECONDS)
      assert.strictEqual(yield* kidsFor("k1"), "unavailable")
      assert.strictEqual(issuer.fetches.length, 3)
    })
  )

  it.effect("does not repeat a failed fetch for 5 s from its end, and says when to come again", () =>
    Effect.gen(function* () {
      const { issuer, kidsFor, resolve } = makeIssuer()
      issuer.answer = Effect.andThen(Effect.sleep(10_000), DOWN)
      const first = yield* Effect.forkChild(kidsFor("k1"))
      yield* pass(10)
      assert.strictEqual(yield* Fiber.join(first), "unavailable")
      issuer.answer = Effect.succeed(keySet("k1"))
      yield* pass(FAILURE_PAUSE_SECONDS - 1)
      const refused = yield* Effect.flip(resolve({ organization: "org_1", jwksUri: URI, kid: "k1" }))
      assert.deepStrictEqual([refused.retryAfterSeconds, refused.cause], [FAILURE_PAUSE_SECONDS, "down"])
      assert.strictEqual(issuer.fetches.length, 1)
      yield* pass(1)
      assert.strictEqual(yield* kidsFor("k1"), "k1")
    })
  )

  it.effect("fetches once for all who ask at once, whether it comes or fails", () =>
    Effect.gen(function* () {
      for (const [answer, expected] of [
        [Effect.succeed(keySet("k1")), "k1"],
        [DOWN, "unavailable"]
      ] as const) {
        const { issuer, kidsFor } = makeIssuer()
        const gate = yield* Deferred.make<void>()
        issuer.answer = Effect.andThen(Deferred.await(gate), answer)
        const asking = yield* Effect.forkChild(
          Effect.all(
            Array.from({ length: 20 }, () => kidsFor("k1")),
            { concurrency: "unbounded" }
          )
        )
        yield* Effect.yieldNow
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual([...new Set(yield* Fiber.join(asking))], [expected])
        assert.strictEqual(issuer.fetches.length, 1)
      }
    })
  )

  it.effect("lets the next one fetch where a fetch was interrupted", () =>
    Effect.gen(function* () {
      const { issuer, kidsFor } = makeIssuer()
      issuer.answer = Effect.never
      const fiber = yield* Effect.forkChild(kidsFor("k1"))
      yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)
      issuer.answer = Effect.succeed(keySet("k1"))
      assert.strictEqual(yield* kidsFor("k1"), "k1")
    })
  )

  it.effect("keeps organizations and addresses apart, their pauses too", () =>
    Effect.gen(function* () {
      const { issuer, kidsFor } = makeIssuer()
      yield* kidsFor("k1", "org_1")
      issuer.answer = Effect.succeed(keySet("k2"))
      assert.strictEqual(yield* kidsFor("k1", "org_2"), "k2")
      assert.strictEqual(yield* kidsFor("k1", "org_1", `${URI}/other`), "k2")
      assert.strictEqual(yield* kidsFor("k1", "org_1"), "k1")
      issuer.answer = DOWN
      assert.strictEqual(yield* kidsFor("k1", "org_3"), "unavailable")
      assert.strictEqual(yield* kidsFor("k1", 'org_1","https://id.example'), "unavailable")
      assert.strictEqual(yield* kidsFor("k1", "org_1"), "k1")
    })
  )

  it.effect("keeps a bounded number, and lets go of the eldest", () =>
    Effect.gen(function* () {
      const { issuer, kidsFor } = makeIssuer()
      for (let index = 0; index <= MAX_KEY_SETS; index++) yield* kidsFor("k1", `org_${index}`)
      const before = issuer.fetches.length
      yield* kidsFor("k1", `org_${MAX_KEY_SETS}`)
      assert.strictEqual(issuer.fetches.length, before)
      yield* kidsFor("k1", "org_0")
      assert.strictEqual(issuer.fetches.length, before + 1)
    })
  )
})
