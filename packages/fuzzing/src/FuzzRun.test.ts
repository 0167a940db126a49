import { assert, describe, it } from "@effect/vitest"
import { stretchesNotRun, watchCoverage } from "./Coverage.ts"
import { fuzz } from "./FuzzRun.ts"
import { demand, type FuzzTarget, latin1Of } from "./FuzzTarget.ts"
import { makeMutator } from "./Mutator.ts"

/** Wrong behind three conditions, each of which has to be reached first. */
const guarded: FuzzTarget = {
  seeds: ["nothing"],
  words: ["open", ";", "sesame"],
  run: (input) => {
    const [first = "", second = "", third = ""] = latin1Of(input).split(";")
    if (!first.endsWith("open")) return
    if (second === "") return
    demand(third !== "sesame", "it opens")
  }
}

describe("fuzzing", () => {
  it("finds a fault, makes its input small, and ends there", async () => {
    const coverage = watchCoverage()
    const began: Array<Uint8Array> = []
    const report = await fuzz(guarded, {
      seed: 1,
      until: Date.now() + 20_000,
      known: [Uint8Array.from(Buffer.from("some text open;x;sesam;and more"))],
      coverage,
      begin: (input) => began.push(input),
      mostFindings: 1
    })
    coverage.end()
    assert.lengthOf(report.findings, 1)
    const [found] = report.findings
    assert.strictEqual(latin1Of(found?.input ?? new Uint8Array()).split(";")[2], "sesame")
    assert.isAtMost(found?.input.length ?? 99, 14)
    assert.match(found?.fault ?? "", /^Error: it opens/u)
    assert.strictEqual(report.inputs, began.length)
  })

  it("makes the same inputs of the same seed", () => {
    const inputs = [Uint8Array.of(1, 2, 3), Uint8Array.from(Buffer.from('{"a":1}'))]
    const made = (seed: number) => {
      const { next } = makeMutator(seed, ["word"])
      return Array.from({ length: 50 }, () => latin1Of(next(inputs)))
    }
    assert.deepStrictEqual(made(7), made(7))
    assert.notDeepEqual(made(7), made(8))
  })

  it("knows the stretches of nested ranges that did not run", () => {
    const range = (startOffset: number, endOffset: number, count: number) => ({
      startOffset,
      endOffset,
      count
    })
    assert.deepStrictEqual(
      stretchesNotRun([range(0, 100, 3), range(10, 50, 0), range(20, 30, 1), range(60, 70, 2)]),
      [
        [10, 20],
        [30, 50]
      ]
    )
  })
})
