import { assert, describe, it } from "@effect/vitest"
import { simulate, worldShape } from "./Simulation.ts"
import { World } from "./World.ts"

const STEPS = 50_000

describe("the simulation", () => {
  it("does the same again for the same seed, and something else for another", () => {
    const shapes = [worldShape(7, 1, 2000), worldShape(7, 1, 2000), worldShape(8, 1, 2000)]
    const [first, again, other] = shapes.map((shape) => new World(shape).run())
    assert.deepStrictEqual(again, first)
    assert.notStrictEqual(other?.trace, first?.trace)
  })

  it(`finds no invariant broken in ${STEPS} steps, and gets to rest after its faults`, () => {
    const { failures, rare, steps } = simulate({ seed: 1, steps: STEPS, shrinks: false })
    assert.deepStrictEqual(failures, [])
    assert.isAtLeast(steps, STEPS)
    for (const path of ["out of time", "stale", "late report", "worker lost", "idempotent replay"] as const) {
      assert.isAbove(rare[path], 0, path)
    }
  })
})
