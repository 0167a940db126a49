import { assert, describe, it } from "@effect/vitest"
import { formatInstant } from "@svc/protocol/Timestamp"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { keyPorts, storedKey } from "../../test/StoredApiKey.ts"
import { apiKeyHash, formatApiKey } from "../organization/ApiKey.ts"
import { StoreUnavailable } from "../ports/MandateStore.ts"
import { Organizations } from "../ports/Organizations.ts"
import { authenticateApiKey } from "./AuthenticateApiKey.ts"

const tagOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => error._tag)

describe("authenticateApiKey", () => {
  it.effect("records the last use of a key, once an hour, and only when it lets somebody in", () =>
    Effect.gen(function* () {
      const { organization, text } = yield* storedKey({}, { expiresAt: "2026-12-01T04:00:00Z" })
      const { listApiKeys } = yield* Organizations
      const lastUse = Effect.map(listApiKeys(organization.id), ({ lastUsedAt }) =>
        [...lastUsedAt.values()].map(formatInstant)
      )
      const used = Effect.andThen(Effect.ignore(authenticateApiKey(text)), lastUse)
      assert.deepStrictEqual(yield* lastUse, [])
      assert.deepStrictEqual(yield* used, ["2026-12-01T00:00:00Z"])
      yield* TestClock.adjust("59 minutes")
      assert.deepStrictEqual(yield* used, ["2026-12-01T00:00:00Z"])
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(yield* used, ["2026-12-01T01:01:00Z"])
      yield* TestClock.adjust("10 hours")
      assert.deepStrictEqual(yield* used, ["2026-12-01T01:01:00Z"])
    }).pipe(Effect.provide(keyPorts()))
  )

  it.effect("asks the store to record a use only when the last one is an hour old", () =>
    Effect.gen(function* () {
      const { text } = yield* storedKey()
      const organizations = yield* Organizations
      let asked = 0
      const use = authenticateApiKey(text).pipe(
        Effect.provideService(Organizations, {
          ...organizations,
          recordApiKeyUse: (given) => {
            asked += 1
            return organizations.recordApiKeyUse(given)
          }
        }),
        Effect.map(() => asked)
      )
      assert.deepStrictEqual([yield* use, yield* use], [1, 1])
      yield* TestClock.adjust("3599 seconds")
      assert.strictEqual(yield* use, 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* use, 2)
    }).pipe(Effect.provide(keyPorts()))
  )

  it.effect("refuses what is no secret, or one that was wiped", () =>
    Effect.gen(function* () {
      const { text } = yield* storedKey()
      const wiped = Redacted.make("svc_test_")
      Redacted.wipeUnsafe(wiped)
      for (const given of [Redacted.value(text), undefined, Redacted.make(7), wiped]) {
        assert.strictEqual(yield* tagOf(authenticateApiKey(given as never)), "ApiKeyInvalid")
      }
    }).pipe(Effect.provide(keyPorts()))
  )

  it.effect("lets a key in though its use cannot be recorded", () =>
    Effect.gen(function* () {
      const { organization, text } = yield* storedKey()
      const organizations = yield* Organizations
      const found = yield* authenticateApiKey(text).pipe(
        Effect.provideService(Organizations, {
          ...organizations,
          recordApiKeyUse: () => Effect.fail(new StoreUnavailable({}))
        })
      )
      assert.deepStrictEqual(found.organization, organization)
    }).pipe(Effect.provide(keyPorts()))
  )

  it.effect("lets a key in for its organization", () =>
    Effect.gen(function* () {
      const { organization, record, text } = yield* storedKey()
      assert.deepStrictEqual(yield* authenticateApiKey(text), { apiKey: record, organization })
    }).pipe(Effect.provide(keyPorts()))
  )

  const wrong: Readonly<Record<string, string>> = {
    nothing: "",
    "a prefix alone": "svc_test_",
    "the other environment": `svc_live_${"B".repeat(42)}A`,
    "another key": `svc_test_${"B".repeat(42)}A`,
    padded: "svc_test_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=",
    "loose bits": "svc_test_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwd",
    "another case": "SVC_TEST_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc",
    "a space": " svc_test_BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc",
    "the hash": apiKeyHash(formatApiKey("test", new Uint8Array(32).fill(7)))
  }
  for (const [title, text] of Object.entries(wrong)) {
    it.effect(`refuses ${title} as it refuses any other (part 9)`, () =>
      Effect.gen(function* () {
        yield* storedKey()
        assert.strictEqual(yield* tagOf(authenticateApiKey(Redacted.make(text))), "ApiKeyInvalid")
      }).pipe(Effect.provide(keyPorts()))
    )
  }

  it.effect("refuses a key from the instant it expires, and once it is revoked", () =>
    Effect.gen(function* () {
      const { record, text } = yield* storedKey({}, { expiresAt: "2026-12-01T00:01:00Z" })
      yield* TestClock.adjust("59999 millis")
      yield* authenticateApiKey(text)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* tagOf(authenticateApiKey(text)), "ApiKeyInvalid")
      const { expiresAt: _, ...lasting } = record
      const organizations = yield* Organizations
      yield* organizations.putApiKey(lasting)
      yield* authenticateApiKey(text)
      yield* organizations.putApiKey({ ...lasting, revokedAt: "2026-12-01T00:02:00Z" })
      assert.strictEqual(yield* tagOf(authenticateApiKey(text)), "ApiKeyInvalid")
    }).pipe(Effect.provide(keyPorts()))
  )

  it.effect("refuses a live key of an organization without a billing account", () =>
    Effect.gen(function* () {
      const { organization, text } = yield* storedKey({ environment: "live" })
      assert.strictEqual(yield* tagOf(authenticateApiKey(text)), "BillingAccountRequired")
      const organizations = yield* Organizations
      yield* organizations.put({ ...organization, billingAccountReference: "acct_1" })
      assert.strictEqual((yield* authenticateApiKey(text)).organization.id, organization.id)
    }).pipe(Effect.provide(keyPorts("live")))
  )

  it.effect("refuses a key of an organization of the other environment", () =>
    Effect.gen(function* () {
      const { organization } = yield* storedKey()
      const organizations = yield* Organizations
      yield* organizations.put({ ...organization, environment: "live" })
      const text = formatApiKey("test", new Uint8Array(32).fill(7))
      assert.strictEqual(yield* tagOf(authenticateApiKey(text)), "ApiKeyInvalid")
    }).pipe(Effect.provide(keyPorts()))
  )
})
