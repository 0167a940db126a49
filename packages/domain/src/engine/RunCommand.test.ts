import { assert, describe, it } from "@effect/vitest"
import { makeCaller, proposalBody, recurringBody } from "@svc/testkit/ProgramHarness"
import { Clock, Deferred, Effect, Fiber } from "effect"
import { fromTheStart, memoryPrograms } from "../../test/MemoryPrograms.ts"
import { MandateStore } from "../ports/MandateStore.ts"
import { MAX_BATCH_MILLISECONDS } from "./CommandBatch.ts"
import { mandateTurnKey, StreamTurns } from "./StreamTurns.ts"

const caller = makeCaller()

/** A mandate whose turn is taken, and how its proposals are made: each is recorded under the name of its store. */
const waitingTurn = Effect.gen(function* () {
  yield* fromTheStart
  const { resource } = yield* caller.create(recurringBody())
  yield* caller.approve(resource.id)
  const store = yield* MandateStore
  const turns = yield* StreamTurns
  const gate = yield* Deferred.make<void>()
  const key = mandateTurnKey({ organization: caller.organization.id, mandate: resource.id })
  yield* Effect.forkChild(turns.inTurn(key)(Deferred.await(gate)), { startImmediately: true })
  const appended: Array<string> = []
  const namedStore = (name: string): MandateStore["Service"] => ({
    ...store,
    append: (change) => {
      appended.push(`${name} ${change.events.length}`)
      return store.append(change)
    }
  })
  const propose = (number: number, on: MandateStore["Service"]) =>
    caller.propose(resource.id, proposalBody(number)).pipe(Effect.provideService(MandateStore, on))
  const atOnce = <A, E, R>(proposals: ReadonlyArray<Effect.Effect<A, E, R>>) =>
    Effect.gen(function* () {
      const fibers = yield* Effect.forEach(proposals, (proposed) =>
        Effect.forkChild(proposed, { startImmediately: true })
      )
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.forEach(fibers, Fiber.join)
      return appended
    })
  return { namedStore, propose, atOnce }
})

describe("commands that wait for one turn", () => {
  it.effect("are combined with those to the same store alone", () =>
    Effect.gen(function* () {
      const { atOnce, namedStore, propose } = yield* waitingTurn
      const [one, other] = [namedStore("one"), namedStore("other")]
      const proposals = [propose(1, one), propose(2, one), propose(3, other), propose(4, other)]
      assert.deepStrictEqual(yield* atOnce(proposals), ["one 2", "other 2"])
    }).pipe(Effect.provide(memoryPrograms()))
  )

  it.effect("are recorded before the next are decided, once deciding has taken long", () =>
    Effect.gen(function* () {
      const { atOnce, namedStore, propose } = yield* waitingTurn
      const store = namedStore("slow")
      const clock = yield* Clock.Clock
      let passed = 0
      const slow: Clock.Clock = Object.create(clock, {
        currentTimeMillisUnsafe: {
          value: () => {
            passed += MAX_BATCH_MILLISECONDS
            return clock.currentTimeMillisUnsafe() + passed
          }
        }
      })
      const proposals = [1, 2, 3].map((number) =>
        propose(number, store).pipe(Effect.provideService(Clock.Clock, slow))
      )
      assert.deepStrictEqual(yield* atOnce(proposals), ["slow 1", "slow 1", "slow 1"])
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
