import { describe, it } from "@effect/vitest"
import { checkHostileCalls } from "@svc/testkit/HostileCalls"
import { Layer } from "effect"
import { preparedStore } from "./PreparedPglite.ts"
import { portsBesideStore } from "./ProgramsOnPostgres.ts"

/** Enough for most places of most programs; the test on the memory store calls them all. */
const RUNS = 300
const SEED = Math.floor(Math.random() * 0x7fffffff)

describe("the programs on PGlite", () => {
  it(`refuse what HTTP could not carry with their own errors, and store nothing (seed ${SEED})`, () =>
    checkHostileCalls({
      ports: Layer.fresh(Layer.merge(preparedStore, portsBesideStore)),
      numRuns: RUNS,
      seed: SEED
    }))
})
