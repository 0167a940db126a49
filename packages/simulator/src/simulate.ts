/** `npm run simulate -- --seed S --steps N [--minutes M]`: simulates many small worlds in several processes. */
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { RarePaths, REQUIRED_PATHS } from "./RarePaths.ts"
import { type Failure, type SimulationOptions, type SimulationReport, simulate } from "./Simulation.ts"
import { readSettings, type SimulationSettings } from "./SimulationSettings.ts"
import { World } from "./World.ts"

const MILLISECONDS_PER_MINUTE = 60_000
const SEEDS = 2 ** 31
/** The argument of a process that runs a part. */
const AS_PART = "part"

/** What a process of its own is asked to run. */
interface Part extends Omit<SimulationOptions, "isOver"> {
  readonly until: number | undefined
}

const runPart = ({ until, ...options }: Part): SimulationReport =>
  simulate({ ...options, ...(until === undefined ? {} : { isOver: () => Date.now() >= until }) })

const inProcess = (part: Part): Promise<SimulationReport> =>
  new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), [AS_PART], {
      stdio: ["ignore", "inherit", "inherit", "ipc"]
    })
    child.once("message", (report) => resolve(report as SimulationReport))
    child.once("error", reject)
    child.once("exit", (code) => reject(new Error(`a simulating process ended with ${code}`)))
    child.send(part)
  })

const print = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

const printFailure = ({ report, shape }: Failure): void => {
  print(`\nBroken: ${report.finding?.invariant}`)
  print(`About: ${report.finding?.about}`)
  print(`After ${report.steps} steps. What happened last:`)
  for (const line of report.history) print(`  ${line}`)
  print(`Again: npm run simulate -- --world '${JSON.stringify(shape)}'`)
}

const printRare = (counts: RarePaths["counts"]): void => {
  for (const [path, count] of Object.entries(counts)) {
    const mark = (REQUIRED_PATHS as ReadonlyArray<string>).includes(path) ? "*" : " "
    print(`${String(count).padStart(8)} ${mark} ${path}`)
  }
}

const simulateAll = async ({ minutes, processes, seed, steps }: SimulationSettings): Promise<number> => {
  const until = minutes === undefined ? undefined : Date.now() + minutes * MILLISECONDS_PER_MINUTE
  print(`seed ${seed}`)
  const began = Date.now()
  const parts = Array.from({ length: processes }, (_, part) =>
    inProcess({ seed, steps: Math.ceil(steps / processes), part, of: processes, until })
  )
  const reports = await Promise.all(parts)
  const rare = new RarePaths()
  for (const report of reports) rare.add(report.rare)
  const sum = (member: "worlds" | "steps" | "checks" | "seconds") =>
    reports.reduce((total, report) => total + report[member], 0)
  printRare(rare.counts)
  const failures = reports.flatMap((report) => report.failures)
  for (const failure of failures) printFailure(failure)
  const days = Math.round(sum("seconds") / 86_400)
  print(
    `\n${sum("worlds")} worlds, ${days} simulated days, ${sum("checks")} checks, ${Math.round((Date.now() - began) / 1000)} s`
  )
  print(`${sum("steps")} steps, ${failures.length} violations`)
  return failures.length
}

if (process.argv[2] === AS_PART) {
  process.once("message", (part) => {
    process.send?.(runPart(part as Part), () => process.disconnect())
  })
} else {
  const settings = readSettings(process.argv.slice(2), Math.floor(Math.random() * SEEDS))
  if (settings.world === undefined) process.exitCode = (await simulateAll(settings)) > 0 ? 1 : 0
  else {
    const report = new World(settings.world).run()
    if (report.finding !== undefined) printFailure({ shape: settings.world, report })
    print(`${report.steps} steps, ${report.finding === undefined ? 0 : 1} violations`)
    process.exitCode = report.finding === undefined ? 0 : 1
  }
}
