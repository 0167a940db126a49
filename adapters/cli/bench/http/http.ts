/** `npm run bench:http`: pairs of authorize and commit over HTTP, beside services written by hand and beside `pgbench`. */
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { findPgbench } from "@svc/store-postgres/bench/BareLoop"
import { startTestPostgres, type TestPostgres } from "@svc/store-postgres/test/TestPostgres"
import { openDatabase } from "../Database.ts"
import { installPeers } from "../Peers.ts"
import { endOf, saidBy, startProgram } from "./Child.ts"
import type { Load, LoadResult } from "./Load.ts"
import { makeTenant, prepareOurs, sizesOf, startOurs } from "./OurService.ts"
import { startPeer } from "./PeerService.ts"
import { startPgbench } from "./PgbenchSystem.ts"
import { familySeconds, parentOf } from "./ProcessorTime.ts"
import { type Cell, type Figures, measureHttp, type System, type SystemName } from "./System.ts"
import { printCell, ratioLine, type Table } from "./Table.ts"

const HELP = `npm run bench:http -- [options]
  --rounds=3              rounds, in each of which every system is measured
  --seconds=4             of each measurement
  --connections=1,8,32,128
  --mandates=uniform,hot  600 mandates, or one
  --only=ours,service     systems: pgbench, service, grouped, ours, webhook
  --quick                 2 rounds of 3 s at 32 connections
`
const EX_UNAVAILABLE = 69
const EX_USAGE = 64
const NAMES: ReadonlyArray<SystemName> = ["pgbench", "service", "grouped", "ours", "webhook"]
const UNIFORM_MANDATES = 600
/** Room for the pools of all services, and for `pgbench`. */
const MAX_CONNECTIONS = 300
const WARM_UP_SECONDS = 3
const WARM_UP_CONNECTIONS = 32

const option = (name: string, byDefault: string): string =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3) ?? byDefault
const list = (name: string, byDefault: string): ReadonlyArray<string> => option(name, byDefault).split(",")

const isQuick = process.argv.includes("--quick")
const ROUNDS = Number(option("rounds", isQuick ? "2" : "3"))
const SECONDS = Number(option("seconds", isQuick ? "3" : "4"))
const CONNECTIONS = list("connections", isQuick ? "32" : "1,8,32,128").map(Number)
const MANDATES = list("mandates", "uniform,hot") as ReadonlyArray<Cell["mandates"]>
const ONLY = list("only", NAMES.join()) as ReadonlyArray<SystemName>

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

const CELLS: ReadonlyArray<Cell> = MANDATES.flatMap((mandates) =>
  CONNECTIONS.map((connections): Cell => ({ mandates, connections }))
)
/** Each measurement at one mandate has a new one. */
const HOT_MANDATES = ROUNDS * CONNECTIONS.length
const ALL_MANDATES = UNIFORM_MANDATES + HOT_MANDATES

/** Makes databases on a server that has room for all connections. */
const databasesOf = async (server: TestPostgres) => {
  if (server.own !== undefined) {
    await openDatabase(server.url)(`alter system set max_connections = ${MAX_CONNECTIONS}`)
    await server.own.shutDown()
    await server.own.start()
  }
  const query = openDatabase(server.url)
  const [backend] = (await query("select pg_backend_pid() as pid")) as ReadonlyArray<{ readonly pid: number }>
  const postmaster = parentOf(backend?.pid ?? 0) ?? 0
  let databases = 0
  return {
    databaseSeconds: () => familySeconds(postmaster),
    newDatabase: async (): Promise<string> => {
      databases += 1
      const name = `bench_${process.pid}_${databases}`
      await query(`create database ${name}`)
      return Object.assign(new URL(server.url), { pathname: `/${name}` }).href
    }
  }
}

/** Starts what is to be measured, and what it needs. */
const startSystems = async (server: TestPostgres, pgbench: string, folder: string) => {
  const { databaseSeconds, newDatabase } = await databasesOf(server)
  const loader = startProgram("./LoadProgram.ts", [])
  const receiver = startProgram("../ReceiverProgram.ts", [])
  const receiverPort = Number(await saidBy(receiver))
  const logOf = (name: string) => join(folder, `${name}.log`)
  const open = (name: string) => openSync(logOf(name), "a")
  const names = Array.from({ length: ALL_MANDATES }, (_, number) => `mnd_${number}`)
  const load = (asked: Load): Promise<LoadResult> => {
    loader.send(asked)
    return saidBy(loader) as Promise<LoadResult>
  }

  const database = await prepareOurs(await newDatabase())
  const plain = await makeTenant(database, ALL_MANDATES)
  const hooked = await makeTenant(database, ALL_MANDATES)
  const ours = await startOurs(database, plain, hooked, {
    log: open("ours"),
    receiverUrl: `http://127.0.0.1:${receiverPort}/`
  })
  const peers = {
    service: await startPeer(await newDatabase(), names, false, open("service")),
    grouped: await startPeer(await newDatabase(), names, true, open("grouped"))
  }
  const systems: Partial<Record<SystemName, System>> = {
    ours: measureHttp(ours.plain, plain.mandates, load),
    webhook: measureHttp(ours.hooked, hooked.mandates, load),
    service: measureHttp(peers.service, names, load),
    grouped: measureHttp(peers.grouped, names, load)
  }
  const warmUp = { from: 0, to: UNIFORM_MANDATES, connections: WARM_UP_CONNECTIONS, seconds: WARM_UP_SECONDS }
  // Without the webhook's: it is the same process.
  for (const name of ["ours", "service", "grouped"] as const) await systems[name]!.measure(warmUp)
  systems.pgbench = await startPgbench(pgbench, await newDatabase(), ALL_MANDATES, await sizesOf(database))
  return {
    systems: systems as Readonly<Record<SystemName, System>>,
    databaseSeconds,
    logLines: () =>
      (["ours", "service", "grouped"] as const).map(
        (name) => `${name} ${readFileSync(logOf(name), "latin1").split("\n").length - 1}`
      ),
    stop: async () => {
      for (const system of [ours.plain, peers.service, peers.grouped]) await system.stop()
      for (const child of [loader, receiver]) {
        child.disconnect()
        await endOf(child)
      }
    }
  }
}

/** Measures every system in each cell, round by round; each round begins with another. */
const measureAll = async ({
  databaseSeconds,
  systems
}: Awaited<ReturnType<typeof startSystems>>): Promise<Table> => {
  const names = NAMES.filter((name) => ONLY.includes(name))
  const table: Table = CELLS.map((cell) => ({ cell, figures: new Map(names.map((name) => [name, []])) }))
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, { cell, figures }] of table.entries()) {
      const hot = UNIFORM_MANDATES + round * CONNECTIONS.length + (index % CONNECTIONS.length)
      const range = cell.mandates === "hot" ? { from: hot, to: hot + 1 } : { from: 0, to: UNIFORM_MANDATES }
      const shift = round % names.length
      for (const name of [...names.slice(shift), ...names.slice(0, shift)]) {
        const before = databaseSeconds()
        const measured = await systems[name].measure({
          ...range,
          connections: cell.connections,
          seconds: SECONDS
        })
        const found: Figures = { ...measured, databaseSeconds: databaseSeconds() - before }
        figures.get(name)?.push(found)
      }
    }
    process.stderr.write(`round ${round + 1} of ${ROUNDS} is done\n`)
  }
  return table
}

const run = async (server: TestPostgres, pgbench: string): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "svc-bench-http-"))
  const started = await startSystems(server, pgbench, folder)
  const table = await measureAll(started)
  say(`medians of ${ROUNDS} rounds of ${SECONDS} s (least-greatest)`)
  for (const row of table) for (const line of printCell(row)) say(line)
  say(`lines logged: ${started.logLines().join(", ")}`)
  let wrong = 0
  for (const name of NAMES) {
    const faults = await started.systems[name].recount()
    wrong += faults.length
    say(`recount of ${name}: ${faults.length === 0 ? "right" : `${faults.length} wrong: ${faults[0]}`}`)
  }
  const failed = table.flatMap(({ figures }) => [...figures.values()].flat()).flatMap(({ faults }) => faults)
  for (const [text, count] of failed) say(`${count} x ${text}`)
  say(ratioLine(table))
  if (wrong + failed.length > 0) process.exitCode = 1
  await started.stop()
  rmSync(folder, { recursive: true, force: true })
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
  try {
    await run(server, pgbench)
  } finally {
    await server.stop()
  }
}

await main()
process.exit()
