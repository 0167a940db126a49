import { describe, it } from "@effect/vitest"
import { checkHostileCalls } from "@svc/testkit/HostileCalls"
import { memoryPrograms } from "./MemoryPrograms.ts"
import { LONG, runSettings } from "./RunSettings.ts"

const { replay, runs: numRuns, ...settings } = runSettings(1500)

describe("the programs on the memory store", () => {
  it(
    `refuse what HTTP could not carry with their own errors, and store nothing (${replay})`,
    () => checkHostileCalls({ ports: memoryPrograms(settings.seed), numRuns, ...settings }),
    LONG
  )
})
