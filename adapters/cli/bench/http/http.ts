/** `npm run bench:http`: pairs of authorize and commit over HTTP, beside services written by hand and beside `pgbench`. */
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { findPgbench } from "@svc/store-postgres/bench/BareLoop"
import { startTestPostgres, type TestPostgres } from "@svc/store-postgres/test/TestPostgres"
import { openDatabase } from "../Database.ts"
import { installPeers } from "../Peers.ts"
import { databaseSeconds } from "../ProcessorTime.ts"
import { endOf, saidBy, startProgram } from "./Child.ts"
import { startEmbedded } from "./EmbeddedService.ts"
import type { Load, LoadResult } from "./Load.ts"
import { makeTenant, OWN_ROOT, prepareOurs, sizesOf, startOurs } from "./OurService.ts"
import { startPeer } from "./PeerService.ts"
import { startPgbench } from "./PgbenchSystem.ts"
import { type Cell, measureHttp, type System, type SystemName } from "./System.ts"
import { printCell, ratioLine, type Table } from "./Table.ts"

const HELP = `npm run bench:http -- [options]
  --rounds=3              rounds, in each of which every system is measured
  --seconds=3             of each measurement
  --connections=1,8,32,128
  --mandates=uniform,hot  600 mandates, or one
  --only=ours,service     systems: pgbench, service, grouped, embedded, ours, webhook; others are not started
  --against=FOLDER        another checkout of this repository, whose service is measured too
  --quick                 2 rounds of 3 s at 32 connections
`
const EX_UNAVAILABLE = 69
const EX_USAGE = 64
const NAMES: ReadonlyArray<SystemName> = ["pgbench", "service", "grouped", "embedded", "ours", "webhook"]
/** Those that are measured by the service's own process, or need its rows as a pattern. */
const OF_OURS: ReadonlyArray<SystemName> = ["ours", "webhook", "pgbench"]
const UNIFORM_MANDATES = 600
const UNIFORM = { from: 0, to: UNIFORM_MANDATES }
/** Room for the pools of all services, and for `pgbench`. */
const MAX_CONNECTIONS = 300
const SHARED_BUFFERS = "1GB"
/** Files of the write-ahead log that are made beforehand. */
const WAL_FILES = 256
const WAL_FILE_MEGABYTES = 16
/** A server's rate rises for so long, while Node compiles what is hot; a service by hand has less to compile. */
const WARM_UP_SECONDS = 20
const WARM_UP_CONNECTIONS = 32
/** Load before each measurement, in seconds, since every server was idle while others were measured. `pgbench` has its own. */
const LEAD_SECONDS = 1

const option = (name: string, byDefault: string): string =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? byDefault
const list = (name: string, byDefault: string): ReadonlyArray<string> => option(name, byDefault).split(",")

const isQuick = process.argv.includes("--quick")
const ROUNDS = Number(option("rounds", isQuick ? "2" : "3"))
const SECONDS = Number(option("seconds", "3"))
const CONNECTIONS = list("connections", isQuick ? "32" : "1,8,32,128").map(Number)
const MANDATES = list("mandates", "uniform,hot") as ReadonlyArray<Cell["mandates"]>
const ONLY = list("only", NAMES.join()) as ReadonlyArray<SystemName>
/** Folder of another checkout; empty without one. */
const AGAINST = option("against", "")
const MEASURED = [
  ...NAMES.filter((name) => ONLY.includes(name)),
  ...(AGAINST === "" ? [] : ["against" as const])
]

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

const CELLS: ReadonlyArray<Cell> = MANDATES.flatMap((mandates) =>
  CONNECTIONS.map((connections): Cell => ({ mandates, connections }))
)
/** Each measurement at one mandate has a new one. */
const HOT_MANDATES = ROUNDS * CONNECTIONS.length
const ALL_MANDATES = UNIFORM_MANDATES + HOT_MANDATES

/**
 * Makes the server like one that has been used for a while: it keeps its pages in memory, and the files of its write-ahead log
 * exist. A new server fills each of them with zeros while all writes wait, 17 to 60 ms, so that who writes most would be
 * measured by that.
 */
const breakIn = async ({ own, url }: TestPostgres): Promise<void> => {
  if (own === undefined) return
  const set = openDatabase(url)
  await set(`alter system set max_connections = ${MAX_CONNECTIONS}`)
  await set(`alter system set shared_buffers = '${SHARED_BUFFERS}'`)
  await set(`alter system set min_wal_size = '${WAL_FILES * WAL_FILE_MEGABYTES}MB'`)
  await set(`alter system set max_wal_size = '${2 * WAL_FILES * WAL_FILE_MEGABYTES}MB'`)
  await own.shutDown()
  await own.start()
  const query = openDatabase(url)
  for (let file = 0; file < WAL_FILES; file += 1) {
    await query("select pg_logical_emit_message(false, 'svc', '')::text")
    await query("select pg_switch_wal()::text")
  }
  await query("checkpoint")
}

/** Makes databases on a server that has room for all connections. */
const databasesOf = async (server: TestPostgres) => {
  await breakIn(server)
  const query = openDatabase(server.url)
  let databases = 0
  return {
    databaseSeconds: await databaseSeconds(query),
    newDatabase: async (): Promise<string> => {
      databases += 1
      const name = `bench_${process.pid}_${databases}`
      await query(`create database ${name}`)
      return Object.assign(new URL(server.url), { pathname: `/${name}` }).href
    }
  }
}

/** Programs that make the load and receive webhooks. */
const startCompanions = async () => {
  const loader = startProgram("./LoadProgram.ts", [])
  const receiver = startProgram("../ReceiverProgram.ts", [])
  const port = Number(await saidBy(receiver))
  return {
    receiverUrl: `http://127.0.0.1:${port}/`,
    load: (asked: Load): Promise<LoadResult> => {
      loader.send(asked)
      return saidBy(loader) as Promise<LoadResult>
    },
    stop: async () => {
      for (const child of [loader, receiver]) {
        child.disconnect()
        await endOf(child)
      }
    }
  }
}

type Systems = Map<SystemName, System>
type Companions = Awaited<ReturnType<typeof startCompanions>>

interface Place {
  readonly newDatabase: () => Promise<string>
  /** Opens the log of a server. */
  readonly openLog: (name: SystemName) => number
  readonly companions: Companions
  /** Ends what was started, in turn. */
  readonly stops: Array<() => Promise<void>>
}

const startPeers = async (systems: Systems, { companions, newDatabase, openLog, stops }: Place) => {
  const mandates = Array.from({ length: ALL_MANDATES }, (_, number) => `mnd_${number}`)
  for (const name of ["service", "grouped"] as const) {
    if (!MEASURED.includes(name)) continue
    const peer = await startPeer(await newDatabase(), mandates, name === "grouped", openLog(name))
    systems.set(name, measureHttp(peer, mandates, companions.load))
    stops.push(peer.stop)
  }
}

/** The service of a checkout, for a tenant without a webhook endpoint. */
const startCheckout = async (
  systems: Systems,
  name: "ours" | "against",
  root: string,
  { companions, newDatabase, openLog, stops }: Place
) => {
  const database = await prepareOurs(await newDatabase(), root)
  const service = await startOurs(database, openLog(name))
  stops.push(service.stop)
  const tenant = makeTenant(database, ALL_MANDATES)
  systems.set(name, measureHttp(await service.systemOf(tenant), tenant.mandates, companions.load))
  return { database, service }
}

const startEmbeddedSystem = async (systems: Systems, { newDatabase, openLog, stops }: Place) => {
  if (!MEASURED.includes("embedded")) return
  const database = await prepareOurs(await newDatabase())
  const { stop, system } = await startEmbedded(
    database,
    makeTenant(database, ALL_MANDATES),
    openLog("embedded")
  )
  stops.push(stop)
  systems.set("embedded", system)
}

const WARM_UP = { ...UNIFORM, connections: WARM_UP_CONNECTIONS, seconds: WARM_UP_SECONDS }

/** Starts and warms up what is measured. */
const startSystems = async (pgbench: string, place: Place): Promise<Systems> => {
  const systems: Systems = new Map()
  await startPeers(systems, place)
  await startEmbeddedSystem(systems, place)
  if (AGAINST !== "") await startCheckout(systems, "against", AGAINST, place)
  const isNeeded = MEASURED.some((name) => OF_OURS.includes(name))
  const ours = isNeeded ? await startCheckout(systems, "ours", OWN_ROOT, place) : undefined
  for (const system of systems.values()) await system.measure(WARM_UP)
  if (ours === undefined) return systems
  if (MEASURED.includes("webhook")) {
    const tenant = makeTenant(ours.database, ALL_MANDATES)
    const hooked = await ours.service.systemOf(tenant, place.companions.receiverUrl)
    systems.set("webhook", measureHttp(hooked, tenant.mandates, place.companions.load))
  }
  if (MEASURED.includes("pgbench")) {
    const sizes = await sizesOf(ours.database)
    systems.set("pgbench", await startPgbench(pgbench, await place.newDatabase(), ALL_MANDATES, sizes))
  }
  return systems
}

/** Measures every system in each cell, round by round; each round begins with another. */
const measureAll = async (systems: Systems, databaseSeconds: () => number): Promise<Table> => {
  const table: Table = CELLS.map((cell) => ({ cell, figures: new Map(MEASURED.map((name) => [name, []])) }))
  for (let round = 0; round < ROUNDS; round += 1) {
    const shift = round % MEASURED.length
    for (const [index, { cell, figures }] of table.entries()) {
      const hot = UNIFORM_MANDATES + round * CONNECTIONS.length + (index % CONNECTIONS.length)
      const range = cell.mandates === "hot" ? { from: hot, to: hot + 1 } : UNIFORM
      for (const name of [...MEASURED.slice(shift), ...MEASURED.slice(0, shift)]) {
        const system = systems.get(name)!
        if (name !== "pgbench")
          await system.measure({ ...UNIFORM, connections: cell.connections, seconds: LEAD_SECONDS })
        const before = databaseSeconds()
        const asked = { ...range, connections: cell.connections, seconds: SECONDS }
        const measured = await system.measure(asked)
        figures.get(name)!.push({ ...measured, databaseSeconds: databaseSeconds() - before })
      }
    }
    process.stderr.write(`round ${round + 1} of ${ROUNDS} is done\n`)
  }
  return table
}

/** Prints the recount of every system; how many faults there are. */
const recountAll = async (systems: Systems): Promise<number> => {
  let faults = 0
  for (const [name, system] of systems) {
    const found = await system.recount()
    faults += found.length
    say(`recount of ${name}: ${found.length === 0 ? "right" : `${found.length} wrong: ${found[0]}`}`)
  }
  return faults
}

const run = async (server: TestPostgres, pgbench: string, folder: string): Promise<void> => {
  const { databaseSeconds, newDatabase } = await databasesOf(server)
  const companions = await startCompanions()
  const stops = [companions.stop]
  const openLog = (name: SystemName) => openSync(join(folder, name), "a")
  const systems = await startSystems(pgbench, { newDatabase, openLog, companions, stops })
  const table = await measureAll(systems, databaseSeconds)
  say(
    `medians of ${ROUNDS} rounds of ${SECONDS} s (least-greatest); p50 and p99 of a pair, processor time in ms`
  )
  say("Postgres' time for pgbench has the start of its sessions in it, which the others have kept")
  for (const row of table) for (const line of printCell(row)) say(line)
  const logged = readdirSync(folder).map(
    (name) => `${name} ${readFileSync(join(folder, name), "latin1").split("\n").length - 1}`
  )
  say(`lines logged: ${logged.join(", ")}`)
  const wrong = await recountAll(systems)
  const failed = table.flatMap(({ figures }) => [...figures.values()].flat()).flatMap(({ faults }) => faults)
  for (const [text, count] of failed) say(`${count} x ${text}`)
  if (wrong + failed.length > 0) process.exitCode = 1
  for (const stop of stops.reverse()) await stop()
  say(ratioLine(table))
}

const main = async (): Promise<void> => {
  const isKnown =
    ONLY.every((name) => NAMES.includes(name)) && [...CONNECTIONS, ROUNDS, SECONDS].every(Number.isFinite)
  if (process.argv.includes("--help") || !isKnown) {
    process.stderr.write(HELP)
    process.exitCode = isKnown ? 0 : EX_USAGE
    return
  }
  const server = await startTestPostgres()
  const pgbench = findPgbench()
  if (server === undefined || pgbench === undefined || !installPeers()) {
    process.stderr.write("This needs a Postgres server, pgbench, and fastify and pg from the npm registry.\n")
    process.exitCode = EX_UNAVAILABLE
    await server?.stop()
    return
  }
  const folder = mkdtempSync(join(tmpdir(), "svc-bench-http-"))
  try {
    await run(server, pgbench, folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await server.stop()
  }
}

await main()
process.exit()
