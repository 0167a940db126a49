/** `npm run simulate:mutants [-- NAME ...]`: plants each mutant in turn and says how the simulation found it. */
import { type MutantReport, runMutant } from "./MutantRun.ts"
import { MUTANTS } from "./Mutants.ts"

const AT_ONCE = 2
/** Tried in turn, each for so many steps, until the mutant is found. */
const SEEDS = Array.from({ length: 40 }, (_, index) => index + 1)

const wanted = process.argv.slice(2)
const queue = MUTANTS.map(({ name }) => name).filter((name) => wanted.length === 0 || wanted.includes(name))
const reports: Array<MutantReport> = []

const print = (cells: ReadonlyArray<string | number>): void => {
  process.stdout.write(`| ${cells.join(" | ")} |\n`)
}

const find = async (name: string): Promise<{ readonly report: MutantReport; readonly seed: number }> => {
  const [first = 1, ...others] = SEEDS
  let found = { report: await runMutant(name, first), seed: first }
  for (const seed of others) {
    if (found.report.invariant !== undefined) break
    found = { report: await runMutant(name, seed), seed }
  }
  return found
}

const work = async (): Promise<void> => {
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    const found = await find(name)
    reports.push(found.report)
    const { invariant, milliseconds, mutant, steps } = found.report
    print([mutant, invariant ?? "NOT FOUND", found.seed, steps, milliseconds])
  }
}

print(["mutant", "found by", "seed", "steps", "ms"])
print(["---", "---", "---:", "---:", "---:"])
await Promise.all(Array.from({ length: AT_ONCE }, work))
const missed = reports.filter(({ invariant }) => invariant === undefined)
process.stdout.write(`\n${reports.length} mutants, ${reports.length - missed.length} found\n`)
process.exitCode = missed.length === 0 ? 0 : 1
