import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { runMutant } from "./MutantRun.ts"
import { MUTANTS } from "./Mutants.ts"
import { mutated } from "./MutatedSources.ts"

const ROOT = new URL("../../../../", import.meta.url)

/** Some that are found soon, of the domain and of a store; `npm run simulate:mutants` runs all. */
const QUICK = ["reserved amounts do not count against a budget", "changes are admitted on any revision"]

describe("mutants", () => {
  it("apply to the sources as they are", () => {
    for (const mutant of MUTANTS) {
      const source = readFileSync(new URL(mutant.file, ROOT), "utf8")
      assert.notStrictEqual(mutated(source, mutant), source, mutant.name)
    }
  })

  for (const name of QUICK) {
    it(`is found: ${name}`, async () => {
      assert.isDefined((await runMutant(name, 1)).invariant)
    })
  }
})
