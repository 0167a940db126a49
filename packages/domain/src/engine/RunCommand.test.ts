import { assert, it } from "@effect/vitest"
import { makeCaller, proposalBody, recurringBody } from "@svc/testkit/ProgramHarness"
import { Deferred, Effect, Fiber } from "effect"
import { fromTheStart, memoryPrograms } from "../../test/MemoryPrograms.ts"
import { MandateStore } from "../ports/MandateStore.ts"
import { mandateTurnKey, StreamTurns } from "./StreamTurns.ts"

const caller = makeCaller()

it.effect("commands that wait for one turn are combined with those to the same store alone", () =>
  Effect.gen(function* () {
    yield* fromTheStart
    const { resource } = yield* caller.create(recurringBody())
    yield* caller.approve(resource.id)
    const store = yield* MandateStore
    const turns = yield* StreamTurns
    const gate = yield* Deferred.make<void>()
    const key = mandateTurnKey({ organization: caller.organization.id, mandate: resource.id })
    yield* Effect.forkChild(turns.inTurn(key)(Deferred.await(gate)), { startImmediately: true })
    const appended: Array<string> = []
    const proposedOn = (name: string) => {
      const named: MandateStore["Service"] = {
        ...store,
        append: (change) => {
          appended.push(...change.events.map(() => name))
          return store.append(change)
        }
      }
      return [1, 2].map((number) =>
        caller
          .propose(resource.id, proposalBody(number + name.length * 10))
          .pipe(Effect.provideService(MandateStore, named))
      )
    }
    const fibers = yield* Effect.forEach([...proposedOn("one"), ...proposedOn("other")], (proposed) =>
      Effect.forkChild(proposed, { startImmediately: true })
    )
    yield* Deferred.succeed(gate, undefined)
    yield* Effect.forEach(fibers, Fiber.join)
    assert.deepStrictEqual(appended.toSorted(), ["one", "one", "other", "other"])
  }).pipe(Effect.provide(memoryPrograms()))
)
