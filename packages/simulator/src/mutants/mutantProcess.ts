/** Simulates one mutant, named by the first argument, from the seed of the second, and sends how it was found. */
import { MUTANT_STEPS, type MutantReport } from "./MutantRun.ts"
import { loadMutated } from "./MutatedSources.ts"

const [name = "", seed = "1"] = process.argv.slice(2)
loadMutated(name)
const { simulate } = await import("../Simulation.ts")
const began = Date.now()
const { failures, steps } = simulate({ seed: Number(seed), steps: MUTANT_STEPS, shrinks: false })
const finding = failures[0]?.report.finding
const report: MutantReport = {
  mutant: name,
  ...(finding === undefined ? {} : finding),
  steps,
  milliseconds: Date.now() - began
}
process.send?.(report, () => process.disconnect())
