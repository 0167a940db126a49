import { assert, describe, it } from "@effect/vitest"
import { makeCaller, proposalBody, recurringBody } from "@svc/testkit/ProgramHarness"
import { Context, Effect, Fiber, Layer } from "effect"
import { MandateStore } from "../src/ports/MandateStore.ts"
import { fromTheStart, memoryPrograms } from "./MemoryPrograms.ts"

const caller = makeCaller()

/** A service with a store of its own, and an active mandate. The same seed makes the same identifiers. */
const makeService = Effect.gen(function* () {
  yield* fromTheStart
  const services = yield* Layer.build(memoryPrograms(1))
  const mandate = yield* Effect.gen(function* () {
    const { resource } = yield* caller.create(recurringBody())
    yield* caller.approve(resource.id)
    return resource.id
  }).pipe(Effect.provideContext(services))
  return { mandate, services }
})

describe("two services in one process", () => {
  it.effect("do not wait for each other's stores, even for the same organization and mandate", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* makeService, yield* makeService]
      assert.strictEqual(first.mandate, second.mandate)
      const silent = Context.add(first.services, MandateStore, {
        ...Context.get(first.services, MandateStore),
        append: () => Effect.never
      })
      const waiting = yield* caller
        .propose(first.mandate, proposalBody(1))
        .pipe(Effect.provideContext(silent), Effect.forkChild({ startImmediately: true }))
      const { resource } = yield* caller
        .propose(second.mandate, proposalBody(1))
        .pipe(Effect.provideContext(second.services))
      assert.strictEqual(resource.decision, "ALLOW")
      yield* Fiber.interrupt(waiting)
    })
  )
})
