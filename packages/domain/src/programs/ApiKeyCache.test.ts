import { assert, describe, it } from "@effect/vitest"
import { suspendedClock } from "@svc/testkit/SuspendedClock"
import { Clock, Context, Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { keyPorts, storedKey } from "../../test/StoredApiKey.ts"
import { apiKeyHash, apiKeyRecord, formatApiKey } from "../organization/ApiKey.ts"
import { StoreUnavailable } from "../ports/MandateStore.ts"
import { type FoundApiKey, Organizations } from "../ports/Organizations.ts"
import { ApiKeyInvalid } from "../Refusals.ts"
import { cachedApiKeys, makeKeyLookUps } from "./ApiKeyCache.ts"
import { authenticateApiKey } from "./AuthenticateApiKey.ts"

type Port = Organizations["Service"]

/** A service that caches on the store, and what it asked of it. `changed` stands between the two. */
const serviceOn = Effect.fnUntraced(function* (store: Port, changed: Partial<Port> = {}) {
  const asked = { lookUps: 0, uses: 0 }
  const port: Port = { ...store, ...changed }
  const context = yield* Layer.build(cachedApiKeys).pipe(
    Effect.provideService(Organizations, {
      ...port,
      findApiKey: (hash) => {
        asked.lookUps += 1
        return port.findApiKey(hash)
      },
      recordApiKeyUse: (use) => {
        asked.uses += 1
        return port.recordApiKeyUse(use)
      }
    })
  )
  return {
    asked,
    organizations: Context.get(context, Organizations),
    /** `in`, or why not. */
    admits: (text: Parameters<typeof authenticateApiKey>[0]) =>
      authenticateApiKey(text).pipe(
        Effect.match({ onSuccess: () => "in", onFailure: ({ _tag }) => _tag }),
        Effect.provideContext(context)
      )
  }
})

const REVOKED = { revokedAt: "2026-12-01T00:00:00Z" }

describe("cachedApiKeys", () => {
  it.effect("asks the store once for the requests of two seconds", () =>
    Effect.gen(function* () {
      const { organization, record, text } = yield* storedKey()
      const context = yield* Layer.build(cachedApiKeys)
      const within = Effect.provideContext(context)
      const fromStore = yield* within(authenticateApiKey(text))
      assert.deepStrictEqual(fromStore, { apiKey: record, organization })
      assert.deepStrictEqual(yield* within(authenticateApiKey(text)), fromStore)
      const { admits, asked } = yield* serviceOn(yield* Organizations)
      const seen: Array<number> = []
      for (const step of ["0 millis", "1 second", "999 millis", "1 millis", "1999 millis", "1 millis"]) {
        yield* TestClock.adjust(step as "1 second")
        assert.strictEqual(yield* admits(text), "in")
        seen.push(asked.lookUps)
      }
      assert.deepStrictEqual(seen, [1, 1, 1, 2, 2, 3])
    }).pipe(Effect.provide(keyPorts()))
  )

  it.effect(
    "refuses a key that was revoked elsewhere two seconds after the last look-up, at the latest",
    () =>
      Effect.gen(function* () {
        const { record, text } = yield* storedKey()
        const store = yield* Organizations
        const { admits } = yield* serviceOn(store)
        yield* admits(text)
        yield* store.putApiKey({ ...record, ...REVOKED })
        yield* TestClock.adjust("1999 millis")
        assert.strictEqual(yield* admits(text), "in")
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(yield* admits(text), "ApiKeyInvalid")
        // Refusals are not remembered: whatever an operator puts right acts at once.
        yield* store.putApiKey(record)
        assert.strictEqual(yield* admits(text), "in")
      }).pipe(Effect.provide(keyPorts()))
  )

  it.effect(
    "counts from when a look-up was sent, so that a slow one is remembered for less time, or none",
    () =>
      Effect.gen(function* () {
        const { text } = yield* storedKey()
        const store = yield* Organizations
        const slow = (delay: "1900 millis" | "2 seconds") =>
          serviceOn(store, {
            findApiKey: (hash) => Effect.tap(store.findApiKey(hash), () => Effect.sleep(delay))
          })
        const { admits, asked } = yield* slow("1900 millis")
        const first = yield* Effect.forkChild(admits(text))
        yield* TestClock.adjust("1900 millis")
        assert.deepStrictEqual([yield* Fiber.join(first), yield* admits(text)], ["in", "in"])
        yield* TestClock.adjust("99 millis")
        assert.strictEqual(yield* admits(text), "in")
        assert.strictEqual(asked.lookUps, 1)
        yield* TestClock.adjust("1 millis")
        yield* Effect.forkChild(admits(text), { startImmediately: true })
        assert.strictEqual(asked.lookUps, 2)

        const slower = yield* slow("2 seconds")
        const only = yield* Effect.forkChild(slower.admits(text))
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(yield* Fiber.join(only), "in")
        yield* Effect.forkChild(slower.admits(text), { startImmediately: true })
        assert.strictEqual(slower.asked.lookUps, 2)
      }).pipe(Effect.provide(keyPorts()))
  )

  it.effect("asks the store again after the machine was suspended, or its clock was set", () =>
    Effect.gen(function* () {
      const { record, text } = yield* storedKey()
      const store = yield* Organizations
      const { admits } = yield* serviceOn(store)
      const clock = yield* Clock.Clock
      const suspended = yield* suspendedClock
      const admitted = Effect.provideService(admits(text), Clock.Clock, suspended)
      for (const step of [3_600_000, -3_600_000]) {
        yield* store.putApiKey(record)
        assert.strictEqual(yield* admitted, "in")
        yield* store.putApiKey({ ...record, ...REVOKED })
        assert.strictEqual(yield* admitted, "in")
        yield* TestClock.setTime(clock.currentTimeMillisUnsafe() + step)
        assert.strictEqual(yield* admitted, "ApiKeyInvalid")
      }
    }).pipe(Effect.provide(keyPorts()))
  )

  it.effect("refuses a remembered key from the instant it expires", () =>
    Effect.gen(function* () {
      const { text } = yield* storedKey({}, { expiresAt: "2026-12-01T00:00:01.5Z" })
      const { admits, asked } = yield* serviceOn(yield* Organizations)
      yield* admits(text)
      yield* TestClock.adjust("1499 millis")
      assert.strictEqual(yield* admits(text), "in")
      assert.strictEqual(asked.lookUps, 1)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* admits(text), "ApiKeyInvalid")
    }).pipe(Effect.provide(keyPorts()))
  )

  it.effect(
    "has the store decide when a remembered key may have expired while its look-up was under way",
    () =>
      Effect.gen(function* () {
        const { text } = yield* storedKey({}, { expiresAt: "2026-12-01T00:00:02Z" })
        const store = yield* Organizations
        let delay: "0 millis" | "600 millis" = "600 millis"
        const { admits, asked } = yield* serviceOn(store, {
          findApiKey: (hash) => Effect.andThen(Effect.sleep(delay), store.findApiKey(hash))
        })
        const first = yield* Effect.forkChild(admits(text))
        yield* TestClock.adjust("600 millis")
        assert.strictEqual(yield* Fiber.join(first), "in")
        delay = "0 millis"
        // The store's clock was read at 0.6 s, which this process does not know: it may have been 0.6 s later than it was.
        yield* TestClock.adjust("799 millis")
        assert.strictEqual(yield* admits(text), "in")
        assert.strictEqual(asked.lookUps, 1)
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(yield* admits(text), "in")
        assert.strictEqual(asked.lookUps, 2)
        yield* TestClock.adjust("600 millis")
        assert.strictEqual(yield* admits(text), "ApiKeyInvalid")
      }).pipe(Effect.provide(keyPorts()))
  )

  it.effect("looks an unknown key up each time, so that it works once it is made", () =>
    Effect.gen(function* () {
      const { organization } = yield* storedKey()
      const store = yield* Organizations
      const { admits, asked } = yield* serviceOn(store)
      const text = formatApiKey("test", new Uint8Array(32).fill(8))
      assert.deepStrictEqual([yield* admits(text), yield* admits(text)], ["ApiKeyInvalid", "ApiKeyInvalid"])
      assert.strictEqual(asked.lookUps, 2)
      yield* store.putApiKey(
        apiKeyRecord({
          id: "key_01jdyyyyyyyyyyyyyyyyyyyyyy",
          organizationId: organization.id,
          key: text,
          createdAt: "2026-12-01T00:00:00Z"
        })
      )
      assert.strictEqual(yield* admits(text), "in")
    }).pipe(Effect.provide(keyPorts()))
  )

  it.effect(
    "looks a key up each time that is refused for its organization, or of the other environment",
    () =>
      Effect.gen(function* () {
        const { organization, text } = yield* storedKey({ environment: "live" })
        const store = yield* Organizations
        const { admits, asked } = yield* serviceOn(store)
        const ofTest = formatApiKey("test", new Uint8Array(32).fill(7))
        assert.strictEqual(yield* admits(ofTest), "ApiKeyInvalid")
        assert.strictEqual(asked.lookUps, 0)
        const before = [yield* admits(text), yield* admits(text)]
        assert.deepStrictEqual(before, ["BillingAccountRequired", "BillingAccountRequired"])
        yield* store.put({ ...organization, billingAccountReference: "acct_1" })
        assert.strictEqual(yield* admits(text), "in")
        yield* store.put({ ...organization, environment: "test" })
        yield* TestClock.adjust("2 seconds")
        assert.deepStrictEqual([yield* admits(text), yield* admits(text)], ["ApiKeyInvalid", "ApiKeyInvalid"])
        assert.strictEqual(asked.lookUps, 5)
      }).pipe(Effect.provide(keyPorts("live")))
  )

  it.effect(
    "does not remember a look-up that failed, and refuses nobody while a remembered one is good",
    () =>
      Effect.gen(function* () {
        const { text } = yield* storedKey()
        const store = yield* Organizations
        let isUp = false
        const { admits } = yield* serviceOn(store, {
          findApiKey: (hash) =>
            isUp ? store.findApiKey(hash) : Effect.fail(new StoreUnavailable({ retryAfterSeconds: 1 }))
        })
        assert.strictEqual(yield* admits(text), "StoreUnavailable")
        isUp = true
        assert.strictEqual(yield* admits(text), "in")
        isUp = false
        assert.strictEqual(yield* admits(text), "in")
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(yield* admits(text), "StoreUnavailable")
        isUp = true
        assert.strictEqual(yield* admits(text), "in")
      }).pipe(Effect.provide(keyPorts()))
  )

  it.effect("asks to record a use once, not for each request that it remembers", () =>
    Effect.gen(function* () {
      const { text } = yield* storedKey()
      const store = yield* Organizations
      const failing = { recordApiKeyUse: () => Effect.fail(new StoreUnavailable({})) }
      for (const changed of [failing, {}]) {
        const { admits, asked } = yield* serviceOn(store, changed)
        yield* admits(text)
        yield* Effect.replicateEffect(admits(text), 5, { concurrency: "unbounded" })
        assert.strictEqual(asked.uses, 1)
        yield* TestClock.adjust("2 seconds")
        yield* Effect.replicateEffect(admits(text), 5)
        // What could not be recorded is tried again, with the next look-up.
        assert.strictEqual(asked.uses, changed === failing ? 2 : 1)
        assert.strictEqual(asked.lookUps, 2)
      }
    }).pipe(Effect.provide(keyPorts()))
  )

  it.effect("remembers a key before its use is recorded, which may take long", () =>
    Effect.gen(function* () {
      const { text } = yield* storedKey()
      const { admits, asked } = yield* serviceOn(yield* Organizations, {
        recordApiKeyUse: () => Effect.never
      })
      yield* Effect.forkChild(admits(text), { startImmediately: true })
      assert.strictEqual(yield* admits(text), "in")
      assert.deepStrictEqual(asked, { lookUps: 1, uses: 1 })
    }).pipe(Effect.provide(keyPorts()))
  )

  it.effect("forgets at once what its own process records of a key or an organization", () =>
    Effect.gen(function* () {
      const { organization, record, text } = yield* storedKey()
      const { admits, asked, organizations } = yield* serviceOn(yield* Organizations)
      yield* admits(text)
      yield* organizations.putApiKey({ ...record, ...REVOKED })
      assert.strictEqual(yield* admits(text), "ApiKeyInvalid")
      const { hash: _, ...rest } = record
      yield* organizations.putApiKey(record)
      yield* admits(text)
      const rotated = formatApiKey("test", new Uint8Array(32).fill(9))
      yield* organizations.putApiKey({ ...rest, hash: apiKeyHash(rotated) })
      assert.deepStrictEqual([yield* admits(text), yield* admits(rotated)], ["ApiKeyInvalid", "in"])
      yield* organizations.put({ ...organization, environment: "live" })
      assert.strictEqual(yield* admits(rotated), "ApiKeyInvalid")
      const { lookUps } = asked
      yield* organizations.findApiKey(record.hash)
      yield* organizations.findApiKey(record.hash)
      assert.strictEqual(asked.lookUps, lookUps + 2)
    }).pipe(Effect.provide(keyPorts()))
  )

  it.effect("forgets also when the outcome of a record is unknown", () =>
    Effect.gen(function* () {
      const { record, text } = yield* storedKey()
      const store = yield* Organizations
      const { admits, organizations } = yield* serviceOn(store, {
        putApiKey: (apiKey) =>
          Effect.andThen(store.putApiKey(apiKey), Effect.fail(new StoreUnavailable({ cause: "answer lost" })))
      })
      yield* admits(text)
      yield* Effect.flip(organizations.putApiKey({ ...record, ...REVOKED }))
      assert.strictEqual(yield* admits(text), "ApiKeyInvalid")
    }).pipe(Effect.provide(keyPorts()))
  )

  it.effect("keeps services on different stores apart", () =>
    Effect.gen(function* () {
      const { text } = yield* storedKey()
      const first = yield* serviceOn(yield* Organizations)
      const empty = yield* Layer.build(Layer.fresh(keyPorts()))
      const second = yield* serviceOn(Context.get(empty, Organizations))
      assert.strictEqual(yield* first.admits(text), "in")
      assert.strictEqual(yield* second.admits(text), "ApiKeyInvalid")
      assert.strictEqual(yield* first.admits(text), "in")
      assert.deepStrictEqual([first.asked.lookUps, second.asked.lookUps], [1, 1])
    }).pipe(Effect.provide(keyPorts()))
  )
})

describe("makeKeyLookUps", () => {
  /** What a look-up finds, told apart by its clock. */
  const found = Effect.map(storedKey(), ({ organization, record }) => ({
    at: (now: bigint): FoundApiKey => ({
      now,
      apiKey: { ...record, id: `key_${now}` },
      organization
    })
  }))

  /** Look-ups that are answered by hand, and which key is remembered. */
  const lookUpsByHand = Effect.gen(function* () {
    const lookUps = makeKeyLookUps()
    return {
      lookUps,
      send: Effect.gen(function* () {
        const answer = yield* Deferred.make<FoundApiKey, ApiKeyInvalid | StoreUnavailable>()
        const fiber = yield* Effect.forkChild(
          Effect.exit(lookUps.remembering("hash", Deferred.await(answer))),
          { startImmediately: true }
        )
        return {
          answered: (one: FoundApiKey) => Effect.andThen(Deferred.succeed(answer, one), Fiber.join(fiber)),
          refused: Effect.andThen(Deferred.fail(answer, new ApiKeyInvalid()), Fiber.join(fiber)),
          failed: Effect.andThen(Deferred.fail(answer, new StoreUnavailable({})), Fiber.join(fiber)),
          interrupted: Fiber.interrupt(fiber)
        }
      }),
      remembered: Effect.map(lookUps.recent("hash"), (holder) => holder?.apiKey.id)
    }
  })

  it.effect("keeps the answer to the look-up that was sent last, whichever arrives last", () =>
    Effect.gen(function* () {
      const { at } = yield* found
      const { remembered, send } = yield* lookUpsByHand
      const [first, second, third] = [yield* send, yield* send, yield* send]
      yield* second.answered(at(2n))
      yield* first.answered(at(1n))
      assert.strictEqual(yield* remembered, "key_2")
      yield* third.answered(at(3n))
      assert.strictEqual(yield* remembered, "key_3")
    }).pipe(Effect.provide(keyPorts()))
  )

  it.effect("forgets a key that a look-up sent later refuses", () =>
    Effect.gen(function* () {
      const { at } = yield* found
      const { remembered, send } = yield* lookUpsByHand
      const [first, second] = [yield* send, yield* send]
      yield* first.answered(at(1n))
      assert.strictEqual(yield* remembered, "key_1")
      yield* second.refused
      assert.isUndefined(yield* remembered)
    }).pipe(Effect.provide(keyPorts()))
  )

  it.effect("goes on without a look-up that fails or whose caller leaves", () =>
    Effect.gen(function* () {
      const { at } = yield* found
      const { remembered, send } = yield* lookUpsByHand
      const [first, second, third] = [yield* send, yield* send, yield* send]
      yield* third.interrupted
      yield* second.failed
      assert.isUndefined(yield* remembered)
      yield* first.answered(at(1n))
      assert.strictEqual(yield* remembered, "key_1")
    }).pipe(Effect.provide(keyPorts()))
  )

  it.effect("does not remember what was under way when it was told to forget", () =>
    Effect.gen(function* () {
      const { at } = yield* found
      const { lookUps, remembered, send } = yield* lookUpsByHand
      const before = yield* send
      yield* Effect.sync(lookUps.forget)
      const after = yield* send
      yield* before.answered(at(1n))
      assert.isUndefined(yield* remembered)
      yield* after.answered(at(2n))
      assert.strictEqual(yield* remembered, "key_2")
    }).pipe(Effect.provide(keyPorts()))
  )

  it.effect("remembers a bounded number of keys, those looked up last", () =>
    Effect.gen(function* () {
      const { at } = yield* found
      const lookUps = makeKeyLookUps()
      const one = at(1n)
      for (let index = 0; index <= 10_000; index += 1) {
        yield* lookUps.remembering(`hash ${index}`, Effect.succeed(one))
      }
      assert.isUndefined(yield* lookUps.recent("hash 0"))
      assert.isDefined(yield* lookUps.recent("hash 1"))
      assert.isDefined(yield* lookUps.recent("hash 10000"))
    }).pipe(Effect.provide(keyPorts()))
  )

  it.effect("forgets a key that a later look-up refuses, though an earlier one lets it in afterwards", () =>
    Effect.gen(function* () {
      const { record, text } = yield* storedKey()
      const store = yield* Organizations
      const gate = yield* Deferred.make<void>()
      let isFirst = true
      const { admits } = yield* serviceOn(store, {
        findApiKey: (hash) => {
          const isHeld = isFirst
          isFirst = false
          return Effect.tap(store.findApiKey(hash), () => (isHeld ? Deferred.await(gate) : Effect.void))
        }
      })
      const held = yield* Effect.forkChild(admits(text), { startImmediately: true })
      yield* store.putApiKey({ ...record, ...REVOKED })
      assert.strictEqual(yield* admits(text), "ApiKeyInvalid")
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual(yield* Fiber.join(held), "in")
      assert.strictEqual(yield* admits(text), "ApiKeyInvalid")
    }).pipe(Effect.provide(keyPorts()))
  )
})
