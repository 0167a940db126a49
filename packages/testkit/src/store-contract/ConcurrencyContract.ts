import { MandateStore, type StreamChange } from "@svc/domain/ports/MandateStore"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { verifyEventHash } from "@svc/protocol/evidence/EventHash"
import { Effect, Result } from "effect"
import {
  claimOf,
  createdChange,
  followingChange,
  newAuthorization,
  newDigest,
  newSubject,
  reservingChange,
  revokedFact
} from "../StoreFixtures.ts"
import { assert } from "./Assert.ts"
import {
  loadCurrent,
  newPlace,
  observe,
  PLENTY,
  recordMandate,
  type StoreIt,
  storeNow
} from "./StoreUnderTest.ts"

const WRITERS = 25

/** Appends all at once, and gives the tags of those that were refused; the others are counted as "Appended". */
const race = Effect.fn("race")(function* (changes: ReadonlyArray<StreamChange>) {
  const store = yield* MandateStore
  const results = yield* Effect.forEach(changes, (change) => Effect.result(store.append(change)), {
    concurrency: "unbounded"
  })
  return results.map((result) => (Result.isSuccess(result) ? "Appended" : result.failure._tag)).toSorted()
})

const oneOf = (changes: number, refusal: string): ReadonlyArray<string> =>
  ["Appended", ...Array.from({ length: changes - 1 }, () => refusal)].toSorted()

export const concurrencyContract = (it: StoreIt): void => {
  it.describe("concurrency", () => {
    it.effect("lets exactly one of two changes win that were decided at one revision", () =>
      Effect.gen(function* () {
        for (let round = 0; round < 10; round++) {
          const current = yield* recordMandate()
          const changes = ["this", "that"].map((reason) =>
            followingChange(current, [revokedFact(current.now, reason)])
          )
          assert.deepStrictEqual(yield* race(changes), oneOf(2, "Stale"))
          const { stream } = yield* loadCurrent(changes[0]!)
          assert.strictEqual(stream.revision, 2)
          assert.include(
            changes.map(({ headAfter }) => headAfter.hash),
            stream.head.hash
          )
        }
      })
    )

    it.effect("lets exactly one creation of a mandate win", () =>
      Effect.gen(function* () {
        const place = newPlace()
        const now = yield* storeNow
        const changes = Array.from({ length: 10 }, () => createdChange(place, now))
        assert.deepStrictEqual(yield* race(changes), oneOf(10, "Stale"))
      })
    )

    it.effect(`records ${WRITERS} changes one after another when each starts again at Stale`, () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const { stream } = yield* recordMandate()
        const place = { organization: stream.organization, mandate: stream.state.mandate.terms.mandate_id }
        const write = Effect.gen(function* () {
          const current = yield* loadCurrent(place)
          yield* Effect.yieldNow
          const order = current.stream.state.mandate.authorizationCount + 1
          yield* store.append(reservingChange(current, [newAuthorization(order, current.now)]))
        }).pipe(Effect.retry({ while: ({ _tag }) => _tag === "Stale" }))
        yield* Effect.replicateEffect(write, WRITERS, { concurrency: "unbounded" })

        const after = yield* loadCurrent(place)
        assert.strictEqual(after.stream.revision, WRITERS + 1)
        assert.strictEqual(after.stream.state.mandate.authorizationCount, WRITERS)
        const orders = Array.from({ length: WRITERS }, (_, index) => index + 1)
        assert.deepStrictEqual(
          after.stream.state.open.map(({ order }) => order),
          orders
        )
        const texts = yield* store.journal({ ...place, afterSeq: 0, uptoSeq: PLENTY, limit: PLENTY })
        const events = texts.map((text) => JSON.parse(text))
        assert.deepStrictEqual(
          events.map(({ seq }) => seq),
          [...orders, WRITERS + 1]
        )
        assert.isTrue(events.every(verifyEventHash))
        events.slice(1).forEach(({ previous_hash }, index) => {
          assert.strictEqual(previous_hash, events[index].hash)
        })
        assert.strictEqual(events.at(-1).hash, after.stream.head.hash)
      })
    )

    it.effect(
      "gives each of many changes that come at once its own result, and leaves no trace of the refused",
      () =>
        Effect.gen(function* () {
          const store = yield* MandateStore
          const { organization } = newPlace()
          const now = yield* storeNow
          const taken = newDigest()
          yield* store.append(
            createdChange(newPlace({ organization }), now, { claims: [claimOf("commitment", taken)] })
          )
          const currents = yield* Effect.replicateEffect(recordMandate({ organization }), WRITERS)
          const ways = [
            // Free claims before and after the taken one, which must still be free afterwards.
            [
              "ClaimTaken",
              { claims: [newDigest(), taken, newDigest()].map((name) => claimOf("commitment", name)) }
            ],
            ["OutOfTime", { recordBefore: now, claims: [claimOf("commitment", newDigest())] }],
            ["Stale", { expected: 7, claims: [claimOf("commitment", newDigest())] }],
            ["Appended", { claims: [claimOf("commitment", newDigest())] }],
            ["Appended", {}]
          ] as const
          const cases = currents.flatMap((current, index) => {
            const [existing, existingParts] = ways[index % ways.length]!
            const [made, madeParts] = ways[(index + 1) % ways.length]!
            const uses = index < ways.length ? existingParts : { ...existingParts, claims: [] }
            const order = current.stream.state.mandate.authorizationCount + 1
            return [
              {
                result: index < ways.length || existing !== "ClaimTaken" ? existing : "Appended",
                change: reservingChange(current, [newAuthorization(order, current.now)], uses)
              },
              {
                result: made === "Stale" || made === "ClaimTaken" ? "Appended" : made,
                change: createdChange(newPlace({ organization }), now, {
                  ...("recordBefore" in madeParts ? { recordBefore: now } : {}),
                  claims: [claimOf("idempotency_key", newDigest())]
                })
              }
            ]
          })
          const before = yield* Effect.forEach(cases, ({ change }) => observe(change))
          const results = yield* Effect.forEach(cases, ({ change }) => Effect.result(store.append(change)), {
            concurrency: "unbounded"
          })
          assert.deepStrictEqual(
            results.map((result) => (Result.isSuccess(result) ? "Appended" : result.failure._tag)),
            cases.map(({ result }) => result)
          )
          for (const [at, { change, result }] of cases.entries()) {
            const after = yield* store.load({ organization, stream: { mandate: change.mandate } })
            const then = before[at]!.stream
            if (result === "Appended") assert.strictEqual(after.stream?.head.hash, change.headAfter.hash)
            else assert.deepStrictEqual(after.stream, then)
            for (const claim of change.claims.filter(({ name }) => name !== taken)) {
              const again = createdChange(newPlace({ organization }), now, { claims: [claim] })
              const [tag] = yield* race([again])
              assert.strictEqual(tag, result === "Appended" ? "ClaimTaken" : "Appended")
            }
          }
        })
    )

    it.effect("gives one claim to exactly one of many mandates", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const { organization } = newPlace()
        const now = yield* storeNow
        const name = `POST /v1/mandates ${newDigest()}`
        const changes = Array.from({ length: 20 }, () => {
          const place = newPlace({ organization })
          const claim = claimOf("idempotency_key", name, { resource: place.mandate })
          return createdChange(place, now, { claims: [claim] })
        })
        assert.deepStrictEqual(yield* race(changes), oneOf(20, "ClaimTaken"))
        const { mandates } = yield* store.listMandates({ organization, limit: PLENTY })
        const { held } = yield* store.load({ organization, claims: [{ kind: "idempotency_key", name }] })
        assert.deepStrictEqual(
          mandates.map(({ terms }) => terms.mandate_id),
          held.map(({ resource }) => resource)
        )
      })
    )

    it.effect("does not stall on claims that are made in opposite orders", () =>
      Effect.gen(function* () {
        const now = yield* storeNow
        for (let round = 0; round < 10; round++) {
          const { organization } = newPlace()
          const names = [newDigest(), newDigest(), newDigest()]
          const changes = [names, names.toReversed()].map((ordered) =>
            createdChange(newPlace({ organization }), now, {
              claims: ordered.map((name) => claimOf("commitment", name))
            })
          )
          assert.deepStrictEqual(yield* race(changes), oneOf(2, "ClaimTaken"))
        }
      })
    )

    it.effect("lets exactly one change of a subject win, from whichever stream or port it comes", () =>
      Effect.gen(function* () {
        const subjects = yield* SubjectStore
        const { organization, subjectReference: reference } = newPlace()
        const place = { organization, subjectReference: reference }
        const first = yield* recordMandate(place, () => ({
          subject: { reference, expected: "absent", next: newSubject() }
        }))
        const second = yield* recordMandate(place)
        const changes = [first, second].map((current) =>
          followingChange(current, [], {
            subject: { reference, expected: 1, next: newSubject({ revision: 2 }) }
          })
        )
        const retire = subjects.replace({ ...place, expected: 1, next: newSubject({ revision: 2 }) })
        const [appended, replaced] = yield* Effect.all([race(changes), Effect.result(retire)], {
          concurrency: "unbounded"
        })
        const wins =
          appended.filter((tag) => tag === "Appended").length + (Result.isSuccess(replaced) ? 1 : 0)
        assert.strictEqual(wins, 1)
        assert.strictEqual((yield* subjects.load(place)).subject?.revision, 2)
      })
    )
  })
}
