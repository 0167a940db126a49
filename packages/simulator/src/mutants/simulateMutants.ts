/** `npm run simulate:mutants [-- NAME ...]`: plants each mutant in turn and says how the simulation found it. */
import { type MutantReport, runMutant } from "./MutantRun.ts"
import { MUTANTS } from "./Mutants.ts"

const AT_ONCE = 2
const SEED = 1

const wanted = process.argv.slice(2)
const queue = MUTANTS.map(({ name }) => name).filter((name) => wanted.length === 0 || wanted.includes(name))
const reports: Array<MutantReport> = []

const print = (cells: ReadonlyArray<string | number>): void => {
  process.stdout.write(`| ${cells.join(" | ")} |\n`)
}

const work = async (): Promise<void> => {
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    const report = await runMutant(name, SEED)
    reports.push(report)
    print([report.mutant, report.invariant ?? "NOT FOUND", report.steps, report.milliseconds])
  }
}

print(["mutant", "found by", "steps", "ms"])
print(["---", "---", "---:", "---:"])
await Promise.all(Array.from({ length: AT_ONCE }, work))
const missed = reports.filter(({ invariant }) => invariant === undefined)
process.stdout.write(`\n${reports.length} mutants, ${reports.length - missed.length} found\n`)
process.exitCode = missed.length === 0 ? 0 : 1
