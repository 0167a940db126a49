import { assert, describe, it } from "@effect/vitest"
import { makeCaller, proposalBody, recurringBody } from "@svc/testkit/ProgramHarness"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { fromTheStart, memoryPrograms } from "../../test/MemoryPrograms.ts"
import { MandateStore, Stale } from "../ports/MandateStore.ts"
import { RACES_BEFORE_TURN } from "./UntilAppended.ts"

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
