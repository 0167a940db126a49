import { runInNewContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { type ClaimName, MandateStore } from "@svc/domain/ports/MandateStore"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import { Cause, Effect, Exit, Layer } from "effect"
import { firstNotPlain, plainStore } from "./PlainPorts.ts"

const causeOf = <A, E>(exit: Exit.Exit<A, E>): string =>
  Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "nothing went wrong"

describe("plain data", () => {
  it("is what structuredClone takes and leaves as it is", () => {
    const plain = { a: [1n, null, undefined, "x", true, { b: new Map([["c", { d: 1 }]]) }] }
    assert.isUndefined(firstNotPlain(plain, "it"))
    assert.deepStrictEqual(structuredClone(plain), plain)
    // Test runners run files in a context of their own, and structuredClone makes its copies in another.
    assert.isUndefined(firstNotPlain(runInNewContext("({ a: [{ b: new Map([['c', [{}]]]) }] })"), "it"))
    assert.strictEqual(
      firstNotPlain(runInNewContext("new Map([['c', [new (class Row extends Array {})()]]])"), "it"),
      'it.get("c")[0] is an instance of Row'
    )
    assert.strictEqual(
      firstNotPlain(runInNewContext("({ at: new Date(0) })"), "it"),
      "it.at is an instance of Date"
    )
    assert.strictEqual(firstNotPlain({ a: [{ b: () => 1 }] }, "it"), "it.a[0].b is a function")
    assert.strictEqual(firstNotPlain(new Map([["k", Symbol()]]), "it"), 'it.get("k") is a symbol')
    assert.strictEqual(firstNotPlain({ at: new Date(0) }, "it"), "it.at is an instance of Date")
  })

  it.effect("is all that goes into a store and comes out of it", () =>
    Effect.gen(function* () {
      const store = yield* MandateStore
      assert.deepStrictEqual((yield* store.load({ organization: "org" })).held, [])
      const claim = { kind: "idempotency_key", name: "key", check: () => true } as ClaimName
      const asked = yield* Effect.exit(store.load({ organization: "org", claims: [claim] }))
      assert.match(causeOf(asked), /the input of MandateStore\.load\.claims\[0\]\.check is a function/u)
      const health = yield* StoreHealth
      assert.match(
        causeOf(yield* Effect.exit(health.faults)),
        /the answer of StoreHealth\.faults is an instance of Set/u
      )
    }).pipe(Effect.provide(plainStore(Layer.merge(MemoryStore.layer, unsound))))
  )
})

/** Its answer is a set, and not the list that it was to be. */
const unsound = Layer.succeed(StoreHealth, {
  faults: Effect.succeed(new Set() as unknown as ReadonlyArray<string>)
})
