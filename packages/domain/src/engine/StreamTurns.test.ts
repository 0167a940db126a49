import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, References } from "effect"
import { TestClock } from "effect/testing"
import { makeTurns, mandateTurnKey, type SharedWork } from "./StreamTurns.ts"

const PATIENCE_SECONDS = 10

/** Work on numbers that waits to be let go, and records how it was done. */
const makeWork = (parts: Partial<SharedWork<number, string, string, never>> = {}) => {
  const done: Array<ReadonlyArray<number> | number> = []
  const gate = Deferred.makeUnsafe<void>()
  const work: SharedWork<number, string, string, never> = {
    limit: 4,
    joins: (first, other) => first % 2 === other % 2,
    alone: (item, hasWaited) =>
      Effect.suspend(() => {
        done.push(item)
        return Effect.as(Deferred.await(gate), hasWaited ? `${item} later` : `${item}`)
      }),
    together: (items) =>
      Effect.sync(() => {
        done.push(items)
        return items.map((item) => Exit.succeed(`${item} of ${items.length}`))
      }),
    ...parts
  }
  return { work, done, gate }
}

/** Enters the line with each item, in order. */
const enterEach = (
  turns: ReturnType<typeof makeTurns>,
  work: SharedWork<number, string, string, never>,
  items: ReadonlyArray<number>
) =>
  Effect.forEach(items, (item) =>
    Effect.forkChild(turns.sharedTurn("k", PATIENCE_SECONDS, work, item), { startImmediately: true })
  )

const outcomes = Effect.fnUntraced(function* <A, E>(fibers: ReadonlyArray<Fiber.Fiber<A, E>>) {
  const exits = yield* Effect.forEach(fibers, Fiber.await)
  return exits.map((exit) => (Exit.isSuccess(exit) ? exit.value : "failed"))
})

describe("turns that are shared", () => {
  it.effect("do a lone item at once, and those that come meanwhile in one go", () =>
    Effect.gen(function* () {
      const turns = makeTurns()
      const { done, gate, work } = makeWork()
      const fibers = yield* enterEach(turns, work, [1, 3, 5, 7])
      assert.deepStrictEqual([done, turns.length("k")], [[1], 4])
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* outcomes(fibers), ["1", "3 of 3", "5 of 3", "7 of 3"])
      assert.deepStrictEqual([done, turns.length("k")], [[1, [3, 5, 7]], 0])
    })
  )

  it.effect(
    "keep the order of arrival: at most so many in one go, and none past one that does not join",
    () =>
      Effect.gen(function* () {
        const turns = makeTurns()
        const { done, gate, work } = makeWork()
        const first = yield* enterEach(turns, work, [1, 3, 5, 7, 9, 11, 2, 4, 13])
        const alone = yield* Effect.forkChild(turns.inTurn("k")(Effect.sync(() => done.push([]))), {
          startImmediately: true
        })
        const last = yield* enterEach(turns, work, [15, 17])
        yield* Deferred.succeed(gate, undefined)
        yield* outcomes([...first, alone, ...last] as ReadonlyArray<Fiber.Fiber<unknown, unknown>>)
        assert.deepStrictEqual(done, [1, [3, 5, 7, 9], 11, [2, 4], 13, [], [15, 17]])
      })
  )

  it.effect("leave others alone: another key has its own turn", () =>
    Effect.gen(function* () {
      const turns = makeTurns()
      const { work } = makeWork()
      yield* enterEach(turns, work, [1])
      assert.strictEqual(yield* turns.inTurn("other", PATIENCE_SECONDS)(Effect.succeed("at once")), "at once")
    })
  )

  it.effect(
    "forget who is interrupted while it waits, and finish what is under way for one that is gone",
    () =>
      Effect.gen(function* () {
        const turns = makeTurns()
        const under = Deferred.makeUnsafe<void>()
        const { done, gate, work } = makeWork({
          together: (items) =>
            Effect.as(
              Effect.andThen(
                Effect.sync(() => done.push(items)),
                Deferred.await(under)
              ),
              items.map((item) => Exit.succeed(`${item}`))
            )
        })
        const fibers = yield* enterEach(turns, work, [1, 3, 5, 7])
        yield* Fiber.interrupt(fibers[1]!)
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.await(fibers[0]!)
        yield* Fiber.interrupt(fibers[2]!)
        const [later] = yield* enterEach(turns, work, [9])
        yield* Deferred.succeed(under, undefined)
        assert.deepStrictEqual(yield* outcomes([fibers[3]!, later!]), ["7", "9 later"])
        assert.deepStrictEqual([done, turns.length("k")], [[1, [5, 7], 9], 0])
      })
  )

  it.effect("pass on when the one that has the turn is interrupted, also before it knows of its turn", () =>
    Effect.gen(function* () {
      const turns = makeTurns()
      const { gate, work } = makeWork()
      const fibers = yield* enterEach(turns, work, [1, 2, 3, 4])
      // Interrupts the second in the very step in which the first passes the turn on to it.
      fibers[0]!.interruptUnsafe()
      fibers[1]!.interruptUnsafe()
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* outcomes(fibers), ["failed", "failed", "3 later", "4 later"])
      assert.strictEqual(turns.length("k"), 0)
    })
  )

  it.effect("those that did not fit keep their place, without those that have gone meanwhile", () =>
    Effect.gen(function* () {
      const turns = makeTurns()
      const under = Deferred.makeUnsafe<void>()
      const { done, gate, work } = makeWork({
        together: (items) =>
          Effect.as(
            Effect.andThen(
              Effect.sync(() => done.push(items)),
              Deferred.await(under)
            ),
            [Exit.succeed(`${items[0]} of ${items.length}`)]
          )
      })
      const fibers = yield* enterEach(turns, work, [1, 3, 5, 7, 9])
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.await(fibers[0]!)
      yield* Fiber.interrupt(fibers[2]!)
      const more = yield* enterEach(turns, work, [11])
      yield* Deferred.succeed(under, undefined)
      assert.deepStrictEqual(yield* outcomes([...fibers, ...more]), [
        "1",
        "3 of 4",
        "failed",
        "7 of 3",
        "9 of 2",
        "11 later"
      ])
      assert.deepStrictEqual(done, [1, [3, 5, 7, 9], [7, 9, 11], [9, 11], 11])
    })
  )

  it.effect("do each alone when doing them in one go fails by a defect", () =>
    Effect.gen(function* () {
      const turns = makeTurns()
      const { done, gate, work } = makeWork({ together: () => Effect.die(new Error("planted")) })
      const fibers = yield* enterEach(turns, work, [1, 3, 5])
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* outcomes(fibers), ["1", "3 later", "5 later"])
      assert.deepStrictEqual([done, turns.length("k")], [[1, 3, 5], 0])
    }).pipe(Effect.provideService(References.MinimumLogLevel, "Fatal"))
  )

  it.effect("are given up after a time, and the line goes on", () =>
    Effect.gen(function* () {
      const turns = makeTurns()
      const { done, gate, work } = makeWork()
      const fibers = yield* enterEach(turns, work, [1, 3])
      yield* TestClock.adjust("5 seconds")
      const later = yield* enterEach(turns, work, [5])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* outcomes([fibers[1]!]), ["failed"])
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* outcomes(later), ["5 later"])
      assert.deepStrictEqual(done, [1, 5])
    })
  )
})

describe("the mandate that a reference names", () => {
  const place = { organization: "org_1", mandate: "mnd_1" }

  it("is known of a mandate by its own name, in an organization that is named", () => {
    const turns = makeTurns()
    assert.deepStrictEqual(turns.placeOf("org_1", { mandate: "mnd_1" }), place)
    assert.isUndefined(turns.placeOf(undefined, { mandate: "mnd_1" }))
    turns.rememberPlace(undefined, { mandate: "mnd_1" }, place)
    assert.isUndefined(turns.placeOf(undefined, { mandate: "mnd_1" }))
  })

  it("is remembered of anything else, for its organization alone", () => {
    const turns = makeTurns()
    assert.isUndefined(turns.placeOf("org_1", { authorization: "aut_1" }))
    turns.rememberPlace("org_1", { authorization: "aut_1" }, place)
    turns.rememberPlace(undefined, { approvalTokenHash: "hash" }, place)
    assert.deepStrictEqual(turns.placeOf("org_1", { authorization: "aut_1" }), place)
    assert.deepStrictEqual(turns.placeOf(undefined, { approvalTokenHash: "hash" }), place)
    assert.isUndefined(turns.placeOf("org_2", { authorization: "aut_1" }))
    assert.isUndefined(turns.placeOf("org_1", { approvalSession: "aut_1" }))
  })

  it("has a turn key of its own, whatever the names are made of", () => {
    const keys = [place, { ...place, mandate: "mnd_2" }, { organization: 'org_1","mnd_1', mandate: "" }].map(
      mandateTurnKey
    )
    assert.lengthOf(new Set(keys), 3)
  })
})
