import { assert, describe, it } from "@effect/vitest"
import { readCorpus } from "./Corpus.ts"
import { tryInput } from "./FuzzRun.ts"
import { bytesOf } from "./FuzzTarget.ts"
import { TARGETS } from "./Targets.ts"

describe("what fuzzing has found, and what reaches the code", () => {
  for (const [name, load] of Object.entries(TARGETS)) {
    it(`is right for ${name}`, async () => {
      const target = await load()
      const inputs = [...target.seeds.map(bytesOf), ...readCorpus(name)]
      assert.isAbove(inputs.length, target.seeds.length)
      for (const input of inputs) assert.isUndefined(await tryInput(target, input))
    })
  }
})
