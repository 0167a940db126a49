import { assert, describe, it } from "@effect/vitest"
import { commitReport, makeCaller, proposalBody, recurringBody } from "@svc/testkit/ProgramHarness"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { fromTheStart, memoryPrograms } from "../../test/MemoryPrograms.ts"
import { ClaimTaken, MandateStore, OutOfTime, Stale, StoreUnavailable } from "../ports/MandateStore.ts"
import { isRace, RACES_BEFORE_TURN, TURN_PATIENCE_SECONDS } from "./UntilAppended.ts"

const caller = makeCaller()

/** Races that are lost before a write has its turn, and once more before a read would wait for one. */
const LOST_BEFORE_TURN = RACES_BEFORE_TURN + 1

class Races extends Context.Service<Races, { begin: (meanwhile: Effect.Effect<void>) => void }>()(
  "@svc/domain/engine/Races"
) {}

/**
 * A store on which others are always faster, for as many appends as both a write and a read bear. The last of those that a
 * write loses before its turn is recorded all the same: by another process, with the same idempotency key.
 */
const contestedPrograms = Layer.effectContext(
  Effect.map(MandateStore, (store) => {
    let lost = 2 * LOST_BEFORE_TURN
    let winning: Effect.Effect<void> = Effect.void
    return Context.make(MandateStore, {
      ...store,
      append: (change) =>
        Effect.suspend(() => {
          if (lost >= 2 * LOST_BEFORE_TURN) return store.append(change)
          lost += 1
          const isLastBeforeTurn = lost === LOST_BEFORE_TURN
          const won = isLastBeforeTurn ? Effect.andThen(store.append(change), winning) : Effect.void
          return Effect.andThen(Effect.orDie(won), Effect.fail(new Stale()))
        })
    }).pipe(
      Context.add(Races, {
        begin: (meanwhile) => {
          lost = 0
          winning = meanwhile
        }
      })
    )
  })
).pipe(Layer.provideMerge(memoryPrograms()))

class Calls extends Context.Service<
  Calls,
  { loads: number; lost: number; hold: (hold: Effect.Effect<void>) => void }
>()("@svc/domain/engine/Calls") {}

/** A store that takes its time, and counts loads and lost races. Calls wait for what holds them. */
const countedPrograms = Layer.effectContext(
  Effect.map(MandateStore, (store) => {
    let held: Effect.Effect<void> = Effect.void
    const calls = {
      loads: 0,
      lost: 0,
      hold: (hold: Effect.Effect<void>) => {
        held = hold
      }
    }
    const slowly = <A, E>(call: Effect.Effect<A, E>) =>
      Effect.andThen(
        Effect.suspend(() => held),
        Effect.andThen(Effect.repeat(Effect.yieldNow, { times: 3 }), call)
      )
    return Context.make(MandateStore, {
      ...store,
      load: (query) =>
        Effect.suspend(() => {
          calls.loads += 1
          return slowly(store.load(query))
        }),
      append: (change) =>
        Effect.tapError(slowly(store.append(change)), () =>
          Effect.sync(() => {
            calls.lost += 1
          })
        )
    }).pipe(Context.add(Calls, calls))
  })
).pipe(Layer.provideMerge(memoryPrograms()))

const CLIENTS = 24

const activeMandate = Effect.gen(function* () {
  yield* fromTheStart
  const { resource } = yield* caller.create(recurringBody())
  yield* caller.approve(resource.id)
  return resource.id
})

const clients = Array.from({ length: CLIENTS }, (_, number) => number)

describe("writes of one process to one mandate (part 3)", () => {
  it.effect("lose no races, however many come at once, and those that wait share a load and an append", () =>
    Effect.gen(function* () {
      const mandate = yield* activeMandate
      const calls = yield* Calls
      const before = calls.loads
      yield* Effect.forEach(
        clients,
        (number) =>
          Effect.gen(function* () {
            const { resource } = yield* caller.propose(mandate, proposalBody(number, 1))
            assert.strictEqual(resource.state, "RESERVED")
            yield* caller.commit(resource.id, commitReport(number))
          }),
        { concurrency: "unbounded" }
      )
      // The first proposal, the others together, and all commits together.
      assert.deepStrictEqual([calls.loads - before, calls.lost], [3, 0])
    }).pipe(Effect.provide(countedPrograms))
  )

  it.effect("go on in the order in which they came, without those that were interrupted", () =>
    Effect.gen(function* () {
      const mandate = yield* activeMandate
      const calls = yield* Calls
      const open = yield* Deferred.make<void>()
      calls.hold(Deferred.await(open))
      const done: Array<number> = []
      const fibers = yield* Effect.forEach(clients, (number) =>
        caller.propose(mandate, proposalBody(number, 1)).pipe(
          Effect.tap(() => Effect.sync(() => done.push(number))),
          Effect.forkChild({ startImmediately: true })
        )
      )
      yield* Fiber.interrupt(fibers[0]!)
      yield* Fiber.interrupt(fibers[7]!)
      yield* Deferred.succeed(open, undefined)
      yield* Effect.forEach(fibers, Fiber.await)
      assert.deepStrictEqual(
        done,
        clients.filter((number) => number !== 0 && number !== 7)
      )
    }).pipe(Effect.provide(countedPrograms))
  )

  it.effect("are given up behind one that waits for a store that does not answer", () =>
    Effect.gen(function* () {
      const mandate = yield* activeMandate
      const calls = yield* Calls
      calls.hold(Effect.never)
      const first = yield* Effect.forkChild(caller.propose(mandate, proposalBody(1)), {
        startImmediately: true
      })
      const second = yield* Effect.forkChild(Effect.flip(caller.propose(mandate, proposalBody(2))), {
        startImmediately: true
      })
      yield* TestClock.adjust(`${TURN_PATIENCE_SECONDS} seconds`)
      assert.strictEqual((yield* Fiber.join(second))._tag, "StoreUnavailable")
      yield* Fiber.interrupt(first)
      calls.hold(Effect.void)
      assert.isFalse((yield* caller.propose(mandate, proposalBody(3))).replayed)
    }).pipe(Effect.provide(countedPrograms))
  )
})

describe("a write that lost races (part 3)", () => {
  it.effect("replays in its turn, also while what is due is still contested", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { resource: mandate } = yield* caller.create(recurringBody())
      yield* caller.approve(mandate.id)
      const races = yield* Races
      // What the other process recorded has expired by the time of the replay.
      races.begin(TestClock.adjust("1 hour"))
      const { replayed, resource } = yield* caller.propose(mandate.id, proposalBody(1), "key")
      assert.isTrue(replayed)
      assert.strictEqual(resource.state, "EXPIRED")
    }).pipe(Effect.provide(contestedPrograms))
  )
})

it("a race is lost where another append came first, and in no other failure", () => {
  const holder = { fingerprint: "", resource: "mnd_1" }
  for (const race of [
    new Stale(),
    new OutOfTime(),
    new ClaimTaken({ kind: "commitment", name: "one", holder })
  ]) {
    assert.isTrue(isRace(race))
  }
  for (const other of [new StoreUnavailable({}), {}, null, undefined, "Stale", 7]) {
    assert.isFalse(isRace(other))
  }
})
