import { MandateStore } from "@svc/domain/ports/MandateStore"
import { Effect } from "effect"
import { followingChange, newAuthorization, newIdentifier, reservingChange } from "../StoreFixtures.ts"
import { assert } from "./Assert.ts"
import { appendAndLoad, loadCurrent, PLENTY, recordMandate, type StoreIt } from "./StoreUnderTest.ts"

const identifiersOf = (mandates: ReadonlyArray<{ readonly terms: { readonly mandate_id: string } }>) =>
  mandates.map(({ terms }) => terms.mandate_id)

/** Records mandates one after another; gives their identifiers newest first. */
const recordMandates = Effect.fn("recordMandates")(function* (
  organization: string,
  count: number,
  subjectReference = "everybody"
) {
  const recorded = yield* Effect.replicateEffect(recordMandate({ organization, subjectReference }), count)
  return identifiersOf(recorded.map(({ stream }) => stream.state.mandate)).toReversed()
})

const mandatePage = Effect.fn("mandatePage")(function* (organization: string, limit: number, after?: string) {
  const store = yield* MandateStore
  const query = { organization, limit, ...(after === undefined ? {} : { after }) }
  return identifiersOf((yield* store.listMandates(query)).mandates)
})

const recordRows = Effect.fn("recordRows")(function* (count: number) {
  const current = yield* recordMandate()
  const states = ["RESERVED", "COMMITTED", "DENIED"] as const
  const rows = Array.from({ length: count }, (_, index) =>
    newAuthorization(index + 1, current.now, { state: states[index % 3]! })
  )
  const after = yield* appendAndLoad(reservingChange(current, rows))
  const place = {
    organization: after.stream.organization,
    mandate: after.stream.state.mandate.terms.mandate_id
  }
  return { place, rows }
})

export const listContract = (it: StoreIt): void => {
  it.describe("lists", () => {
    it.effect("mandates: nothing of an organization that has none", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const list = yield* store.listMandates({ organization: newIdentifier("org_"), limit: 5 })
        assert.deepStrictEqual([list.mandates, list.due], [[], []])
      })
    )

    it.effect("mandates: newest first, one more than the limit when there are more", () =>
      Effect.gen(function* () {
        const organization = newIdentifier("org_")
        const newest = yield* recordMandates(organization, 5)
        assert.deepStrictEqual(yield* mandatePage(organization, 4), newest)
        assert.deepStrictEqual(yield* mandatePage(organization, 3), newest.slice(0, 4))
        assert.deepStrictEqual(yield* mandatePage(organization, 5), newest)
        assert.deepStrictEqual(yield* mandatePage(organization, 100), newest)
        assert.deepStrictEqual(yield* mandatePage(organization, 1), newest.slice(0, 2))
      })
    )

    it.effect("mandates: by identifier, in whatever order they were recorded", () =>
      Effect.gen(function* () {
        const organization = newIdentifier("org_")
        const mandates = Array.from({ length: 6 }, () => newIdentifier("mnd_"))
        for (const index of [3, 0, 5, 1, 4, 2])
          yield* recordMandate({ organization, mandate: mandates[index]! })
        assert.deepStrictEqual(yield* mandatePage(organization, 6), mandates.toReversed())
      })
    )

    it.effect("mandates: a cursor goes on below its mandate, which need not exist", () =>
      Effect.gen(function* () {
        const organization = newIdentifier("org_")
        const newest = yield* recordMandates(organization, 5)
        for (const [index, after] of newest.entries()) {
          assert.deepStrictEqual(
            yield* mandatePage(organization, 2, after),
            newest.slice(index + 1, index + 4)
          )
        }
        const between = newIdentifier("mnd_")
        const later = yield* recordMandates(organization, 1)
        assert.deepStrictEqual(yield* mandatePage(organization, 9, between), newest)
        assert.deepStrictEqual(yield* mandatePage(organization, 9), [...later, ...newest])
      })
    )

    it.effect("mandates: inserts between pages neither repeat nor hide what was there", () =>
      Effect.gen(function* () {
        const organization = newIdentifier("org_")
        const reserved = Array.from({ length: 3 }, () => newIdentifier("mnd_"))
        const before = yield* recordMandates(organization, 7)
        const seen: Array<string> = []
        let after: string | undefined
        for (;;) {
          const page = yield* mandatePage(organization, 3, after)
          seen.push(...page.slice(0, 3))
          if (page.length <= 3) break
          after = page[2]
          yield* recordMandates(organization, 2)
          yield* recordMandate({ organization, mandate: reserved.pop()!, subjectReference: "everybody" })
        }
        assert.strictEqual(new Set(seen).size, seen.length)
        assert.deepStrictEqual(
          seen.filter((mandate) => before.includes(mandate)),
          before
        )
      })
    )

    it.effect("mandates: filtered by state, subject, and both", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const organization = newIdentifier("org_")
        const own = yield* recordMandates(organization, 4, "Us\u00e9r_1")
        const others = yield* recordMandates(organization, 3, "Use\u0301r_1")
        for (const mandate of [own[0]!, own[2]!, others[1]!]) {
          const current = yield* loadCurrent({ organization, mandate })
          const mandateState = { ...current.stream.state.mandate, state: "ACTIVE" as const }
          yield* store.append(followingChange(current, [], { mandateState }))
        }
        const list = (query: object) =>
          Effect.map(store.listMandates({ organization, limit: 2, ...query }), ({ mandates }) =>
            identifiersOf(mandates)
          )
        const active = { state: "ACTIVE" }
        const subject = { subjectReference: "Us\u00e9r_1" }
        assert.deepStrictEqual(yield* list(active), [others[1], own[0], own[2]])
        assert.deepStrictEqual(yield* list({ ...active, after: others[1] }), [own[0], own[2]])
        assert.deepStrictEqual(yield* list(subject), own.slice(0, 3))
        assert.deepStrictEqual(yield* list({ ...subject, ...active }), [own[0], own[2]])
        assert.deepStrictEqual(yield* list({ ...subject, state: "PENDING_APPROVAL" }), [own[1], own[3]])
        assert.deepStrictEqual(yield* list({ ...subject, limit: 9, after: own[1] }), own.slice(2))
        assert.deepStrictEqual(yield* list({ state: "REVOKED" }), [])
        for (const subjectReference of ["us\u00e9r_1", "Us\u00e9r_1 ", "Us_r_1", "%", ""]) {
          assert.deepStrictEqual(yield* list({ subjectReference }), [])
        }
      })
    )

    it.effect("mandates: shown as they are now", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const current = yield* recordMandate()
        const { organization } = current.stream
        const mandateState = { ...current.stream.state.mandate, state: "REVOKED" as const, version: 2 }
        yield* store.append(followingChange(current, [], { mandateState }))
        const { mandates } = yield* store.listMandates({ organization, limit: 1 })
        assert.deepStrictEqual(mandates, [mandateState])
      })
    )

    it.effect("authorizations: absent without the mandate, empty without any", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const { stream } = yield* recordMandate()
        const { organization } = stream
        const absent = { organization, mandate: newIdentifier("mnd_"), limit: 1 }
        assert.isUndefined(yield* store.listAuthorizations(absent))
        const mandate = stream.state.mandate.terms.mandate_id
        const list = yield* store.listAuthorizations({ organization, mandate, limit: 1 })
        assert.deepStrictEqual(list?.authorizations, [])
        assert.deepStrictEqual(list?.mandate, stream.state.mandate)
      })
    )

    it.effect("authorizations: newest first, with limit, cursor and filter", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const { place, rows } = yield* recordRows(12)
        const orders = (query: object) =>
          Effect.map(store.listAuthorizations({ ...place, limit: PLENTY, ...query }), (list) =>
            list?.authorizations.map(({ order }) => order)
          )
        const newest = rows.map(({ order }) => order).toReversed()
        assert.deepStrictEqual(yield* orders({}), newest)
        assert.deepStrictEqual(yield* orders({ limit: 12 }), newest)
        assert.deepStrictEqual(yield* orders({ limit: 3 }), [12, 11, 10, 9])
        assert.deepStrictEqual(yield* orders({ limit: 3, afterOrder: 10 }), [9, 8, 7, 6])
        assert.deepStrictEqual(yield* orders({ afterOrder: 3 }), [2, 1])
        assert.deepStrictEqual(yield* orders({ afterOrder: 1 }), [])
        assert.deepStrictEqual(yield* orders({ afterOrder: 99, limit: 1 }), [12, 11])
        assert.deepStrictEqual(yield* orders({ state: "COMMITTED" }), [11, 8, 5, 2])
        assert.deepStrictEqual(yield* orders({ state: "COMMITTED", limit: 2, afterOrder: 11 }), [8, 5, 2])
        assert.deepStrictEqual(yield* orders({ state: "EXPIRED" }), [])
      })
    )

    it.effect("authorizations: a changed one keeps its place, a new one comes on top", () =>
      Effect.gen(function* () {
        const store = yield* MandateStore
        const { place, rows } = yield* recordRows(3)
        const current = yield* loadCurrent(place)
        const closed = { ...rows[0]!, state: "EXPIRED" as const }
        const fourth = newAuthorization(4, current.now)
        yield* store.append(followingChange(current, [], { authorizations: [fourth, closed] }))
        const list = yield* store.listAuthorizations({ ...place, limit: PLENTY })
        assert.deepStrictEqual(list?.authorizations, [fourth, rows[2]!, rows[1]!, closed])
      })
    )
  })
}
