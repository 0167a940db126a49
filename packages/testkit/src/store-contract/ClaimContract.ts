import { type ClaimKind, MandateStore, type UniqueClaim } from "@svc/domain/ports/MandateStore"
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import {
  claimOf,
  createdChange,
  DAY,
  followingChange,
  newDigest,
  newIdentifier,
  revokedFact
} from "../StoreFixtures.ts"
import { assert } from "./Assert.ts"
import { refusedWith } from "./Refused.ts"
import {
  appendAndLoad,
  newPlace,
  recordMandate,
  type StoreClock,
  type StoreIt,
  storeNow
} from "./StoreUnderTest.ts"

const KINDS: ReadonlyArray<ClaimKind> = ["idempotency_key", "commitment", "assertion"]

/** Tries to record a mandate with the claim, and gives the resource of the holder that was in the way. */
const holderInTheWay = Effect.fn("holderInTheWay")(function* (organization: string, claim: UniqueClaim) {
  const store = yield* MandateStore
  const change = createdChange(newPlace({ organization }), yield* storeNow, { claims: [claim] })
  return yield* store.append(change).pipe(
    Effect.as(undefined),
    Effect.catchTag("ClaimTaken", ({ holder, kind }) => Effect.succeed({ kind, ...holder }))
  )
})

export const claimContract = (it: StoreIt, clock: StoreClock): void => {
  it.describe("claims", () => {
    for (const kind of KINDS) {
      it.effect(`${kind}: once in an organization, by whichever stream`, () =>
        Effect.gen(function* () {
          const { organization } = newPlace()
          const claim = claimOf(kind, newDigest(), { fingerprint: newDigest() })
          assert.isUndefined(yield* holderInTheWay(organization, claim))
          const holder = { kind, fingerprint: claim.fingerprint, resource: claim.resource }
          assert.deepStrictEqual(yield* holderInTheWay(organization, claimOf(kind, claim.name)), holder)
          assert.deepStrictEqual(yield* holderInTheWay(organization, claim), holder)
        })
      )

      it.effect(`${kind}: independent in another organization`, () =>
        Effect.gen(function* () {
          const name = newDigest()
          assert.isUndefined(yield* holderInTheWay(newIdentifier("org_"), claimOf(kind, name)))
          assert.isUndefined(yield* holderInTheWay(newIdentifier("org_"), claimOf(kind, name)))
        })
      )
    }

    it.effect("different kinds of one name are independent", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const name = newDigest()
        for (const kind of KINDS) {
          assert.isUndefined(yield* holderInTheWay(organization, claimOf(kind, name)))
        }
      })
    )

    it.effect("one stream cannot make a claim twice, at another revision either", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const claim = claimOf("commitment", newDigest())
        const current = yield* recordMandate({}, () => ({ claims: [claim] }))
        const again = followingChange(current, [revokedFact(current.now)], { claims: [claim] })
        yield* refusedWith("ClaimTaken", "append", store.append(again))
      })
    )

    it.effect("names are compared exactly", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const base = newDigest()
        const long = "k".repeat(255)
        const names = ["", " ", "a", "A", "\u00e9", "e\u0301", "\ufb33", "\u{1f600}", "%", "__proto__", long]
        for (const name of names) {
          const claim = claimOf("assertion", `${base}${name}`)
          assert.isUndefined(yield* holderInTheWay(organization, claim), JSON.stringify(name))
          assert.isDefined(yield* holderInTheWay(organization, claim), JSON.stringify(name))
        }
      })
    )

    it.effect("a claim that has ended is free, one that has not is not", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const { organization } = newPlace()
        const now = yield* storeNow
        const ended = claimOf("assertion", newDigest(), { expiresAt: now })
        const next = claimOf("assertion", ended.name, { expiresAt: now + DAY })
        assert.isUndefined(yield* holderInTheWay(organization, ended))
        assert.isUndefined(yield* holderInTheWay(organization, next))
        assert.strictEqual((yield* holderInTheWay(organization, next))?.resource, next.resource)
        const key = claimOf("idempotency_key", newDigest(), { expiresAt: now })
        assert.isUndefined(yield* holderInTheWay(organization, key))
        assert.deepStrictEqual((yield* store.load({ organization, claims: [key] })).held, [])
      })
    )

    it.effect("a claim ends by the store's clock alone, when a stream ahead of it is loaded, too", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const claim = claimOf("assertion", newDigest(), { expiresAt: (yield* storeNow) + DAY })
        const { now, stream } = yield* recordMandate({}, (now) => ({
          occurredAt: now + 2n * DAY,
          claims: [claim]
        }))
        const { organization } = stream
        const mandate = stream.state.mandate.terms.mandate_id
        assert.isTrue(now > claim.expiresAt!, "a load goes by the last event where that is later")
        const { held } = yield* store.load({ organization, stream: { mandate }, claims: [claim] })
        const { expiresAt: _, ...holder } = claim
        assert.deepStrictEqual(held, [holder])
        assert.strictEqual((yield* holderInTheWay(organization, claim))?.resource, claim.resource)
      })
    )

    if (clock === "test") {
      it.effect("a claim is free at the very instant at which it ends, not before", () =>
        Effect.gen(function* () {
          const { organization } = newPlace()
          const expiresAt = (yield* storeNow) + NANOS_PER_SECOND
          const claim = claimOf("assertion", newDigest(), { expiresAt })
          assert.isUndefined(yield* holderInTheWay(organization, claim))
          yield* TestClock.adjust("999999999 nanos")
          assert.isDefined(yield* holderInTheWay(organization, claim))
          yield* TestClock.adjust("1 nanos")
          assert.isUndefined(yield* holderInTheWay(organization, claim))
        })
      )
    }

    it.effect("a key may be bound by a change without events", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const current = yield* recordMandate()
        const key = claimOf("idempotency_key", `PUT ${newDigest()}`)
        const { stream } = yield* appendAndLoad(followingChange(current, [], { claims: [key] }))
        assert.deepStrictEqual(stream.head, current.stream.head)
        const { held } = yield* store.load({ organization: stream.organization, claims: [key] })
        assert.deepStrictEqual(held, [key])
      })
    )
  })
}
