import { describe, it } from "@effect/vitest"
import { checkLifecycle } from "@svc/testkit/LifecycleModel"
import { memoryPrograms } from "./MemoryPrograms.ts"
import { LONG, runSettings } from "./RunSettings.ts"

const { replay, ...settings } = runSettings(40)

describe("the lifecycle of mandates", () => {
  it(
    `is what the model says, and what the auditor and a replay find (${replay})`,
    () => checkLifecycle({ ports: () => memoryPrograms(settings.seed), ...settings }),
    LONG
  )
})
