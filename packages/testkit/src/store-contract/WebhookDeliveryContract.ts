import { MandateStore } from "@svc/domain/ports/MandateStore"
import { type LeasedDelivery, WebhookStore } from "@svc/domain/ports/WebhookStore"
import {
  afterReactivation,
  beginAttempt,
  finishAttempt,
  isDue,
  loseAttempt,
  REACTIVATION_SPREAD_SECONDS,
  type WebhookDeliveryState
} from "@svc/domain/webhook/WebhookDelivery"
import { deleted, reactivated, type WebhookEndpointState } from "@svc/domain/webhook/WebhookEndpoint"
import { type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import { claimOf, followingChange, HOUR, newDigest, newIdentifier, revokedFact } from "../StoreFixtures.ts"
import { assert } from "./Assert.ts"
import { refused, refusedWith } from "./Refused.ts"
import { newPlace, recordMandate, type StoreIt, storeNow } from "./StoreUnderTest.ts"
import {
  addWaiting,
  alter,
  change,
  deliveriesOf,
  disabledSince,
  lease,
  loadStored,
  newDelivery,
  recordEnds,
  recordEvent,
  recordEvents,
  register
} from "./WebhooksUnderTest.ts"

const SPREAD = REACTIVATION_SPREAD_SECONDS * NANOS_PER_SECOND

const namesOf = (deliveries: ReadonlyArray<WebhookDeliveryState>): ReadonlyArray<string> =>
  deliveries.map(({ id }) => id)

const leasedNames = (leased: ReadonlyArray<LeasedDelivery>): ReadonlyArray<string> =>
  namesOf(leased.map(({ delivery }) => delivery))

const countOf = (leased: ReadonlyArray<LeasedDelivery>, { id }: WebhookEndpointState): number =>
  leased.filter(({ endpoint }) => endpoint.id === id).length

/** The end of a leased attempt, and its endpoint after it. */
const ended = (
  { delivery, endpoint }: Pick<LeasedDelivery, "delivery" | "endpoint">,
  status: number,
  now: Instant
) => {
  const { token } = delivery.open!
  const result = { status, durationMs: 3 }
  const both = finishAttempt({ delivery, endpoint }, { token, result, now, uniform: 0.5 })!
  return { endpoint: both.endpoint, end: { next: both.delivery, token } }
}

const finish = Effect.fn("finish")(function* (leased: LeasedDelivery, status: number) {
  const stored = yield* loadStored(leased.endpoint)
  const { end, endpoint } = ended({ ...leased, endpoint: stored.endpoint }, status, yield* storeNow)
  yield* recordEnds({ ...stored, endpoint }, [end])
  return end.next
})

const addMany = (endpoint: WebhookEndpointState, count: number, since?: (now: Instant) => Instant) =>
  Effect.forEach(Array.from({ length: count }), () => addWaiting(endpoint, since))

export const webhookDeliveryContract = (it: StoreIt): void => {
  it.describe("deliveries", () => {
    it.effect("are added to an active endpoint alone, with what they claim", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { organization } = newPlace()
        const endpoint = yield* register(organization)
        const now = yield* storeNow
        const delivery = newDelivery(endpoint, now, { nextAttemptAt: now + HOUR })
        const key = claimOf("idempotency_key", newDigest(), { resource: delivery.id })
        const body = '{"caf\u00e9":" \u{1f600}\\u0000 "}'
        yield* store.addDelivery({ organization, delivery, body, claims: [key] })
        const loaded = yield* store.loadDelivery({
          organization,
          endpoint: endpoint.id,
          delivery: delivery.id,
          idempotencyKey: key.name
        })
        assert.deepStrictEqual(loaded.delivery, { delivery, body })
        assert.deepStrictEqual(loaded.stored, { endpoint, revision: 1 })
        assert.deepStrictEqual(loaded.held, { fingerprint: key.fingerprint, resource: key.resource })
        const other = { organization, delivery: newDelivery(endpoint, now), body, claims: [key] }
        const taken = yield* refused("addDelivery", store.addDelivery(other))
        assert.strictEqual(taken._tag, "ClaimTaken")
        yield* alter(endpoint, disabledSince(now))
        const unclaimed = claimOf("idempotency_key", newDigest())
        yield* refusedWith("Stale", "addDelivery", store.addDelivery(other))
        const stale = store.addDelivery({ ...other, claims: [unclaimed] })
        yield* refusedWith("Stale", "addDelivery", stale)
        const { held } = yield* store.loadEndpoint({ organization, idempotencyKey: unclaimed.name })
        assert.isUndefined(held)
        assert.deepStrictEqual(yield* deliveriesOf(endpoint), [delivery])
      })
    )

    it.effect("are listed newest first in pages, which those that come meanwhile do not disturb", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { organization } = newPlace()
        const endpoint = yield* register(organization)
        const query = { organization, endpoint: endpoint.id, limit: 3 }
        assert.deepStrictEqual(yield* store.listDeliveries(query), {
          stored: { endpoint, revision: 1 },
          deliveries: []
        })
        const names = namesOf(yield* addMany(endpoint, 10))
          .toSorted()
          .toReversed()
        const met: Array<string> = []
        let after: string | undefined
        for (;;) {
          const page = yield* store.listDeliveries({ ...query, ...(after === undefined ? {} : { after }) })
          met.push(...namesOf(page.deliveries).slice(0, query.limit))
          if (page.deliveries.length <= query.limit) break
          after = met.at(-1)!
          // Identifiers begin with the time, so that what comes later comes before the first.
          const later = newDelivery(endpoint, yield* storeNow, {
            id: `dlv_7${newIdentifier("dlv_").slice(5)}`
          })
          yield* store.addDelivery({ organization, delivery: later, body: "{}", claims: [] })
        }
        assert.deepStrictEqual(met, names)
        assert.lengthOf(yield* deliveriesOf(endpoint), 13)
      })
    )

    it.effect("are given to a worker when they are due, with the attempt open", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { organization } = newPlace()
        const endpoint = yield* register(organization, { generation: 3 })
        const event = yield* recordEvent(organization)
        const future = yield* addWaiting(endpoint, (now) => now + HOUR)
        const waiting = yield* deliveriesOf(endpoint)
        const before = yield* storeNow
        const { leased, token } = yield* lease([endpoint], { lasts: 7n * NANOS_PER_SECOND })
        const after = yield* storeNow
        assert.lengthOf(leased, 1)
        const [{ body, delivery, ...stored }] = leased as [LeasedDelivery]
        const { open } = delivery
        assert.deepStrictEqual(stored, { endpoint, revision: 1 })
        assert.strictEqual(body, event.body)
        const due = waiting.find(({ eventId }) => eventId === event.id)!
        const lasts = 7n * NANOS_PER_SECOND
        assert.isTrue(isDue(due, endpoint, open!.at))
        assert.deepStrictEqual(delivery, beginAttempt(due, endpoint, { token, now: open!.at, lasts }))
        assert.isTrue(before <= open!.at && open!.at <= after)
        assert.strictEqual(open!.generation, 3)
        const asNow = yield* store.reload({
          organization,
          endpoint: endpoint.id,
          deliveries: [delivery.id, newIdentifier("dlv_"), future.id]
        })
        assert.isTrue(asNow.now >= open!.at)
        assert.deepStrictEqual(asNow.stored, { endpoint, revision: 1 })
        assert.deepStrictEqual(asNow.deliveries, [delivery, future])
        assert.deepStrictEqual((yield* lease([endpoint])).leased, [])
      })
    )

    it.effect("are not given while their endpoint is not active", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const disabled = yield* register(organization)
        const gone = yield* register(organization)
        yield* recordEvents(organization, 3)
        yield* alter(disabled, disabledSince(yield* storeNow))
        yield* change(deleted(gone, yield* storeNow), { expected: 1 })
        yield* recordEvent(organization)
        for (let times = 0; times < 3; times++) {
          assert.deepStrictEqual((yield* lease([disabled, gone])).leased, [])
        }
        const states = (yield* deliveriesOf(gone)).map(({ state }) => state)
        assert.deepStrictEqual(states, ["pending", "pending", "pending"])
        const { endpoint } = yield* loadStored(disabled)
        yield* alter(disabled, reactivated(endpoint, yield* storeNow))
        const { leased } = yield* lease([disabled, gone])
        assert.lengthOf(leased, 4)
        assert.isTrue(leased.every(({ delivery }) => delivery.open?.generation === 1))
      })
    )

    it.effect("are given to one worker each, however many lease at once", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const endpoints = yield* Effect.forEach([1, 2, 3, 4], () => register(organization))
        yield* recordEvents(organization, 10)
        const held: Array<string> = []
        const worker = Effect.gen(function* () {
          for (let empty = 0; empty < 3; ) {
            const { leased } = yield* lease(endpoints, { limit: 3 })
            held.push(...leasedNames(leased))
            if (leased.length === 0) empty += 1
          }
        })
        yield* Effect.all(
          Array.from({ length: 6 }, () => worker),
          { concurrency: "unbounded", discard: true }
        )
        held.push(...leasedNames((yield* lease(endpoints)).leased))
        assert.lengthOf(held, 40)
        assert.strictEqual(new Set(held).size, 40)
      })
    )

    it.effect("are under way no more than so many of an endpoint, however many lease at once", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const endpoint = yield* register(organization)
        yield* recordEvents(organization, 8)
        const atOnce = yield* Effect.all(
          Array.from({ length: 5 }, () => lease([endpoint], { perEndpoint: 3 })),
          { concurrency: "unbounded" }
        )
        const leased = atOnce.flatMap((one) => one.leased)
        leased.push(...(yield* lease([endpoint], { perEndpoint: 3 })).leased)
        assert.lengthOf(leased, 3)
        assert.lengthOf((yield* lease([endpoint], { perEndpoint: 3 })).leased, 0)
        yield* finish(leased[0]!, 204)
        yield* finish(leased[1]!, 500)
        assert.lengthOf((yield* lease([endpoint], { perEndpoint: 3 })).leased, 2)
        assert.lengthOf((yield* lease([endpoint], { perEndpoint: 4 })).leased, 1)
      })
    )

    it.effect("are under way as many as is said of the endpoint, where that differs from the others", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const quick = yield* register(organization)
        const other = yield* register(organization)
        yield* recordEvents(organization, 8)
        const all = [quick, other]
        const bounds = new Map([[quick.id, 5]])
        const of = (leased: ReadonlyArray<LeasedDelivery>, { id }: WebhookEndpointState) =>
          leased.filter(({ endpoint }) => endpoint.id === id).length
        const first = (yield* lease(all, { perEndpoint: 2, bounds })).leased
        assert.deepStrictEqual([of(first, quick), of(first, other)], [5, 2])
        assert.lengthOf((yield* lease(all, { perEndpoint: 2, bounds })).leased, 0)
        const more = (yield* lease(all, { perEndpoint: 3, bounds: new Map([[quick.id, 6]]) })).leased
        assert.deepStrictEqual([of(more, quick), of(more, other)], [1, 1])
      })
    )

    it.effect("are under way no more than so many of an organization, its deleted endpoints included", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const one = yield* register(organization)
        const other = yield* register(organization)
        const elsewhere = yield* register(newPlace().organization)
        for (const endpoint of [one, other, elsewhere]) yield* addMany(endpoint, 8)
        const all = [one, other, elsewhere]
        const first = yield* lease(all, { perOrganization: 5 })
        assert.strictEqual(countOf(first.leased, elsewhere), 5)
        assert.strictEqual(countOf(first.leased, one) + countOf(first.leased, other), 5)
        assert.isAtLeast(Math.min(countOf(first.leased, one), countOf(first.leased, other)), 2)
        assert.deepStrictEqual((yield* lease(all, { perOrganization: 5 })).leased, [])
        yield* change(deleted(one, yield* storeNow), { expected: 1 })
        assert.deepStrictEqual((yield* lease(all, { perOrganization: 5 })).leased, [])
        const ofDeleted = first.leased.find(({ endpoint }) => endpoint.id === one.id)!
        yield* finish(ofDeleted, 204)
        const next = yield* lease(all, { perOrganization: 5 })
        assert.deepStrictEqual(
          next.leased.map(({ endpoint }) => endpoint.id),
          [other.id]
        )
        // But an endpoint has its assured attempts, whatever the others have.
        const third = yield* register(organization)
        yield* addMany(third, 8)
        assert.deepStrictEqual((yield* lease(all.concat(third), { perOrganization: 5 })).leased, [])
        const assured = yield* lease(all.concat(third), { perOrganization: 5, assured: 2 })
        assert.deepStrictEqual(
          assured.leased.map(({ endpoint }) => endpoint.id),
          [third.id, third.id]
        )
        assert.deepStrictEqual((yield* lease([third], { perOrganization: 5, assured: 2 })).leased, [])
      })
    )

    it.effect("come first where least is under way", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const busy = yield* register(organization)
        yield* addMany(busy, 5, (now) => now - HOUR)
        yield* lease([busy], { limit: 2 })
        const idle = yield* register(newPlace().organization)
        yield* addMany(idle, 3)
        const { leased } = yield* lease([busy, idle], { limit: 3 })
        assert.deepStrictEqual([countOf(leased, busy), countOf(leased, idle)], [1, 2])
        assert.deepStrictEqual(leased[0]!.endpoint.id, idle.id)
      })
    )

    it.effect("of full endpoints come in turns, and those of another wait for none of them", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const full = yield* Effect.forEach([1, 2, 3, 4], () => register(organization))
        for (const endpoint of full) yield* addMany(endpoint, 8, (now) => now - HOUR)
        const fast = yield* register(organization)
        const urgent = yield* addWaiting(fast)
        const all = [...full, fast]
        const { leased } = yield* lease(all, { limit: 10 })
        assert.strictEqual(countOf(leased, fast), 1)
        assert.deepStrictEqual(full.map((endpoint) => countOf(leased, endpoint)).toSorted(), [2, 2, 2, 3])
        // Four endpoints that do not respond have as many attempts as they may; due deliveries of others are still found.
        yield* finish(leased.find(({ endpoint }) => endpoint.id === fast.id)!, 204)
        yield* lease(all, { perEndpoint: 3 })
        const next = yield* addWaiting(fast)
        const behind = yield* lease(all, { limit: 1, perEndpoint: 3 })
        assert.deepStrictEqual(leasedNames(behind.leased), [next.id])
        assert.notStrictEqual(urgent.id, next.id)
      })
    )

    it.effect("of an endpoint that has more than its share are leased where others have less", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const [long, ...short] = yield* Effect.forEach([1, 2, 3, 4, 5], () => register(organization))
        yield* addMany(long!, 12)
        for (const endpoint of short) yield* addMany(endpoint, 1)
        const all = [long!, ...short]
        const { leased } = yield* lease(all, { limit: 10 })
        assert.deepStrictEqual(
          all.map((endpoint) => countOf(leased, endpoint)),
          [6, 1, 1, 1, 1]
        )
        // What is open already is part of a share.
        for (const endpoint of short) yield* addMany(endpoint, 4)
        const next = yield* lease(all, { limit: 10 })
        const counts = all.map((endpoint) => countOf(next.leased, endpoint))
        assert.deepStrictEqual(counts.toSorted(), [0, 2, 2, 3, 3])
        assert.strictEqual(counts[0], 0)
        const rest = yield* lease(all)
        assert.lengthOf(rest.leased, 12)
      })
    )

    it.effect("that wait longest come first", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const one = yield* register(organization)
        const other = yield* register(organization)
        const third = yield* addWaiting(one, (now) => now - 80n * HOUR)
        const second = yield* addWaiting(one, (now) => now - 90n * HOUR)
        const first = yield* addWaiting(other, (now) => now - 100n * HOUR)
        yield* addWaiting(other, (now) => now - 1n)
        const { leased } = yield* lease([one, other], { limit: 2 })
        assert.deepStrictEqual(leasedNames(leased), [first.id, second.id])
        const later = yield* lease([one, other], { limit: 1 })
        assert.deepStrictEqual(leasedNames(later.leased), [third.id])
      })
    )

    it.effect("are told once their attempt has expired, until its end is recorded", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { organization } = newPlace()
        const endpoint = yield* register(organization)
        yield* recordEvents(organization, 2)
        const lost = yield* lease([endpoint], { limit: 1, lasts: 0n })
        const held = yield* lease([endpoint], { limit: 1, lasts: HOUR })
        const expired = Effect.map(store.expiredAttempts({ limit: 1000 }), (answer) => ({
          ...answer,
          expired: answer.expired.filter((one) => one.endpoint.id === endpoint.id)
        }))
        const found = yield* expired
        const [{ body: _, ...only }] = lost.leased as [LeasedDelivery]
        assert.deepStrictEqual(found.expired, [only])
        assert.isTrue(found.now >= only.delivery.open!.expiresAt)
        assert.lengthOf((yield* store.expiredAttempts({ limit: 0 })).expired, 0)
        // No worker has it until then.
        assert.deepStrictEqual((yield* lease([endpoint])).leased, [])
        const next = loseAttempt(only.delivery, found.now, 0.5)!
        yield* recordEnds(only, [{ next, token: lost.token }])
        assert.deepStrictEqual((yield* expired).expired, [])
        const deliveries = yield* deliveriesOf(endpoint)
        assert.deepStrictEqual(
          deliveries.find(({ id }) => id === next.id),
          next
        )
        assert.lengthOf(held.leased, 1)
        // The worker that was taken for lost comes too late.
        const late = ended(only, 204, found.now)
        const stored = yield* loadStored(endpoint)
        yield* refusedWith("Stale", "recordAttempts", recordEnds(stored, [late.end]))
      })
    )

    it.effect("end together with their endpoint, all or nothing", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { organization } = newPlace()
        const endpoint = yield* register(organization)
        yield* recordEvents(organization, 3)
        const { leased } = yield* lease([endpoint])
        const now = yield* storeNow
        const statuses = [204, 500, 410]
        let state: WebhookEndpointState = endpoint
        const ends = leased.map(({ delivery }, at) => {
          const one = ended({ delivery, endpoint: state }, statuses[at]!, now)
          state = one.endpoint
          return one.end
        })
        const stored = { endpoint: state, revision: 1 }
        const mistaken = [ends[0]!, { ...ends[1]!, token: newDigest() }]
        yield* refusedWith("Stale", "recordAttempts", recordEnds(stored, mistaken))
        const unknown = [ends[0]!, { ...ends[1]!, next: { ...ends[1]!.next, id: newIdentifier("dlv_") } }]
        yield* refusedWith("Stale", "recordAttempts", recordEnds(stored, unknown))
        yield* refusedWith("Stale", "recordAttempts", recordEnds({ ...stored, revision: 2 }, ends))
        assert.deepStrictEqual(yield* loadStored(endpoint), { endpoint, revision: 1 })
        const ids = namesOf(ends.map(({ next }) => next))
        const reload = Effect.map(
          store.reload({ organization, endpoint: endpoint.id, deliveries: ids }),
          ({ deliveries }) => deliveries
        )
        assert.deepStrictEqual(
          yield* reload,
          leased.map(({ delivery }) => delivery)
        )
        assert.deepStrictEqual(yield* recordEnds(stored, ends), { revision: 2 })
        assert.deepStrictEqual(yield* loadStored(endpoint), { endpoint: state, revision: 2 })
        assert.strictEqual(state.consecutiveFailedAttempts, 2)
        assert.deepStrictEqual(
          yield* reload,
          ends.map(({ next }) => next)
        )
        yield* refusedWith("Stale", "recordAttempts", recordEnds({ endpoint: state, revision: 2 }, ends))
        // What failed waits for its next attempt; what arrived is done.
        assert.deepStrictEqual((yield* lease([endpoint])).leased, [])
        const again = yield* recordEnds({ endpoint: state, revision: 2 }, [])
        assert.deepStrictEqual(again, { revision: 3 })
      })
    )

    it.effect("of several endpoints end in one write, those of each all or nothing", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const places = [newPlace(), newPlace(), newPlace(), newPlace()]
        const endpoints = yield* Effect.forEach(places, ({ organization }) => register(organization))
        for (const { organization } of places) yield* recordEvents(organization, 2)
        const { leased } = yield* lease(endpoints)
        const now = yield* storeNow
        const statuses = [204, 500]
        const ends = endpoints.map((endpoint) => {
          let state: WebhookEndpointState = endpoint
          const deliveries = leased
            .filter((one) => one.endpoint.id === endpoint.id)
            .map(({ delivery }, at) => {
              const one = ended({ delivery, endpoint: state }, statuses[at]!, now)
              state = one.endpoint
              return one.end
            })
          return { organization: endpoint.organizationId, endpoint: state, expected: 1, deliveries }
        })
        const [good, old, unleased, disabling] = ends as [(typeof ends)[0], ...typeof ends]
        const mistaken = [old!.deliveries[0]!, { ...old!.deliveries[1]!, token: newDigest() }]
        const disabled = { ...disabling!.endpoint, ...disabledSince(now) }
        const given = [
          good,
          { ...old!, deliveries: mistaken },
          { ...unleased!, expected: 2 },
          { ...disabling!, endpoint: disabled }
        ]
        assert.deepStrictEqual(yield* store.recordAttempts(given), [2, undefined, undefined, 2])
        assert.deepStrictEqual(yield* loadStored(good.endpoint), { endpoint: good.endpoint, revision: 2 })
        assert.sameDeepMembers(
          [...(yield* deliveriesOf(good.endpoint))],
          good.deliveries.map(({ next }) => next)
        )
        for (const { endpoint } of [old!, unleased!]) {
          const before = endpoints.find(({ id }) => id === endpoint.id)!
          assert.deepStrictEqual(yield* loadStored(before), { endpoint: before, revision: 1 })
          assert.isTrue((yield* deliveriesOf(before)).every(({ open }) => open !== undefined))
        }
        assert.deepStrictEqual(yield* loadStored(disabled), { endpoint: disabled, revision: 2 })
        yield* recordEvent(disabled.organizationId)
        assert.lengthOf(yield* deliveriesOf(disabled), 3)
        assert.deepStrictEqual(yield* store.recordAttempts([]), [])
        assert.deepStrictEqual(yield* store.recordAttempts([old!, unleased!]), [2, 2])
        assert.deepStrictEqual(yield* store.recordAttempts([good, old!]), [undefined, undefined])
        assert.deepStrictEqual(
          (yield* lease(endpoints)).leased,
          [],
          "a second end of each is due later, and nothing is due at the disabled one"
        )
      })
    )

    it.effect("end once, though two record an end of different ones at once", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const endpoint = yield* register(organization)
        yield* recordEvents(organization, 6)
        const { leased } = yield* lease([endpoint])
        const record = (one: LeasedDelivery) =>
          Effect.retry(finish(one, 500), { while: ({ _tag }) => _tag === "Stale" })
        yield* Effect.all(leased.map(record), { concurrency: "unbounded" })
        const { endpoint: after, revision } = yield* loadStored(endpoint)
        assert.strictEqual(after.consecutiveFailedAttempts, 6)
        assert.strictEqual(revision, 7)
      })
    )

    it.effect("that are due at a reactivation come evenly within a minute, the others as they were", () =>
      Effect.gen(function* () {
        const { organization } = newPlace()
        const endpoint = yield* register(organization)
        const future = yield* addWaiting(endpoint, (now) => now + HOUR)
        yield* addMany(endpoint, 6)
        const { leased } = yield* lease([endpoint], { limit: 2 })
        yield* alter(endpoint, disabledSince(yield* storeNow))
        yield* lease([endpoint])
        yield* recordEvents(organization, 6)
        const stored = yield* loadStored(endpoint)
        const before = yield* deliveriesOf(endpoint)
        const now = yield* storeNow
        yield* alter(endpoint, reactivated(stored.endpoint, now), { now, over: SPREAD })
        const moved = new Map(afterReactivation(before, { now, over: SPREAD }).map((next) => [next.id, next]))
        assert.strictEqual(moved.size, 10)
        assert.isFalse(moved.has(future.id) || leased.some(({ delivery }) => moved.has(delivery.id)))
        assert.deepStrictEqual(
          yield* deliveriesOf(endpoint),
          before.map((delivery) => moved.get(delivery.id) ?? delivery)
        )
      })
    )

    it.effect("are none lost that are recorded while their endpoint is disabled and active again", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const { organization } = newPlace()
        const endpoint = yield* register(organization, { eventTypes: ["mandate.revoked"] })
        const streams = yield* Effect.forEach(Array.from({ length: 40 }), () =>
          recordMandate({ organization })
        )
        const toggle = Effect.gen(function* () {
          for (let times = 0; times < 4; times++) {
            yield* alter(endpoint, disabledSince(yield* storeNow))
            yield* lease([], { limit: 3 })
            const { endpoint: current } = yield* loadStored(endpoint)
            yield* alter(endpoint, reactivated(current, yield* storeNow))
          }
        })
        const writes = streams.map((current) =>
          store.append(followingChange(current, [revokedFact(current.now)]))
        )
        yield* Effect.all([toggle, ...writes], { concurrency: 8 })
        const deliveries = yield* deliveriesOf(endpoint)
        assert.lengthOf(deliveries, streams.length)
        const waiting = deliveries.filter(({ open }) => open === undefined)
        const { leased } = yield* lease([endpoint])
        assert.sameMembers([...leasedNames(leased)], [...namesOf(waiting)])
      })
    )
  })
}
