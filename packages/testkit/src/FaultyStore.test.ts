import { assert, describe, it } from "@effect/vitest"
import { type Appended, MandateStore, Stale, type StreamChange } from "@svc/domain/ports/MandateStore"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { Effect, Layer } from "effect"
import * as FaultyStore from "./FaultyStore.ts"
import { StoreFaults } from "./FaultyStore.ts"

/** A store that knows a revision and no more. */
const counting = Layer.mergeAll(
  Layer.sync(MandateStore, () => {
    let revision = 0
    const append = Effect.suspend((): Effect.Effect<Appended, Stale> => {
      revision += 1
      return revision > 3 ? Effect.fail(new Stale()) : Effect.succeed({ revision })
    })
    return MandateStore.of({
      load: () => Effect.sync(() => ({ now: BigInt(revision), held: [] })),
      append: () => append,
      listMandates: () => Effect.die("unused"),
      listAuthorizations: () => Effect.die("unused"),
      journal: () => Effect.succeed(["the journal"])
    })
  }),
  Layer.succeed(SubjectStore, {
    load: () => Effect.succeed({ now: 7n, subject: undefined }),
    replace: () => Effect.void
  })
)

const change = {} as StreamChange
const query = { organization: "org" }

describe("FaultyStore", () => {
  it.effect("fails the planned calls alone, before or after they are done", () =>
    Effect.gen(function* () {
      const store = yield* MandateStore
      const faults = yield* StoreFaults
      yield* faults.plan({ operation: "append", nth: 2, moment: "before" })
      yield* faults.plan({ operation: "append", nth: 3, moment: "after" })
      assert.deepStrictEqual(yield* store.append(change), { revision: 1 })
      assert.strictEqual((yield* Effect.flip(store.append(change)))._tag, "StoreUnavailable")
      assert.deepStrictEqual(yield* store.load(query), { now: 1n, held: [] })
      assert.strictEqual((yield* Effect.flip(store.append(change)))._tag, "StoreUnavailable")
      assert.deepStrictEqual(yield* store.load(query), { now: 2n, held: [] })
      assert.deepStrictEqual(yield* store.append(change), { revision: 3 })
      assert.deepStrictEqual(yield* faults.calls, { load: 2, append: 4 })
    }).pipe(Effect.provide(FaultyStore.layer(counting)))
  )

  it.effect("loses an answer that was a refusal, too, and counts from when it was planned", () =>
    Effect.gen(function* () {
      const store = yield* MandateStore
      const faults = yield* StoreFaults
      yield* Effect.replicateEffect(store.append(change), 3)
      yield* faults.plan({ operation: "append", nth: 1, moment: "after" })
      yield* faults.plan({ operation: "load", nth: 1, moment: "before" })
      assert.strictEqual((yield* Effect.flip(store.append(change)))._tag, "StoreUnavailable")
      assert.strictEqual((yield* Effect.flip(store.load(query)))._tag, "StoreUnavailable")
      assert.strictEqual((yield* Effect.flip(store.append(change)))._tag, "Stale")
    }).pipe(Effect.provide(FaultyStore.layer(counting)))
  )

  it.effect("passes on what it does not touch", () =>
    Effect.gen(function* () {
      const store = yield* MandateStore
      const subjects = yield* SubjectStore
      const range = { organization: "org", mandate: "mnd", afterSeq: 0, uptoSeq: 1, limit: 1 }
      assert.deepStrictEqual(yield* store.journal(range), ["the journal"])
      assert.strictEqual((yield* subjects.load({ organization: "org", subjectReference: "s" })).now, 7n)
    }).pipe(Effect.provide(FaultyStore.layer(counting)))
  )
})
