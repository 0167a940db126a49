import { assert, describe, it } from "@effect/vitest"
import { makeCaller } from "@svc/testkit/ProgramHarness"
import { newIdentifier } from "@svc/testkit/StoreFixtures"
import { Effect } from "effect"
import { fromTheStart, memoryPrograms } from "../../test/MemoryPrograms.ts"
import { namedStream, readStream } from "./ReadStream.ts"
import { mandateTurnKey, StreamTurns } from "./StreamTurns.ts"

const caller = makeCaller()
const organization = caller.organization.id

describe("the stream that a path names", () => {
  it("is none if the identifier is malformed or of another kind", () => {
    const [mandate, authorization] = [newIdentifier("mnd_"), newIdentifier("aut_")]
    for (const reference of [{ mandate }, { authorization }, { approvalSession: "aps_x" }]) {
      assert.strictEqual(namedStream(reference), reference)
    }
    for (const reference of [
      { mandate: "mnd_x" },
      { mandate: authorization },
      { authorization: "" },
      { authorization: mandate }
    ]) {
      assert.isUndefined(namedStream(reference))
    }
  })

  it.effect("is read without waiting for the mandate's turn while nothing is due", () =>
    Effect.gen(function* () {
      yield* fromTheStart
      const { resource } = yield* caller.create()
      const turns = yield* StreamTurns
      const key = mandateTurnKey({ organization, mandate: resource.id })
      yield* Effect.forkChild(turns.inTurn(key)(Effect.never), { startImmediately: true })
      const { state } = yield* readStream({ organization, stream: { mandate: resource.id } })
      assert.strictEqual(state.mandate.state, "PENDING_APPROVAL")
      assert.strictEqual(turns.length(key), 1)
    }).pipe(Effect.provide(memoryPrograms()))
  )
})
