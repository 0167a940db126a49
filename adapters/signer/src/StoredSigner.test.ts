import { assert, describe, it } from "@effect/vitest"
import { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { Signer } from "@svc/domain/ports/Signer"
import {
  type NewSigningKey,
  type SigningKeyRecord,
  SigningKeyRecords
} from "@svc/domain/ports/SigningKeyRecords"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { signerSuite } from "@svc/testkit/SignerSuite"
import { Clock, Context, Effect, Fiber, Layer, Logger, Redacted } from "effect"
import { TestClock } from "effect/testing"
import * as SecretSealerNodeCrypto from "./SecretSealerNodeCrypto.ts"
import * as StoredSigner from "./StoredSigner.ts"
import { makeSigningKey } from "./StoredSigningKey.ts"

const sealer = (fill: number) =>
  Layer.orDie(SecretSealerNodeCrypto.layer({ current: Redacted.make(new Uint8Array(32).fill(fill)) }))

/** The store's clock is not that of the process. */
const AHEAD = 7000n * NANOS_PER_SECOND

/** Records that are kept in memory, as the store keeps them. */
const makeRecords = () => {
  const kept: { keys: Array<SigningKeyRecord>; reads: number; isDown: boolean; isFrozen: boolean } = {
    keys: [],
    reads: 0,
    isDown: false,
    isFrozen: false
  }
  const add = (key: NewSigningKey, signsFrom: Instant, createdAt = BigInt(kept.keys.length)) =>
    void kept.keys.push({ ...key, createdAt, signsFrom })
  const health = Layer.succeed(StoreHealth, StoreHealth.of({ faults: Effect.succeed(["Of the store."]) }))
  const records = Layer.succeed(
    SigningKeyRecords,
    SigningKeyRecords.of({
      list: Effect.suspend(() => {
        kept.reads += 1
        if (kept.isFrozen) return Effect.never
        if (kept.isDown) return Effect.fail(new StoreUnavailable({}))
        return Effect.map(Clock.currentTimeNanos, (now) => ({ now: now + AHEAD, keys: [...kept.keys] }))
      }),
      addFirst: (key) => Effect.sync(() => kept.keys.length === 0 && add(key, 0n)),
      rotate: () => Effect.die("not used"),
      withdraw: () => Effect.die("not used"),
      forgetBefore: (kid) =>
        Effect.map(Clock.currentTimeNanos, (now) => {
          const from = kept.keys.find(({ publicJwk }) => publicJwk.kid === kid)?.signsFrom ?? 0n
          if (from > now + AHEAD) return
          kept.keys = kept.keys.map((key) =>
            (key.signsFrom ?? from) < from ? { ...key, sealed: undefined } : key
          )
        })
    })
  )
  return { kept, add, layer: Layer.merge(records, health) }
}

const portsOn = (records: ReturnType<typeof makeRecords>, fill = 1) =>
  Layer.build(Layer.fresh(StoredSigner.layer).pipe(Layer.provide([records.layer, sealer(fill)])))

const signerOn = (...given: Parameters<typeof portsOn>) =>
  Effect.map(portsOn(...given), (ports) => Context.get(ports, Signer))

const kidOf = (signer: Signer["Service"]) => Effect.map(signer.current, ({ kid }) => kid)

const published = (signer: Signer["Service"]) =>
  Effect.map(signer.keySet, ({ keys }) => keys.map(({ kid }) => kid))

const newKey = Effect.provide(makeSigningKey, sealer(1))

/** Sealed under a master key that the servers lack. */
const foreignKey = Effect.provide(makeSigningKey, sealer(2))

/** Whether the private half of each key is still kept. */
const keptOf = (records: ReturnType<typeof makeRecords>) =>
  records.kept.keys.map(({ sealed }) => sealed !== undefined)

/** Keeps what is logged at the level of a warning. */
const warnings = () => {
  const messages: Array<unknown> = []
  const layer = Logger.layer([
    Logger.make(({ logLevel, message }) => {
      if (logLevel === "Warn") messages.push(...[message].flat())
    })
  ])
  return { messages, layer }
}

const pastTheView = TestClock.adjust(`${Number(StoredSigner.VIEW_LIFETIME_SECONDS)} seconds`)

signerSuite("of the store", Layer.provide(StoredSigner.layer, [makeRecords().layer, sealer(1)]))

describe("StoredSigner (part 7)", () => {
  it.effect(
    "queries an unresponsive store once for all callers, and publishes the known key set meanwhile",
    () =>
      Effect.gen(function* () {
        const records = makeRecords()
        const signer = yield* signerOn(records)
        const known = yield* published(signer)
        yield* pastTheView
        const { reads } = records.kept
        records.kept.isFrozen = true
        const signing = yield* Effect.forkChild(signer.current)
        const sets = yield* Effect.forkChild(
          Effect.all([published(signer), published(signer), published(signer)], { concurrency: "unbounded" })
        )
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* Fiber.join(sets), [known, known, known])
        // One for the key sets, and one to sign: what may sign is asked for each time.
        assert.strictEqual(records.kept.reads, reads + 2)
        yield* Fiber.interrupt(signing)
      })
  )

  it.effect("creates the first key, which other processes use too", () =>
    Effect.gen(function* () {
      const records = makeRecords()
      const [one, other] = [yield* signerOn(records), yield* signerOn(records)]
      assert.strictEqual(records.kept.keys.length, 1)
      assert.strictEqual(yield* kidOf(one), yield* kidOf(other))
      assert.deepStrictEqual(yield* published(other), [yield* kidOf(one)])
    })
  )

  it.effect("publishes a new key within seconds, and signs with it when due by the store's clock", () =>
    Effect.gen(function* () {
      const records = makeRecords()
      const signer = yield* signerOn(records)
      const first = yield* kidOf(signer)
      const next = yield* newKey
      const delay = 900n
      records.add(next, (yield* Clock.currentTimeNanos) + AHEAD + delay * NANOS_PER_SECOND)
      assert.deepStrictEqual(yield* published(signer), [first])
      yield* pastTheView
      assert.deepStrictEqual(yield* published(signer), [first, next.publicJwk.kid])
      yield* TestClock.adjust("894 seconds")
      assert.strictEqual(yield* kidOf(signer), first)
      yield* TestClock.adjust("999999999 nanos")
      assert.strictEqual(yield* kidOf(signer), first)
      yield* TestClock.adjust("1 nanos")
      assert.strictEqual(yield* kidOf(signer), next.publicJwk.kid)
      assert.deepStrictEqual(yield* published(signer), [first, next.publicJwk.kid])
    })
  )

  it.effect("removes the private half of a retired key, and starts without it", () =>
    Effect.gen(function* () {
      const records = makeRecords()
      const signer = yield* signerOn(records)
      const first = yield* kidOf(signer)
      const next = yield* newKey
      records.add(next, AHEAD)
      yield* pastTheView
      assert.strictEqual(yield* kidOf(signer), next.publicJwk.kid)
      assert.deepStrictEqual(keptOf(records), [false, true])
      const later = yield* signerOn(records)
      assert.strictEqual(yield* kidOf(later), next.publicJwk.kid)
      assert.deepStrictEqual(yield* published(later), [first, next.publicJwk.kid])
    })
  )

  it.effect("falls back to the previous key if it cannot open the current one, and says so", () =>
    Effect.gen(function* () {
      const records = makeRecords()
      const ports = yield* portsOn(records)
      const [signer, health] = [Context.get(ports, Signer), Context.get(ports, StoreHealth)]
      const first = yield* kidOf(signer)
      assert.deepStrictEqual(yield* health.faults, ["Of the store."])
      const { messages, layer } = warnings()
      yield* Effect.provide(
        Effect.gen(function* () {
          records.add(yield* foreignKey, (yield* Clock.currentTimeNanos) + AHEAD + 60n * NANOS_PER_SECOND)
          for (let reading = 0; reading < 2; reading++) {
            yield* pastTheView
            assert.deepStrictEqual(yield* health.faults, ["Of the store."])
          }
        }),
        layer
      )
      assert.deepStrictEqual(messages, ["the master key does not open the signing key that is to sign next"])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* kidOf(signer), first)
      assert.deepStrictEqual(yield* health.faults, [
        "Of the store.",
        "The master key does not open the current signing key: the one before it signs."
      ])
      assert.deepStrictEqual(keptOf(records), [true, true])
      // A process that can open it removes what is before it; this one has that open.
      const right = yield* signerOn(records, 2)
      assert.notStrictEqual(yield* kidOf(right), first)
      yield* pastTheView
      yield* kidOf(right)
      assert.deepStrictEqual(keptOf(records), [false, true])
      yield* pastTheView
      assert.strictEqual(yield* kidOf(signer), first)
      assert.strictEqual((yield* Effect.flip(signerOn(records)))._tag, "SealBroken")
    })
  )

  it.effect("never signs with a withdrawn key, and drops it from the key set within seconds", () =>
    Effect.gen(function* () {
      const records = makeRecords()
      const signer = yield* signerOn(records)
      const first = yield* kidOf(signer)
      const now = (yield* Clock.currentTimeNanos) + AHEAD
      const withdrawFirst = () => {
        const [key, ...others] = records.kept.keys
        records.kept.keys = [{ ...key!, sealed: undefined, withdrawnAt: now }, ...others]
      }
      const next = yield* newKey
      records.add(next, now, now)
      withdrawFirst()
      assert.strictEqual(yield* kidOf(signer), next.publicJwk.kid)
      yield* pastTheView
      assert.deepStrictEqual(yield* published(signer), [next.publicJwk.kid])
      const started = yield* signerOn(records)
      assert.strictEqual(yield* kidOf(started), next.publicJwk.kid)
      assert.notInclude(yield* published(started), first)
    })
  )

  it.effect("gives no signature of a key that was withdrawn while it was made", () =>
    Effect.gen(function* () {
      const records = makeRecords()
      const signer = yield* signerOn(records)
      const { begin, kid } = yield* signer.current
      const [kept, lost] = [begin(), begin()]
      for (const signing of [kept, lost]) signing.update(new Uint8Array(3))
      assert.strictEqual((yield* kept.signature).length, 64)
      const now = (yield* Clock.currentTimeNanos) + AHEAD
      records.kept.keys = records.kept.keys.map((key) =>
        key.publicJwk.kid === kid ? { ...key, sealed: undefined, withdrawnAt: now } : key
      )
      assert.strictEqual((yield* Effect.flip(lost.signature))._tag, "SignerUnavailable")
    })
  )

  it.effect("does not fall back to a withdrawn key, even an opened one", () =>
    Effect.gen(function* () {
      const records = makeRecords()
      const signer = yield* signerOn(records)
      const first = yield* kidOf(signer)
      const now = (yield* Clock.currentTimeNanos) + AHEAD
      records.add(yield* foreignKey, now + 60n * NANOS_PER_SECOND, now)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* kidOf(signer), first)
      records.kept.keys = records.kept.keys.map((key) =>
        key.publicJwk.kid === first ? { ...key, sealed: undefined, withdrawnAt: now } : key
      )
      assert.strictEqual((yield* Effect.flip(signer.current))._tag, "SignerUnavailable")
    })
  )

  it.effect("does not start on a fallback key", () =>
    Effect.gen(function* () {
      const records = makeRecords()
      yield* signerOn(records)
      records.add(yield* foreignKey, AHEAD)
      assert.strictEqual((yield* Effect.flip(signerOn(records)))._tag, "SealBroken")
      assert.deepStrictEqual(keptOf(records), [true, true])
    })
  )

  it.effect("signs nothing if it cannot open the key of an immediate rotation", () =>
    Effect.gen(function* () {
      const records = makeRecords()
      const ports = yield* portsOn(records)
      const [signer, health] = [Context.get(ports, Signer), Context.get(ports, StoreHealth)]
      const now = (yield* Clock.currentTimeNanos) + AHEAD
      records.add(yield* foreignKey, now, now)
      yield* pastTheView
      assert.strictEqual((yield* Effect.flip(signer.current))._tag, "SignerUnavailable")
      assert.deepStrictEqual(yield* health.faults, [
        "Of the store.",
        "The master key does not open the current signing key: no evidence is signed."
      ])
      assert.deepStrictEqual(keptOf(records), [true, true])
      // Nor does one that was announced since let it sign again.
      records.add(yield* foreignKey, now + 60n * NANOS_PER_SECOND, now)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Effect.flip(signer.current))._tag, "SignerUnavailable")
      records.add(yield* newKey, now + 120n * NANOS_PER_SECOND, now)
      yield* TestClock.adjust("1 minute")
      yield* kidOf(signer)
      assert.deepStrictEqual(yield* health.faults, ["Of the store."])
    })
  )

  it.effect("reads the records for the key set at most every few seconds, whatever the load", () =>
    Effect.gen(function* () {
      const records = makeRecords()
      const signer = yield* signerOn(records)
      const { reads } = records.kept
      const many = Effect.all(
        Array.from({ length: 50 }, () => signer.keySet),
        { concurrency: "unbounded", discard: true }
      )
      yield* many
      assert.strictEqual(records.kept.reads, reads)
      yield* pastTheView
      yield* many
      assert.strictEqual(records.kept.reads, reads + 1)
      yield* TestClock.adjust("1 day")
      assert.strictEqual(records.kept.reads, reads + 1)
    })
  )

  it.effect("publishes the known keys while the store is unavailable, signs nothing, and recovers", () =>
    Effect.gen(function* () {
      const records = makeRecords()
      const signer = yield* signerOn(records)
      const kid = yield* kidOf(signer)
      records.kept.isDown = true
      assert.strictEqual((yield* Effect.flip(signer.current))._tag, "SignerUnavailable")
      yield* pastTheView
      assert.deepStrictEqual(yield* published(signer), [kid])
      records.kept.isDown = false
      assert.strictEqual(yield* kidOf(signer), kid)
    })
  )

  it.effect("does not start with another master key or an invalid public key", () =>
    Effect.gen(function* () {
      const records = makeRecords()
      yield* signerOn(records)
      assert.strictEqual((yield* Effect.flip(signerOn(records, 2)))._tag, "SealBroken")
      const [key] = records.kept.keys
      const leaking = { ...key!.publicJwk, d: "AAAA" }
      records.kept.keys = [{ ...key!, publicJwk: leaking }]
      assert.strictEqual((yield* Effect.flip(signerOn(records)))._tag, "SigningKeyInvalid")
      const other = yield* newKey
      records.kept.keys = [{ ...key!, publicJwk: other.publicJwk }]
      assert.strictEqual((yield* Effect.flip(signerOn(records)))._tag, "SealBroken")
    })
  )
})
