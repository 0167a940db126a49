/** `npm run soak`: processes are killed at random instants under load; afterwards the tables are audited. */
import { randomInt } from "node:crypto"
import { startTestPostgres } from "../test/TestPostgres.ts"
import { type FailoverResult, type FailoverSettings, soakFailover } from "./FailoverSoak.ts"
import { type SoakResult, soak } from "./SoakRun.ts"
import { MAX_SEED, SOAK_HELP, type SoakSettings, type SoakStore, soakPlan } from "./SoakSettings.ts"
import { soakWebhooks, type WebhookSoakResult, type WebhookSoakSettings } from "./WebhookSoak.ts"

const SHOWN_FAULTS = 25
const EX_USAGE = 64
const EX_UNAVAILABLE = 69
const EX_INTERRUPTED = 130

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(1)} s`

const tellServers = ({ kills, milliseconds, operations, starts }: SoakResult): void => {
  say(`  ${operations} operations in ${seconds(milliseconds)}, ${kills} kills`)
  say(`  ${starts.length} starts, the slowest in ${seconds(Math.max(...starts))}`)
}

const tellFailovers = ({ failovers, milliseconds, operations }: FailoverResult): void => {
  say(`  ${operations} operations in ${seconds(milliseconds)}`)
  for (const { acknowledged, promoted, resumed } of failovers) {
    say(
      `  primary killed; standby promoted after ${seconds(promoted)}, acknowledged after ${seconds(acknowledged)}, a write acknowledged after ${seconds(resumed)}: ${seconds(resumed - acknowledged)} after the acknowledgement`
    )
  }
}

const tell = ({
  checks,
  events,
  faults,
  planted
}: Pick<SoakResult, "checks" | "events" | "faults" | "planted">): void => {
  for (const [name, times] of [...events].sort()) say(`  ${name}: ${times}`)
  for (const [name, times] of checks) say(`  checked ${name}: ${times}`)
  say(`  planted faults that the audit found: ${planted.found} of ${planted.of}`)
  for (const fault of faults.slice(0, SHOWN_FAULTS)) say(`  FAILED ${fault}`)
  if (faults.length > SHOWN_FAULTS) say(`  ... and ${faults.length - SHOWN_FAULTS} more`)
}

const onPostgres = async <A>(use: (url: string) => Promise<A>): Promise<A> => {
  const server = await startTestPostgres()
  if (server === undefined) process.exit(EX_UNAVAILABLE)
  try {
    return await use(server.url)
  } finally {
    await server.stop()
  }
}

const soakOn = async (store: SoakStore, settings: SoakSettings): Promise<SoakResult> => {
  const { clients, kills, operations, processes } = settings
  say(`${store}: ${processes} processes, ${clients} clients, ${operations} operations, ${kills} kills`)
  const result = await (store === "pglite" ? soak(settings) : onPostgres((url) => soak(settings, url)))
  tellServers(result)
  return result
}

const soakWorkers = async (settings: WebhookSoakSettings): Promise<WebhookSoakResult> => {
  say(`webhooks: ${settings.workers} workers, ${settings.kills} kills`)
  const result = await onPostgres((url) => soakWebhooks(settings, url))
  say(`  ${result.kills} kills in ${seconds(result.milliseconds)}`)
  return result
}

const soakFailovers = async (settings: FailoverSettings): Promise<FailoverResult> => {
  const { clients, failovers, processes } = settings
  say(`failover: ${processes} processes, ${clients} clients, ${failovers} failovers`)
  const server = await startTestPostgres()
  if (server?.own === undefined) process.exit(EX_UNAVAILABLE)
  try {
    const result = await soakFailover(settings, { ...server, own: server.own })
    tellFailovers(result)
    return result
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
  const conclude = (result: SoakResult | WebhookSoakResult | FailoverResult): void => {
    tell(result)
    for (const times of result.checks.values()) passed += times
    failed += result.faults.length
  }
  for (const { settings, store } of plan.stores) conclude(await soakOn(store, settings))
  if (plan.webhooks !== undefined) conclude(await soakWorkers(plan.webhooks))
  if (plan.failover !== undefined) conclude(await soakFailovers(plan.failover))
  say(`${passed} passed, ${failed} failed`)
  process.exitCode = failed === 0 ? 0 : 1
}

// What runs below this process ends with it; a signal alone would leave that running.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => process.exit(EX_INTERRUPTED))
}
await run()
process.exit()
