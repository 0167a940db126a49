import { join } from "node:path"
import { SHORT_LIVED_PGLITE } from "../test/PreparedPglite.ts"
import { makeDeploymentFolder } from "./DeploymentFolder.ts"
import { killAtRandom } from "./KillPlan.ts"
import { missedFaults, PLANTED_FAULTS } from "./PlantedFaults.ts"
import { seededRandom } from "./SeededRandom.ts"
import { type FleetServer, startServer } from "./ServerFleet.ts"
import { migrateServer } from "./ServerProgram.ts"
import type { SoakSettings } from "./SoakSettings.ts"
import { type AuditInput, auditTables } from "./TableAuditor.ts"
import { pgliteTables, postgresTables } from "./Tables.ts"
import { type ClientOptions, newWorld, prepare, type SoakWorld, soakClient } from "./Workload.ts"

/** Every so many servers of a fleet one is a development server; the others are what runs in production. */
const SERVERS_PER_DEVELOPMENT_ONE = 3

/** What came out of one soak. */
export interface SoakResult {
  readonly operations: number
  readonly kills: number
  readonly milliseconds: number
  /** How long each start took until the process was ready, in milliseconds. */
  readonly starts: ReadonlyArray<number>
  /** What clients have met, by name. */
  readonly events: ReadonlyMap<string, number>
  /** How often the audit made each of its checks, and they held. */
  readonly checks: ReadonlyMap<string, number>
  /** Planted faults that the audit found, of how many. */
  readonly planted: { readonly found: number; readonly of: number }
  /** Everything that does not hold, the planted faults that were missed included. */
  readonly faults: ReadonlyArray<string>
}

const load = async (
  settings: SoakSettings,
  { servers, tenant, world }: Pick<ClientOptions, "servers" | "tenant" | "world">
): Promise<number> => {
  const random = seededRandom(settings.seed)
  const optionsOf = (name: string) => ({ servers, tenant, world, random: random.fork(), name })
  await prepare(optionsOf("first"))
  const begun = Date.now()
  const killing = { isOver: false }
  const killer = killAtRandom(servers, settings, () => world.done, random.fork()).finally(() => {
    killing.isOver = true
  })
  const clients = Array.from({ length: settings.clients }, (_, at) => soakClient(optionsOf(`c${at}`)))
  await Promise.all([
    killer,
    clients[0]?.identical(),
    ...clients.map(async ({ step }) => {
      while (world.done < settings.operations || !killing.isOver) await step()
    })
  ])
  return Date.now() - begun
}

const audit = (world: SoakWorld, input: AuditInput): Pick<SoakResult, "checks" | "planted" | "faults"> => {
  const { counts, faults } = auditTables(input)
  const missed = missedFaults(input)
  return {
    checks: counts,
    planted: { found: PLANTED_FAULTS.size - missed.length, of: PLANTED_FAULTS.size },
    faults: [...world.log.faults, ...faults, ...missed.map((name) => `the audit does not find ${name}`)]
  }
}

/**
 * Kills server processes at random instants under load, then audits the tables. `postgresUrl` is a server's, which as many
 * processes share as the settings say; without it there is one process, on PGlite, in a folder that `fill` may put a
 * database into beforehand.
 */
export const soak = async (
  settings: SoakSettings,
  postgresUrl?: string,
  fill: (folder: string) => Promise<void> = () => Promise.resolve()
): Promise<SoakResult> => {
  const folder = makeDeploymentFolder()
  const pglite = join(folder.path, "pglite")
  const world = newWorld()
  const starts: Array<number> = []
  const start = (at: number) =>
    startServer({
      program: postgresUrl === undefined || at % SERVERS_PER_DEVELOPMENT_ONE === 0 ? "development" : "serve",
      folder,
      nodeArguments: postgresUrl === undefined ? SHORT_LIVED_PGLITE : [],
      store: postgresUrl ?? `pglite:${pglite}`,
      onReady: (milliseconds) => starts.push(milliseconds),
      onFault: (fault) => world.log.faults.push(fault)
    })
  const servers: Array<FleetServer> = []
  try {
    if (postgresUrl === undefined) await fill(pglite)
    else await migrateServer(postgresUrl)
    while (servers.length < settings.processes) servers.push(await start(servers.length))
    await Promise.all(servers.map((server) => server.untilReady()))
    const milliseconds = await load(settings, { servers, tenant: folder.tenant, world })
    await Promise.all(servers.map((server) => server.end()))
    const { organization_id: organization } = folder.tenant
    const readTables = postgresUrl === undefined ? pgliteTables(pglite) : postgresTables(postgresUrl)
    const tables = await readTables(organization)
    const { approved, done, log } = world
    return {
      operations: done,
      kills: servers.reduce((sum, server) => sum + server.kills(), 0),
      milliseconds,
      starts,
      events: log.counts,
      ...audit(world, { ...tables, organization, writes: log.writes, approved })
    }
  } finally {
    await Promise.all(servers.map((server) => server.end()))
    folder.remove()
  }
}
