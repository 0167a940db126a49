/** `npm run soak`: server processes are killed at random instants under load; afterwards the tables are audited. */
import { randomInt } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { startTestPostgres } from "../test/TestPostgres.ts"
import { missedFaults, PLANTED_FAULTS } from "./PlantedFaults.ts"
import { readDevelopmentFile } from "./RetryingClient.ts"
import { type SeededRandom, seededRandom } from "./SeededRandom.ts"
import { type FleetServer, pause, startServer } from "./ServerFleet.ts"
import { SOAK_HELP, type SoakSettings, type SoakStore, soakPlan } from "./SoakSettings.ts"
import { type AuditInput, auditTables } from "./TableAuditor.ts"
import { pgliteTables, postgresTables, type ReadTables } from "./Tables.ts"
import { newWorld, prepare, type SoakWorld, soakClient } from "./Workload.ts"

const MAX_SEED = 2 ** 31 - 1
const POLL_MILLISECONDS = 10
const LONGEST_DELAY_MILLISECONDS = 400
const SHOWN_FAULTS = 25
const EX_USAGE = 64
const EX_UNAVAILABLE = 69

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

/** How many of the kills may hit a process that still starts. */
const SHARE_OF_STARTING = 0.15

/** Kills spread over the operations, each at a random instant. */
const killAll = async (
  servers: ReadonlyArray<FleetServer>,
  settings: SoakSettings,
  world: SoakWorld,
  random: SeededRandom
): Promise<void> => {
  for (let kill = 0; kill < settings.kills; kill++) {
    const due = Math.floor(((kill + random.next()) / settings.kills) * settings.operations)
    const delay = random.integer(0, LONGEST_DELAY_MILLISECONDS)
    const hitsAny = random.next() < SHARE_OF_STARTING
    const preferred = random.integer(0, servers.length - 1)
    while (world.done < due) await pause(POLL_MILLISECONDS)
    await pause(delay)
    if (!hitsAny) await Promise.race(servers.map((server) => server.untilReady()))
    // From the preferred one on, the first that serves.
    const order = [...servers.slice(preferred), ...servers.slice(0, preferred)]
    const victim = hitsAny ? order[0] : order.find((server) => server.isReady())
    victim?.kill()
  }
}

const load = async (
  servers: ReadonlyArray<FleetServer>,
  folder: string,
  settings: SoakSettings,
  world: SoakWorld
): Promise<void> => {
  const random = seededRandom(settings.seed)
  const file = readDevelopmentFile(folder)
  const optionsOf = (name: string) => ({ servers, file, world, random: random.fork(), name })
  await prepare(optionsOf("first"))
  const begun = Date.now()
  const killing = { isOver: false }
  const killer = killAll(servers, settings, world, random.fork()).finally(() => {
    killing.isOver = true
  })
  const clients = Array.from({ length: settings.clients }, (_, at) => soakClient(optionsOf(`c${at}`)))
  await Promise.all(
    clients.map(async ({ step }) => {
      while (world.done < settings.operations || !killing.isOver) await step()
    })
  )
  await killer
  const seconds = (Date.now() - begun) / 1000
  say(`  ${world.done} operations in ${seconds.toFixed(1)} s, ${settings.kills} kills`)
}

interface Result {
  readonly passed: number
  readonly failed: number
}

const report = (world: SoakWorld, input: AuditInput): Result => {
  const audit = auditTables(input)
  const missed = missedFaults(input)
  for (const [name, times] of [...world.log.counts].sort()) say(`  ${name}: ${times}`)
  for (const [name, times] of audit.counts) say(`  checked ${name}: ${times}`)
  say(
    `  planted faults that the audit found: ${PLANTED_FAULTS.size - missed.length} of ${PLANTED_FAULTS.size}`
  )
  const faults = [
    ...world.log.faults,
    ...audit.faults,
    ...missed.map((name) => `the audit does not find ${name}`)
  ]
  for (const fault of faults.slice(0, SHOWN_FAULTS)) say(`  FAILED ${fault}`)
  if (faults.length > SHOWN_FAULTS) say(`  ... and ${faults.length - SHOWN_FAULTS} more`)
  return { passed: [...audit.counts.values()].reduce((sum, times) => sum + times, 0), failed: faults.length }
}

const soak = async (
  settings: SoakSettings,
  storeUrl: string | undefined,
  readTables: (folder: string) => Promise<ReadTables>
) => {
  const folder = mkdtempSync(join(tmpdir(), "svc-soak-"))
  const world = newWorld()
  const starts: Array<number> = []
  const options = {
    env: { SVC_DATA_DIR: folder, SVC_STORE: storeUrl ?? `pglite:${join(folder, "pglite")}` },
    onReady: (milliseconds: number) => {
      starts.push(milliseconds)
    },
    onFault: (fault: string) => world.log.faults.push(fault)
  }
  // The first one alone makes the folder's files.
  const servers = [await startServer(options)]
  try {
    await servers[0]?.untilReady()
    while (servers.length < settings.processes) servers.push(await startServer(options))
    await Promise.all(servers.map((server) => server.untilReady()))
    await load(servers, folder, settings, world)
    await Promise.all(servers.map((server) => server.end()))
    say(`  ${starts.length} starts, the slowest in ${(Math.max(...starts) / 1000).toFixed(1)} s`)
    const { organization_id: organization } = readDevelopmentFile(folder)
    const tables = await (await readTables(folder))(organization)
    return report(world, { ...tables, organization, writes: world.log.writes, approved: world.approved })
  } finally {
    await Promise.all(servers.map((server) => server.end()))
    rmSync(folder, { recursive: true, force: true })
  }
}

const soakOn = async (store: SoakStore, settings: SoakSettings) => {
  say(
    `${store}: ${settings.processes} processes, ${settings.clients} clients, ${settings.operations} operations, ${settings.kills} kills`
  )
  if (store === "pglite")
    return soak(settings, undefined, async (folder) => pgliteTables(join(folder, "pglite")))
  const server = await startTestPostgres()
  if (server === undefined) process.exit(EX_UNAVAILABLE)
  try {
    return await soak(settings, server.url, async () => postgresTables(server.url))
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
  const results: Array<Result> = []
  for (const { settings, store } of plan.stores) results.push(await soakOn(store, settings))
  const sum = (which: "passed" | "failed") => results.reduce((total, result) => total + result[which], 0)
  say(`${sum("passed")} passed, ${sum("failed")} failed`)
  process.exitCode = sum("failed") === 0 ? 0 : 1
}

await run()
process.exit()
