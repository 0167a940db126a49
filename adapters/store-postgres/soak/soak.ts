/** `npm run soak`: server processes are killed at random instants under load; afterwards the tables are audited. */
import { randomInt } from "node:crypto"
import { startTestPostgres } from "../test/TestPostgres.ts"
import { type SoakResult, soak } from "./SoakRun.ts"
import { MAX_SEED, SOAK_HELP, type SoakSettings, type SoakStore, soakPlan } from "./SoakSettings.ts"

const SHOWN_FAULTS = 25
const EX_USAGE = 64
const EX_UNAVAILABLE = 69
const EX_INTERRUPTED = 130

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`

const tell = (result: SoakResult): void => {
  const { checks, events, faults, kills, milliseconds, operations, planted, starts } = result
  say(`  ${operations} operations in ${seconds(milliseconds)}, ${kills} kills`)
  say(`  ${starts.length} starts, the slowest in ${seconds(Math.max(...starts))}`)
  for (const [name, times] of [...events].sort()) say(`  ${name}: ${times}`)
  for (const [name, times] of checks) say(`  checked ${name}: ${times}`)
  say(`  planted faults that the audit found: ${planted.found} of ${planted.of}`)
  for (const fault of faults.slice(0, SHOWN_FAULTS)) say(`  FAILED ${fault}`)
  if (faults.length > SHOWN_FAULTS) say(`  ... and ${faults.length - SHOWN_FAULTS} more`)
}

const soakOn = async (store: SoakStore, settings: SoakSettings): Promise<SoakResult> => {
  const { clients, kills, operations, processes } = settings
  say(`${store}: ${processes} processes, ${clients} clients, ${operations} operations, ${kills} kills`)
  if (store === "pglite") return soak(settings)
  const server = await startTestPostgres()
  if (server === undefined) process.exit(EX_UNAVAILABLE)
  try {
    return await soak(settings, server.url)
  } finally {
    await server.stop()
  }
}

const run = async (): Promise<void> => {
  const given = process.argv.slice(2)
  if (given.includes("--help")) {
    say(SOAK_HELP)
    return
  }
  const plan = soakPlan(given, () => randomInt(MAX_SEED))
  if (typeof plan === "string") {
    process.stderr.write(`${plan}\n\n${SOAK_HELP}`)
    process.exitCode = EX_USAGE
    return
  }
  say(`seed ${plan.seed} (repeat with --seed=${plan.seed})`)
  let passed = 0
  let failed = 0
  for (const { settings, store } of plan.stores) {
    const result = await soakOn(store, settings)
    tell(result)
    for (const times of result.checks.values()) passed += times
    failed += result.faults.length
  }
  say(`${passed} passed, ${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
}

// What runs below this process ends with it; a signal alone would leave that running.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => process.exit(EX_INTERRUPTED))
}
await run()
process.exit()
