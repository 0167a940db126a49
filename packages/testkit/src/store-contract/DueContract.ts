import { DueLeases } from "@svc/domain/ports/DueLeases"
import { DUE_STREAMS_PER_LIST, MandateStore } from "@svc/domain/ports/MandateStore"
import { type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { followingChange, HOUR, newDigest, newIdentifier } from "../StoreFixtures.ts"
import { assert } from "./Assert.ts"
import {
  appendAndLoad,
  everyDue,
  loadCurrent,
  recordMandate,
  type StoreClock,
  type StoreIt
} from "./StoreUnderTest.ts"

/** Records a mandate whose next transition is due at the given instant; gives its identifier. */
export const recordDue = Effect.fn("recordDue")(function* (
  organization: string,
  nextDue: (now: Instant) => Instant | undefined,
  subjectReference = "somebody"
) {
  const { stream } = yield* recordMandate({ organization, subjectReference }, (now) => ({
    nextDue: nextDue(now)
  }))
  return stream.state.mandate.terms.mandate_id
})

const ago = (time: Instant) => (now: Instant) => now - time

/** What a worker would be given of one organization. */
const dueOf = Effect.fn("dueOf")(function* (organization: string) {
  const due = yield* everyDue
  return due.filter((stream) => stream.organization === organization).map(({ mandate }) => mandate)
})

export const dueContract = (it: StoreIt, clock: StoreClock): void => {
  it.describe("due", () => {
    it.effect("earliest first, without those that are due later or never", () =>
      Effect.gen(function* () {
        const organization = newIdentifier("org_")
        const third = yield* recordDue(organization, ago(HOUR))
        yield* recordDue(organization, (now) => now + HOUR)
        const first = yield* recordDue(organization, ago(3n * HOUR))
        yield* recordDue(organization, () => undefined)
        const second = yield* recordDue(organization, ago(2n * HOUR))
        const fourth = yield* recordDue(organization, (now) => now)
        assert.deepStrictEqual(yield* dueOf(organization), [first, second, third, fourth])
      })
    )

    it.effect("over all organizations, at most as many as asked for, the earliest of all", () =>
      Effect.gen(function* () {
        const leases = yield* DueLeases
        const organizations = Array.from({ length: 4 }, () => newIdentifier("org_"))
        for (const organization of organizations) yield* recordDue(organization, ago(HOUR))
        const all = yield* everyDue
        for (const organization of organizations) {
          assert.include(
            all.map((stream) => stream.organization),
            organization
          )
        }
        for (const limit of [1, 2, 3]) {
          const token = newDigest()
          const streams = yield* leases.take({ token, limit, lasts: HOUR })
          assert.deepStrictEqual(streams, all.slice(0, limit))
          yield* leases.release({ token, streams })
        }
      })
    )

    it.effect("a stream is due no more once its transition is recorded", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const organization = newIdentifier("org_")
        const mandate = yield* recordDue(organization, ago(1n))
        assert.deepStrictEqual(yield* dueOf(organization), [mandate])
        const current = yield* loadCurrent({ organization, mandate })
        const later = yield* appendAndLoad(followingChange(current, [], { nextDue: current.now + HOUR }))
        assert.deepStrictEqual(yield* dueOf(organization), [])
        const again = yield* appendAndLoad(followingChange(later, [], { nextDue: current.now - HOUR }))
        assert.deepStrictEqual(yield* dueOf(organization), [mandate])
        yield* store.append(followingChange(again, [], { nextDue: undefined }))
        assert.deepStrictEqual(yield* dueOf(organization), [])
      })
    )

    it.effect("a list names the due streams that it could show", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const organization = newIdentifier("org_")
        const late = yield* recordDue(organization, ago(HOUR))
        const early = yield* recordDue(organization, ago(2n * HOUR))
        yield* recordDue(organization, (now) => now + HOUR)
        const others = yield* recordDue(organization, ago(3n * HOUR), "somebody else")
        yield* recordDue(newIdentifier("org_"), ago(4n * HOUR))
        const due = (query: object) =>
          Effect.map(store.listMandates({ organization, limit: 1, ...query }), (list) => list.due)
        assert.deepStrictEqual(yield* due({}), [others, early, late])
        assert.deepStrictEqual(yield* due({ subjectReference: "somebody" }), [early, late])
        assert.deepStrictEqual(yield* due({ subjectReference: "somebody else" }), [others])
        assert.deepStrictEqual(yield* due({ subjectReference: "nobody" }), [])
        // The transition may bring a mandate into the state asked for.
        assert.deepStrictEqual(yield* due({ state: "EXPIRED" }), [others, early, late])
        assert.deepStrictEqual(yield* due({ after: early }), [late])
      })
    )

    it.effect("a list names a bounded number of due streams, earliest first", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const organization = newIdentifier("org_")
        const count = DUE_STREAMS_PER_LIST + 3
        const places = Array.from({ length: count }, (_, index) => index)
        const recorded = yield* Effect.forEach(
          places,
          (index) => recordDue(organization, ago(BigInt(count - index) * NANOS_PER_SECOND * 60n)),
          { concurrency: 8 }
        )
        const { due } = yield* store.listMandates({ organization, limit: 1 })
        assert.deepStrictEqual(due, recorded.slice(0, DUE_STREAMS_PER_LIST + 1))
      })
    )

    it.effect("a list of authorizations says whether its mandate is due", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const organization = newIdentifier("org_")
        const isDue = (mandate: string) =>
          Effect.map(store.listAuthorizations({ organization, mandate, limit: 1 }), (list) => list?.due)
        assert.strictEqual(yield* isDue(yield* recordDue(organization, ago(1n))), true)
        assert.strictEqual(yield* isDue(yield* recordDue(organization, (now) => now)), true)
        assert.strictEqual(yield* isDue(yield* recordDue(organization, (now) => now + HOUR)), false)
        assert.strictEqual(yield* isDue(yield* recordDue(organization, () => undefined)), false)
      })
    )

    if (clock === "test") {
      it.effect("a stream is due at the very nanosecond, not before", () =>
        Effect.gen(function* () {
          const store = yield* MandateStore
          const organization = newIdentifier("org_")
          const mandate = yield* recordDue(organization, (now) => now + NANOS_PER_SECOND)
          const due = Effect.gen(function* () {
            const mandates = yield* store.listMandates({ organization, limit: 1 })
            const authorizations = yield* store.listAuthorizations({ organization, mandate, limit: 1 })
            return [yield* dueOf(organization), mandates.due, authorizations?.due]
          })
          yield* TestClock.adjust("999999999 nanos")
          assert.deepStrictEqual(yield* due, [[], [], false])
          yield* TestClock.adjust("1 nanos")
          assert.deepStrictEqual(yield* due, [[mandate], [mandate], true])
        })
      )
    }
  })
}
