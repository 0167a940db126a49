import { MandateStore } from "@svc/domain/ports/MandateStore"
import { StoreCleaning } from "@svc/domain/ports/StoreCleaning"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { finishAttempt, type WebhookDeliveryState } from "@svc/domain/webhook/WebhookDelivery"
import { deleted, type WebhookEndpointState } from "@svc/domain/webhook/WebhookEndpoint"
import type { Instant } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import { claimOf, createdChange, HOUR, newDigest, newIdentifier } from "../StoreFixtures.ts"
import { assert } from "./Assert.ts"
import { refusedWith } from "./Refused.ts"
import { newPlace, PLENTY, type StoreIt, storeNow } from "./StoreUnderTest.ts"
import {
  addWaiting,
  change,
  deliveriesOf,
  lease,
  loadStored,
  newDelivery,
  recordEnds,
  recordEvent,
  register
} from "./WebhooksUnderTest.ts"

type Step = Parameters<StoreCleaning["Service"]["clean"]>[0]

/** Looks at the one organization, or at as many as asked for from there on. Nothing is too young by default. */
const clean = Effect.fn("clean")(function* (organization: string, parts: Partial<Step> = {}) {
  const store = yield* StoreCleaning
  return yield* store.clean({
    after: organization.slice(0, -1),
    organizations: 1,
    limit: PLENTY,
    now: (yield* storeNow) + HOUR,
    keptFor: { deliveries: 0n, claims: 0n },
    ...parts
  })
})

const removedOf = (organization: string, parts: Partial<Step> = {}) =>
  Effect.map(clean(organization, parts), ({ removed }) => removed)

/** Adds deliveries and ends them with the given status. Their attempts were when `attemptedAt` says, which is now by default. */
const addEnded = Effect.fn("addEnded")(function* (
  endpoint: WebhookEndpointState,
  count: number,
  status = 200,
  attemptedAt: (now: Instant) => Instant = (now) => now
) {
  yield* Effect.replicateEffect(addWaiting(endpoint), count)
  const { leased } = yield* lease([endpoint])
  const now = attemptedAt(yield* storeNow)
  const ends = leased.map(({ delivery, endpoint }) => {
    const { token } = delivery.open!
    const { delivery: ended } = finishAttempt(
      { delivery, endpoint },
      { token, result: { status, durationMs: 1 }, now, uniform: 0 }
    )!
    return { next: { ...ended, attempts: ended.attempts.map((attempt) => ({ ...attempt, at: now })) }, token }
  })
  yield* recordEnds(yield* loadStored(endpoint), ends)
  return ends.map(({ next }) => next)
})

const idsOf = (deliveries: ReadonlyArray<WebhookDeliveryState>) => deliveries.map(({ id }) => id).sort()

const withClaim = Effect.fn("withClaim")(function* (
  organization: string,
  expiresAt: (now: Instant) => Instant
) {
  const store = yield* MandateStore
  const now = yield* storeNow
  const claim = claimOf("assertion", newDigest(), { expiresAt: expiresAt(now) })
  yield* store.append(createdChange(newPlace({ organization }), now, { claims: [claim] }))
  return claim
})

export const cleaningContract = (it: StoreIt): void => {
  it.describe("cleaning", () => {
    it.effect("removes deliveries that ended, and leaves those that have not", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const endpoint = yield* register(organization)
        const ended = [...(yield* addEnded(endpoint, 2)), ...(yield* addEnded(endpoint, 1, 500))]
        assert.deepStrictEqual(
          ended.map(({ state }) => state),
          ["delivered", "delivered", "exhausted"]
        )
        const waiting = yield* addWaiting(endpoint)
        const retried = yield* recordEvent(organization)
        const { leased } = yield* lease([endpoint], { limit: 1 })
        assert.lengthOf(leased, 1)
        assert.strictEqual(yield* removedOf(organization), 3)
        const left = yield* deliveriesOf(endpoint)
        assert.lengthOf(left, 2)
        assert.includeMembers(idsOf(left), [waiting.id])
        assert.includeMembers(
          left.map(({ eventId }) => eventId),
          [retried.id]
        )
        assert.strictEqual(yield* removedOf(organization), 0)
        const store = yield* WebhookStore
        const gone = yield* store.loadDelivery({
          organization,
          endpoint: endpoint.id,
          delivery: ended[0]!.id
        })
        assert.isUndefined(gone.delivery)
      })
    )

    it.effect("leaves what ended within the time that it is kept, by either clock", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const endpoint = yield* register(organization)
        const ended = yield* addEnded(endpoint, 2)
        const now = yield* storeNow
        const kept = { deliveries: HOUR, claims: 0n }
        assert.strictEqual(yield* removedOf(organization, { keptFor: kept }), 0)
        assert.strictEqual(yield* removedOf(organization, { keptFor: kept, now: now + 1000n * HOUR }), 0)
        assert.strictEqual(yield* removedOf(organization, { now: now - HOUR }), 0)
        assert.deepStrictEqual(idsOf(yield* deliveriesOf(endpoint)), idsOf(ended))
      })
    )

    it.effect("counts the time from when the store recorded the end, whenever the attempt was", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const endpoint = yield* register(organization)
        const longAgo = (now: Instant) => now - 10n * HOUR
        const ended = yield* addEnded(endpoint, 1, 200, longAgo)
        const kept = { deliveries: HOUR, claims: 0n }
        assert.strictEqual(yield* removedOf(organization, { keptFor: kept }), 0)
        assert.deepStrictEqual(idsOf(yield* deliveriesOf(endpoint)), idsOf(ended))
        assert.strictEqual(yield* removedOf(organization), 1)
      })
    )

    it.effect("leaves the history of a deleted endpoint", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const endpoint = yield* register(organization)
        const ended = yield* addEnded(endpoint, 2)
        const stored = yield* loadStored(endpoint)
        yield* change(deleted(stored.endpoint, yield* storeNow), { expected: stored.revision })
        assert.strictEqual(yield* removedOf(organization), 0)
        assert.deepStrictEqual(idsOf(yield* deliveriesOf(endpoint)), idsOf(ended))
      })
    )

    it.effect("frees the idempotency key of a delivery with it, and no other", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { organization } = newPlace()
        const endpoint = yield* register(organization)
        const keyed = Effect.gen(function* () {
          const delivery = newDelivery(endpoint, yield* storeNow)
          const claim = claimOf("idempotency_key", newDigest(), { resource: delivery.id })
          yield* store.addDelivery({ organization, delivery, body: "{}", claims: [claim] })
          return claim
        })
        const freed = yield* keyed
        yield* addEnded(endpoint, 0)
        const left = yield* keyed
        assert.strictEqual(yield* removedOf(organization), 1)
        const held = (idempotencyKey: string) =>
          Effect.map(store.loadEndpoint({ organization, idempotencyKey }), ({ held }) => held?.resource)
        assert.isUndefined(yield* held(freed.name))
        assert.strictEqual(yield* held(left.name), left.resource)
      })
    )

    it.effect("removes claims that expired long enough ago, and leaves the others", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        yield* withClaim(organization, (now) => now - 2n * HOUR)
        yield* withClaim(organization, (now) => now - HOUR / 2n)
        const valid = yield* withClaim(organization, (now) => now + HOUR)
        assert.strictEqual(yield* removedOf(organization, { keptFor: { deliveries: 0n, claims: HOUR } }), 1)
        assert.strictEqual(yield* removedOf(organization), 1)
        assert.strictEqual(yield* removedOf(organization), 0)
        const store = yield* MandateStore
        const again = createdChange(newPlace({ organization }), yield* storeNow, { claims: [valid] })
        yield* refusedWith("ClaimTaken", "append", store.append(again))
      })
    )

    it.effect("removes at most as many rows as asked for, and says where to continue", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        yield* withClaim(organization, (now) => now - HOUR)
        const endpoint = yield* register(organization)
        yield* addEnded(endpoint, 5)
        let after = organization.slice(0, -1)
        for (const left of [4, 2]) {
          const { next, removed } = yield* clean(organization, { limit: 2, after })
          assert.strictEqual(removed, 2)
          assert.isTrue(
            next !== undefined && next < organization,
            `a step of 2 rows leaves ${left} of the organization, so that it goes on before it, and not after ${next}`
          )
          after = next!
        }
        assert.strictEqual(yield* removedOf(organization, { after }), 2)
        assert.lengthOf(yield* deliveriesOf(endpoint), 0)
      })
    )

    it.effect("looks at as many organizations as asked for, and ends after the last", () =>
      Effect.gen(function* () {
        const organizations = [newIdentifier("org_"), newIdentifier("org_"), newIdentifier("org_")].sort()
        for (const organization of organizations) yield* withClaim(organization, (now) => now - HOUR)
        const two = yield* clean(organizations[0]!, { organizations: 2 })
        assert.strictEqual(two.removed, 2)
        assert.strictEqual(two.next, organizations[1])
        assert.strictEqual(yield* removedOf(organizations[2]!), 1)
        assert.deepStrictEqual(yield* clean("~", { after: "~" }), { removed: 0 })
      })
    )

    it.effect("removes each row once when several clean at the same time", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const endpoint = yield* register(organization)
        yield* addEnded(endpoint, 20)
        const waiting = yield* addWaiting(endpoint)
        const several = Effect.all(
          Array.from({ length: 4 }, () => removedOf(organization, { limit: 7 })),
          { concurrency: "unbounded" }
        )
        let removed = 0
        while (removed < 20) removed += (yield* several).reduce((sum, count) => sum + count, 0)
        assert.strictEqual(removed, 20)
        assert.deepStrictEqual(idsOf(yield* deliveriesOf(endpoint)), [waiting.id])
      })
    )
  })
}
