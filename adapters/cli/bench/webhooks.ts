/** `npm run bench:webhooks`: deliveries per second to a receiver on loopback, beside others that send from a database. */
import { type ChildProcess, fork } from "node:child_process"
import { startTestPostgres } from "@svc/store-postgres/test/TestPostgres"
import { openDatabase } from "./Database.ts"
import { installPeers } from "./Peers.ts"
import { databaseSeconds, processSeconds } from "./ProcessorTime.ts"
import type { Load } from "./Sender.ts"
import type { SenderName } from "./SenderProgram.ts"

const EX_UNAVAILABLE = 69
const ALL: ReadonlyArray<SenderName> = ["ours", "graphile-worker", "pg-boss", "limit"]

const given = (name: string): string | undefined =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.split("=")[1]
const option = (name: string, byDefault: number): number => Number(given(name) ?? byDefault)
/** Names that `--only` has, after `ours`. */
const only = given("only")?.split(",")
const NAMES = ALL.filter((name) => name === "ours" || (only?.includes(name) ?? true))
const DELIVERIES = option("deliveries", 8000)
const ROUNDS = option("rounds", 5)
/** No round begins that would not end within this time, in seconds, if it took as long as the longest before it. */
const TIME_LIMIT_SECONDS = 220
/** A run that is stuck ends with an error after this time, in seconds. */
const ABORT_SECONDS = 239
/** One endpoint may have few attempts under way; the last, of two organizations, as many as there is room for. */
const ENDPOINTS = [1, 10]

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

const program = (file: string, ...words: ReadonlyArray<string>): ChildProcess =>
  fork(new URL(file, import.meta.url), words)

/** What a child says next; its end is a fault. */
const said = (child: ChildProcess): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const fail = (code: number | null) => reject(new Error(`a process ended with ${code}`))
    child.once("exit", fail)
    child.once("message", (message) => {
      child.off("exit", fail)
      resolve(message)
    })
  })

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    child.once("exit", () => resolve())
    child.disconnect()
  })

interface Measured {
  /** Deliveries per second, from the word to start until every one has arrived and is recorded. */
  readonly rate: number
  /** Processor time per delivery, in microseconds, of the sender's process, the database and the receiver. */
  readonly sender: number
  readonly database: number
  readonly receiver: number
}

/** Seconds of processor time so far. */
interface Processors {
  readonly database: () => number
  readonly receiver: () => number
}

const measure = async (
  name: SenderName,
  receiver: ChildProcess,
  load: Load,
  processors: Processors
): Promise<Measured> => {
  const sender = program("./SenderProgram.ts", name, JSON.stringify(load))
  await said(sender)
  receiver.send(load.deliveries)
  const complete = said(receiver)
  const done = said(sender)
  const before = { database: processors.database(), receiver: processors.receiver() }
  const begun = performance.now()
  sender.send("start")
  await complete
  sender.send("all arrived")
  const micros = Number(await done)
  const seconds = (performance.now() - begun) / 1000
  const each = (used: number) => (used * 1e6) / load.deliveries
  const database = each(processors.database() - before.database)
  const received = each(processors.receiver() - before.receiver)
  await ended(sender)
  return {
    rate: load.deliveries / seconds,
    sender: micros / load.deliveries,
    database,
    receiver: received
  }
}

const sorted = (values: ReadonlyArray<number>): ReadonlyArray<number> => [...values].sort((a, b) => a - b)
/** Of an even number of values, the mean of the two in the middle. */
const median = (values: ReadonlyArray<number>): number => {
  const inOrder = sorted(values)
  const at = (index: number): number => inOrder[index] ?? 0
  return (at(inOrder.length >> 1) + at((inOrder.length - 1) >> 1)) / 2
}
const withRange = (values: ReadonlyArray<number>): string => {
  const [low = 0] = sorted(values)
  return `${median(values).toFixed(0)} (${low.toFixed(0)}-${(sorted(values).at(-1) ?? 0).toFixed(0)})`
}

type Results = ReadonlyMap<SenderName, Array<Measured>>
const newResults = (): Results => new Map(NAMES.map((name): [SenderName, Array<Measured>] => [name, []]))

/** One table for so many endpoints; ratios are of the same round, because a busy machine slows down both. */
const report = (endpoints: number, results: Results): void => {
  const ratesOf = (name: SenderName) => (results.get(name) ?? []).map(({ rate }) => rate)
  const ours = ratesOf("ours")
  say(
    `to ${endpoints} endpoint${endpoints === 1 ? "" : "s"}, ${ours.length} rounds, median (range); processor time of sender + database + receiver`
  )
  for (const name of NAMES) {
    const micros = (["sender", "database", "receiver"] as const).map((part) =>
      withRange((results.get(name) ?? []).map((one) => one[part])).padStart(13)
    )
    const ratios = ratesOf(name).map((rate, round) => (ours[round] ?? 0) / rate)
    say(
      `  ${name.padEnd(16)} ${withRange(ratesOf(name)).padStart(20)} deliveries/s, ${micros.join(" + ")} us of processor time each, ours ${median(ratios).toFixed(2)} of it`
    )
  }
}

const run = async (): Promise<void> => {
  const server = await startTestPostgres()
  if (server === undefined || !installPeers()) {
    process.stderr.write(
      "This needs a Postgres server, and graphile-worker and pg-boss from the npm registry.\n"
    )
    process.exitCode = EX_UNAVAILABLE
    return
  }
  const receiver = program("./ReceiverProgram.ts")
  try {
    const port = Number(await said(receiver))
    const query = openDatabase(server.url)
    const processors = {
      database: await databaseSeconds(query),
      receiver: () => processSeconds(receiver.pid ?? 0)
    }
    let databases = 0
    const newDatabase = async (): Promise<string> => {
      databases += 1
      const name = `bench_${process.pid}_${databases}`
      await query(`create database ${name}`)
      return Object.assign(new URL(server.url), { pathname: `/${name}` }).href
    }
    const results = ENDPOINTS.map((endpoints) => ({ endpoints, of: newResults() }))
    const begun = performance.now()
    let longest = 0
    for (let round = 0; round < ROUNDS; round += 1) {
      const roundBegun = performance.now()
      if (roundBegun - begun + longest > TIME_LIMIT_SECONDS * 1000) break
      // Each name goes first in turn.
      const order = NAMES.map((_, at) => NAMES[(at + round) % NAMES.length]!)
      for (const { endpoints, of } of results) {
        const targets = Array.from({ length: endpoints }, (_, number) => `http://127.0.0.1:${port}/${number}`)
        for (const name of order) {
          const load = { databaseUrl: await newDatabase(), targets, deliveries: DELIVERIES }
          of.get(name)?.push(await measure(name, receiver, load, processors))
        }
      }
      longest = Math.max(longest, performance.now() - roundBegun)
    }
    for (const { endpoints, of } of results) report(endpoints, of)
    const last = results.at(-1)!.of
    say(
      `deliveries/s ${NAMES.map((name) => `${name}=${median((last.get(name) ?? []).map(({ rate }) => rate)).toFixed(0)}`).join(" ")}`
    )
  } finally {
    await ended(receiver)
    await server.stop()
  }
}

setTimeout(() => {
  process.stderr.write(`not done within ${ABORT_SECONDS} s\n`)
  process.exit(1)
}, ABORT_SECONDS * 1000).unref()
await run()
process.exit()
