import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { makeSharedReads, type SharedReadOptions } from "./SharedReads.ts"

const settled = Effect.yieldNow.pipe(Effect.repeat({ times: 20 }))

/** Reads that answer when they are told to, and what was sent. */
const makeReads = (parts: Partial<SharedReadOptions<string, string, string>> = {}) => {
  const sent: Array<string | ReadonlyArray<string>> = []
  const gates: Array<Deferred.Deferred<void>> = []
  const send = (what: string | ReadonlyArray<string>) =>
    Effect.suspend(() => {
      sent.push(what)
      const gate = Deferred.makeUnsafe<void>()
      gates.push(gate)
      return Deferred.await(gate)
    })
  const read = makeSharedReads<string, string, string>({
    least: 2,
    limit: 3,
    alone: (query) => Effect.as(send(query), `${query} alone`),
    together: (queries) =>
      Effect.as(
        send(queries),
        queries.map((query) => (query === "bad" ? Exit.fail("bad") : Exit.succeed(`${query} shared`)))
      ),
    ...parts
  })
  const answer = (at: number) => Effect.andThen(Deferred.succeed(gates[at]!, undefined), settled)
  const begin = (queries: ReadonlyArray<string>) =>
    Effect.forEach(queries, (query) => Effect.forkChild(Effect.exit(read(query)), { startImmediately: true }))
  return { sent, begin, answer, read }
}

const outcomes = (fibers: ReadonlyArray<Fiber.Fiber<Exit.Exit<string, string>>>) =>
  Effect.forEach(fibers, (fiber) =>
    Effect.map(Fiber.join(fiber), (exit) => (Exit.isSuccess(exit) ? exit.value : "failed"))
  )

describe("reads that share statements", () => {
  it.effect("go alone and at once while none is under way, and those that arrive meanwhile together", () =>
    Effect.gen(function* () {
      const { answer, begin, sent } = makeReads()
      const fibers = yield* begin(["a", "b", "c", "d", "e"])
      assert.deepStrictEqual(sent, ["a"])
      yield* answer(0)
      assert.deepStrictEqual(sent, ["a", ["b", "c", "d"]])
      yield* answer(1)
      yield* answer(2)
      assert.deepStrictEqual(sent, ["a", ["b", "c", "d"], "e"])
      assert.deepStrictEqual(yield* outcomes(fibers), [
        "a alone",
        "b shared",
        "c shared",
        "d shared",
        "e alone"
      ])
      yield* begin(["f"])
      assert.deepStrictEqual(sent.at(-1), "f")
    })
  )

  it.effect("never join a statement that was sent before them", () =>
    Effect.gen(function* () {
      const { answer, begin, sent } = makeReads()
      yield* begin(["a", "b", "c"])
      yield* answer(0)
      const late = yield* begin(["b", "c"])
      assert.deepStrictEqual(sent, ["a", ["b", "c"]])
      yield* answer(1)
      assert.deepStrictEqual(sent, ["a", ["b", "c"], ["b", "c"]])
      yield* answer(2)
      assert.deepStrictEqual(yield* outcomes(late), ["b shared", "c shared"])
    })
  )

  it.effect("share only with those that they join, the others keep their order", () =>
    Effect.gen(function* () {
      const { answer, begin, sent } = makeReads({ joins: (first, other) => first[0] === other[0] })
      const fibers = yield* begin(["a", "b1", "c1", "b2", "c2"])
      for (const at of [0, 1, 2]) yield* answer(at)
      assert.deepStrictEqual(sent, ["a", ["b1", "b2"], ["c1", "c2"]])
      assert.deepStrictEqual(yield* outcomes(fibers), [
        "a alone",
        "b1 shared",
        "c1 shared",
        "b2 shared",
        "c2 shared"
      ])
    })
  )

  it.effect("fail each by itself", () =>
    Effect.gen(function* () {
      const { answer, begin } = makeReads()
      const fibers = yield* begin(["a", "bad", "c"])
      yield* answer(0)
      yield* answer(1)
      assert.deepStrictEqual(yield* outcomes(fibers), ["a alone", "failed", "c shared"])
    })
  )

  it.effect(
    "fail together when the store does, and are read alone when a fault of one spoils the statement",
    () =>
      Effect.gen(function* () {
        for (const [together, expected] of [
          [Effect.fail("unavailable"), ["a alone", "failed", "failed"]],
          [Effect.die(new Error("planted")), ["a alone", "b alone", "c alone"]]
        ] as const) {
          const { answer, begin } = makeReads({ together: () => together })
          const fibers = yield* begin(["a", "b", "c"])
          for (let at = 0; at < 3 && expected[1] !== "failed"; at++) yield* answer(at)
          if (expected[1] === "failed") yield* answer(0)
          assert.deepStrictEqual(yield* outcomes(fibers), [...expected])
        }
      })
  )

  it.effect("leave the queue when they are interrupted, and do not take others with them", () =>
    Effect.gen(function* () {
      const { answer, begin, sent } = makeReads()
      const fibers = yield* begin(["a", "b", "c", "d"])
      yield* Fiber.interrupt(fibers[1]!)
      yield* Fiber.interrupt(fibers[0]!)
      assert.deepStrictEqual(sent, ["a", ["c", "d"]])
      yield* Fiber.interrupt(fibers[2]!)
      yield* answer(1)
      assert.deepStrictEqual(yield* outcomes([fibers[3]!]), ["d shared"])
      yield* begin(["e"])
      assert.deepStrictEqual(sent.at(-1), "e")
    })
  )

  it.live("do not wait for a statement that is slow", () =>
    Effect.gen(function* () {
      const { answer, begin, sent } = makeReads()
      const fibers = yield* begin(["slow", "b"])
      while (sent.length < 2) yield* Effect.sleep("10 millis")
      assert.deepStrictEqual(sent, ["slow", "b"])
      yield* answer(1)
      assert.deepStrictEqual(yield* outcomes([fibers[1]!]), ["b alone"])
      yield* answer(0)
      assert.deepStrictEqual(yield* outcomes([fibers[0]!]), ["slow alone"])
    })
  )
})
