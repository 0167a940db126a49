import { MandateStore } from "@svc/domain/ports/MandateStore"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { deliveryIdOf } from "@svc/domain/webhook/DeliveryId"
import {
  deleted,
  KEPT_DELIVERIES,
  KEPT_SECONDS,
  MAX_WEBHOOK_ENDPOINTS,
  reactivated
} from "@svc/domain/webhook/WebhookEndpoint"
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import {
  claimOf,
  createdChange,
  followingChange,
  HOUR,
  newDigest,
  newIdentifier,
  revokedFact
} from "../StoreFixtures.ts"
import { assert } from "./Assert.ts"
import { refused, refusedWith } from "./Refused.ts"
import {
  appendAndLoad,
  loadCurrent,
  newPlace,
  recordMandate,
  type StoreClock,
  type StoreIt,
  storeNow
} from "./StoreUnderTest.ts"
import {
  alter,
  change,
  deliveriesOf,
  disabledSince,
  loadStored,
  newDelivery,
  newEndpoint,
  recordEvent,
  recordEvents,
  register
} from "./WebhooksUnderTest.ts"

/** Concurrent writers, each with its own mandate. */
const WRITERS = 64
const KEPT = KEPT_SECONDS * NANOS_PER_SECOND
/** Events of one change, and changes, that are one event more than a disabled endpoint has kept. */
const MANY = 1000

export const webhookContract = (it: StoreIt, clock: StoreClock): void => {
  it.describe("webhook endpoints", () => {
    it.effect("are given back as they were recorded, and count their changes", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { organization } = newPlace()
        const now = yield* storeNow
        const absent = yield* store.loadEndpoint({ organization, endpoint: newIdentifier("whe_") })
        assert.deepStrictEqual(Object.keys(absent), ["now"])
        assert.isTrue((yield* store.loadEndpoint({ organization })).now >= now)
        const first = yield* register(organization, {
          eventTypes: ["mandate.revoked", "mandate.approved"],
          description: "caf\u00e9 \u{1f600} ' \" \\"
        })
        assert.deepStrictEqual(yield* loadStored(first), { endpoint: first, revision: 1 })
        const disabled = {
          ...first,
          ...disabledSince(now + 1n),
          consecutiveFailedAttempts: 20,
          consecutiveExhaustedDeliveries: 3,
          generation: 2,
          secretVersion: 7,
          updatedAt: now + 2n
        }
        assert.deepStrictEqual(yield* change(disabled, { expected: 1 }), { revision: 2 })
        assert.deepStrictEqual(yield* loadStored(first), { endpoint: disabled, revision: 2 })
      })
    )

    it.effect("are listed newest first, without those that are deleted", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { organization } = newPlace()
        assert.deepStrictEqual(yield* store.listEndpoints(organization), [])
        const made = yield* Effect.forEach([1, 2, 3], () => register(organization))
        const newest = made.toSorted((one, other) => (one.id < other.id ? 1 : -1))
        const list = yield* store.listEndpoints(organization)
        assert.deepStrictEqual(
          list,
          newest.map((endpoint) => ({ endpoint, revision: 1 }))
        )
        const gone = deleted(newest[1]!, yield* storeNow)
        yield* change(gone, { expected: 1 })
        assert.deepStrictEqual(
          (yield* store.listEndpoints(organization)).map(({ endpoint }) => endpoint),
          [newest[0], newest[2]]
        )
        assert.deepStrictEqual(yield* loadStored(gone), { endpoint: gone, revision: 2 })
      })
    )

    it.effect("are as many as the limit says, also when six come at once", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { organization } = newPlace()
        const six = yield* Effect.all(
          Array.from({ length: MAX_WEBHOOK_ENDPOINTS + 1 }, () => Effect.result(register(organization))),
          { concurrency: "unbounded" }
        )
        const refused = six.flatMap((one) => (one._tag === "Failure" ? [one.failure._tag] : []))
        assert.deepStrictEqual(refused, ["EndpointLimitReached"])
        const made = six.flatMap((one) => (one._tag === "Success" ? [one.success] : []))
        assert.lengthOf(yield* store.listEndpoints(organization), MAX_WEBHOOK_ENDPOINTS)
        // Other organizations have room, and the limit applies to new endpoints only.
        yield* register(newPlace().organization)
        yield* alter(made[0]!, { description: "changed" })
        yield* change(deleted(made[1]!, yield* storeNow), { expected: 1 })
        yield* register(organization)
        yield* refusedWith("EndpointLimitReached", "changeEndpoint", register(organization))
      })
    )

    it.effect("that are changed need the revision that they have, and leave no trace else", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { organization } = newPlace()
        const endpoint = yield* register(organization)
        const key = claimOf("idempotency_key", newDigest())
        const other = { ...endpoint, description: "other" }
        for (const expected of ["absent", 0, 2] as const) {
          const refusal = yield* refused(
            "changeEndpoint",
            change(other, { expected, claims: [key], limit: 0 })
          )
          assert.strictEqual(refusal._tag, "Stale")
        }
        const absent = newEndpoint(organization, yield* storeNow)
        yield* refusedWith("Stale", "changeEndpoint", change(absent, { expected: 1, claims: [key] }))
        assert.deepStrictEqual(yield* loadStored(endpoint), { endpoint, revision: 1 })
        assert.notProperty(yield* store.loadEndpoint({ organization, idempotencyKey: key.name }), "held")
        const atOnce = yield* Effect.all(
          Array.from({ length: 8 }, () => Effect.result(change(other, { expected: 1 }))),
          { concurrency: "unbounded" }
        )
        assert.lengthOf(
          atOnce.filter(({ _tag }) => _tag === "Success"),
          1
        )
      })
    )

    it.effect("claim with their change, all or nothing, after Stale and before the limit", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { organization } = newPlace()
        const now = yield* storeNow
        const endpoint = newEndpoint(organization, now)
        const keys = [newDigest(), newDigest()].map((name) =>
          claimOf("idempotency_key", name, { resource: endpoint.id })
        )
        yield* change(endpoint, { expected: "absent", claims: [keys[0]!] })
        const { fingerprint, resource } = keys[0]!
        const { held } = yield* store.loadEndpoint({ organization, idempotencyKey: keys[0]!.name })
        assert.deepStrictEqual(held, { fingerprint, resource })
        const again = newEndpoint(organization, now)
        const refusal = yield* refused(
          "changeEndpoint",
          change(again, {
            expected: "absent",
            limit: 1,
            claims: [keys[1]!, claimOf("idempotency_key", keys[0]!.name)]
          })
        )
        assert.strictEqual(refusal._tag, "ClaimTaken")
        if (refusal._tag === "ClaimTaken") {
          assert.deepStrictEqual(refusal.holder, { fingerprint, resource })
        }
        const limited = yield* refused(
          "changeEndpoint",
          change(again, { expected: "absent", limit: 1, claims: [keys[1]!] })
        )
        assert.strictEqual(limited._tag, "EndpointLimitReached")
        assert.notProperty(yield* store.loadEndpoint({ organization, idempotencyKey: keys[1]!.name }), "held")
        yield* change(deleted(endpoint, now), { expected: 1, claims: [keys[1]!] })
        const later = yield* store.loadEndpoint({ organization, idempotencyKey: keys[1]!.name })
        assert.strictEqual(later.held?.resource, endpoint.id)
      })
    )

    it.effect("share their keys with the mandates of the organization, also at once", () =>
      Effect.gen(function* () {
        const mandates = yield* MandateStore
        const store = yield* WebhookStore
        const { organization } = newPlace()
        const now = yield* storeNow
        for (let round = 0; round < 4; round++) {
          const key = claimOf("idempotency_key", newDigest())
          const append = mandates.append(createdChange(newPlace({ organization }), now, { claims: [key] }))
          const registration = change(newEndpoint(organization, now), { expected: "absent", claims: [key] })
          const results = yield* Effect.all([Effect.result(append), Effect.result(registration)], {
            concurrency: "unbounded"
          })
          const refused = results.flatMap((one) => (one._tag === "Failure" ? [one.failure._tag] : []))
          assert.deepStrictEqual(refused, ["ClaimTaken"])
          const held = { fingerprint: key.fingerprint, resource: key.resource }
          const query = { organization, idempotencyKey: key.name }
          assert.deepStrictEqual((yield* mandates.load({ organization, claims: [key] })).held, [key])
          assert.deepStrictEqual((yield* store.loadEndpoint(query)).held, held)
          assert.deepStrictEqual((yield* store.loadDelivery(query)).held, held)
        }
      })
    )

    it.effect("are nobody else's", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const endpoint = yield* register(newPlace().organization)
        const event = yield* recordEvent(endpoint.organizationId)
        const [delivery] = yield* deliveriesOf(endpoint)
        assert.strictEqual(delivery?.eventId, event.id)
        const organization = newIdentifier("org_")
        const there = { organization, endpoint: endpoint.id, delivery: delivery!.id }
        assert.deepStrictEqual(Object.keys(yield* store.loadEndpoint(there)), ["now"])
        assert.deepStrictEqual(Object.keys(yield* store.loadDelivery(there)), ["now"])
        assert.deepStrictEqual(yield* store.listEndpoints(organization), [])
        assert.deepStrictEqual(yield* store.listDeliveries({ ...there, limit: 9 }), { deliveries: [] })
        const reloaded = yield* store.reload({ ...there, deliveries: [delivery!.id] })
        assert.deepStrictEqual({ ...reloaded, now: 0n }, { now: 0n, deliveries: [] })
        const foreign = { ...endpoint, organizationId: organization }
        yield* refusedWith("Stale", "changeEndpoint", change(foreign, { expected: 1 }))
        const added = { delivery: newDelivery(foreign, yield* storeNow), body: "{}", claims: [] }
        yield* refusedWith("Stale", "addDelivery", store.addDelivery({ organization, ...added }))
        const ends = { organization, endpoint: foreign, expected: 1, deliveries: [] }
        assert.deepStrictEqual(yield* store.recordAttempts([ends]), [undefined])
        // The same identifiers may be another's, too.
        yield* register(organization, { id: endpoint.id })
        yield* recordEvent(organization)
        assert.lengthOf(yield* deliveriesOf(foreign), 1)
        assert.deepStrictEqual(yield* deliveriesOf(endpoint), [delivery!])
      })
    )

    it.effect("whose identifiers no text column takes are nowhere", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { organization } = newPlace()
        for (const name of ["\u0000", "\ud800", ""]) {
          const query = { organization, endpoint: name, delivery: name, idempotencyKey: name, after: name }
          assert.deepStrictEqual(Object.keys(yield* store.loadEndpoint(query)), ["now"])
          assert.deepStrictEqual(Object.keys(yield* store.loadDelivery(query)), ["now"])
          assert.deepStrictEqual(yield* store.listDeliveries({ ...query, limit: 1 }), { deliveries: [] })
        }
      })
    )
  })

  it.describe("deliveries of events", () => {
    it.effect("are one for each endpoint that wants the type, due at once, with one body", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { organization } = newPlace()
        const all = yield* register(organization)
        const some = yield* register(organization, { eventTypes: ["mandate.revoked", "mandate.created"] })
        const none = yield* register(organization, { eventTypes: ["mandate.revoked"] })
        const gone = yield* register(organization)
        yield* change(deleted(gone, yield* storeNow), { expected: 1 })
        const before = yield* storeNow
        const event = yield* recordEvent(organization)
        const after = yield* storeNow
        assert.deepStrictEqual(yield* deliveriesOf(none), [])
        assert.deepStrictEqual(yield* deliveriesOf(gone), [])
        for (const endpoint of [all, some]) {
          const [delivery, ...more] = yield* deliveriesOf(endpoint)
          assert.deepStrictEqual(more, [])
          const { createdAt, id } = delivery!
          assert.strictEqual(id, deliveryIdOf(event.id, endpoint.id))
          assert.isTrue(before <= createdAt && createdAt <= after)
          assert.deepStrictEqual(delivery, {
            id,
            organizationId: organization,
            endpointId: endpoint.id,
            eventId: event.id,
            eventType: "mandate.created",
            createdAt,
            state: "pending",
            nextAttemptAt: createdAt,
            attempts: []
          })
          const loaded = yield* store.loadDelivery({ organization, endpoint: endpoint.id, delivery: id })
          assert.deepStrictEqual(loaded.delivery, { delivery, body: event.body })
          assert.deepStrictEqual(loaded.stored, { endpoint, revision: 1 })
        }
      })
    )

    it.effect("are not made by a change that is refused", () =>
      Effect.gen(function* () {
        const mandates = yield* MandateStore
        const { organization } = newPlace()
        const endpoint = yield* register(organization, { eventTypes: ["mandate.revoked"] })
        const current = yield* recordMandate({ organization })
        const late = followingChange(current, [revokedFact(current.now)], { recordBefore: current.now })
        yield* refusedWith("OutOfTime", "append", mandates.append(late))
        const commitment = claimOf("commitment", newDigest())
        yield* appendAndLoad(followingChange(current, [], { claims: [commitment] }))
        const next = yield* loadCurrent(late)
        const taken = followingChange(next, [revokedFact(next.now)], { claims: [commitment] })
        yield* refusedWith("ClaimTaken", "append", mandates.append(taken))
        assert.deepStrictEqual(yield* deliveriesOf(endpoint), [])
      })
    )

    it.effect("are made for every event that 64 writers record at once", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const endpoints = [yield* register(organization), yield* register(organization)]
        const events = yield* Effect.all(
          Array.from({ length: WRITERS }, () => recordEvent(organization)),
          { concurrency: "unbounded" }
        )
        for (const endpoint of endpoints) {
          const deliveries = yield* deliveriesOf(endpoint)
          assert.lengthOf(deliveries, WRITERS)
          assert.sameMembers(
            deliveries.map(({ eventId }) => eventId),
            events.map(({ id }) => id)
          )
        }
      })
    )

    it.effect(
      "are kept for a disabled endpoint for seven days, and what it missed is told until a reactivation, and for good if deleted",
      () =>
        Effect.gen(function* () {
          const { organization } = newPlace()
          const endpoint = yield* register(organization)
          const now = yield* storeNow
          yield* alter(endpoint, disabledSince(now - KEPT + HOUR))
          yield* recordEvent(organization)
          assert.lengthOf(yield* deliveriesOf(endpoint), 1)
          assert.notProperty(yield* loadStored(endpoint), "missedSince")

          yield* alter(endpoint, disabledSince(now - KEPT))
          const before = yield* storeNow
          yield* recordEvent(organization)
          const after = yield* storeNow
          const { missedSince } = yield* loadStored(endpoint)
          assert.isTrue(missedSince !== undefined && before <= missedSince && missedSince <= after)
          yield* recordEvents(organization, 2)
          yield* alter(endpoint, { description: "still disabled" })
          assert.strictEqual((yield* loadStored(endpoint)).missedSince, missedSince)
          assert.lengthOf(yield* deliveriesOf(endpoint), 1)

          const { endpoint: missing } = yield* loadStored(endpoint)
          yield* alter(endpoint, reactivated(missing, after))
          assert.notProperty(yield* loadStored(endpoint), "missedSince")
          yield* recordEvent(organization)
          assert.lengthOf(yield* deliveriesOf(endpoint), 2)
          yield* alter(endpoint, disabledSince(yield* storeNow))
          yield* recordEvent(organization)
          assert.lengthOf(yield* deliveriesOf(endpoint), 3)

          yield* alter(endpoint, disabledSince((yield* storeNow) - KEPT))
          yield* recordEvent(organization)
          const { endpoint: dying, missedSince: missed } = yield* loadStored(endpoint)
          assert.isDefined(missed)
          yield* alter(endpoint, deleted(dying, yield* storeNow))
          assert.strictEqual((yield* loadStored(endpoint)).missedSince, missed)
        })
    )

    // So many take a database too long; where the store counts the limit itself, fewer show the same.
    if (clock === "test") {
      it.effect(
        "are kept for a disabled endpoint until there are 10,000 since, several writers at once",
        () =>
          Effect.gen(function* () {
            const mandates = yield* MandateStore
            const { organization } = newPlace()
            const endpoint = yield* register(organization, { eventTypes: ["mandate.revoked"] })
            const first = yield* recordMandate({ organization })
            yield* appendAndLoad(followingChange(first, [revokedFact(first.now)]))
            const disabled = yield* alter(endpoint, disabledSince(yield* storeNow))
            const streams = yield* Effect.forEach(Array.from({ length: KEPT_DELIVERIES / MANY + 1 }), () =>
              recordMandate({ organization })
            )
            yield* Effect.forEach(
              streams,
              (current) => {
                const facts = Array.from({ length: MANY }, () => revokedFact(current.now))
                return mandates.append(followingChange(current, facts))
              },
              { concurrency: 4 }
            )
            const stored = yield* loadStored(endpoint)
            assert.deepStrictEqual(stored.endpoint, disabled)
            assert.isDefined(stored.missedSince)
            assert.lengthOf(yield* deliveriesOf(endpoint), KEPT_DELIVERIES + 1)
          })
      )
    }
  })
}
