/** `npm run bench:webhooks`: deliveries per second to a receiver on loopback, beside others that send from a database. */
import { type ChildProcess, fork } from "node:child_process"
import { startTestPostgres } from "@svc/store-postgres/test/TestPostgres"
import { openDatabase } from "./Database.ts"
import { installPeers } from "./Peers.ts"
import type { Load } from "./Sender.ts"
import type { SenderName } from "./SenderProgram.ts"

const EX_UNAVAILABLE = 69
const NAMES: ReadonlyArray<SenderName> = ["ours", "graphile-worker", "pg-boss", "limit"]

const option = (name: string, byDefault: number): number => {
  const text = process.argv.find((word) => word.startsWith(`--${name}=`))?.split("=")[1]
  return text === undefined ? byDefault : Number(text)
}
const DELIVERIES = option("deliveries", 10_000)
const ROUNDS = option("rounds", 3)
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

/** Deliveries per second, from the word to start until every one has arrived and is recorded. */
const rateOf = async (name: SenderName, receiver: ChildProcess, load: Load): Promise<number> => {
  const sender = program("./SenderProgram.ts", name, JSON.stringify(load))
  await said(sender)
  receiver.send(load.deliveries)
  const complete = said(receiver)
  const done = said(sender)
  const begun = performance.now()
  sender.send("start")
  await complete
  sender.send("all arrived")
  await done
  const seconds = (performance.now() - begun) / 1000
  await ended(sender)
  return load.deliveries / seconds
}

const median = (rates: ReadonlyArray<number>): number =>
  [...rates].sort((a, b) => a - b)[rates.length >> 1] ?? 0

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
    let databases = 0
    const newDatabase = async (): Promise<string> => {
      databases += 1
      const name = `bench_${process.pid}_${databases}`
      await query(`create database ${name}`)
      return Object.assign(new URL(server.url), { pathname: `/${name}` }).href
    }
    let last: ReadonlyArray<number> = []
    say(
      `deliveries per second, median of ${ROUNDS}, ${DELIVERIES} queued${NAMES.map((name) => name.padStart(17)).join("")}`
    )
    for (const endpoints of ENDPOINTS) {
      const targets = Array.from({ length: endpoints }, (_, number) => `http://127.0.0.1:${port}/${number}`)
      const rates = new Map(NAMES.map((name): [SenderName, Array<number>] => [name, []]))
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const name of NAMES) {
          const load = { databaseUrl: await newDatabase(), targets, deliveries: DELIVERIES }
          rates.get(name)?.push(await rateOf(name, receiver, load))
        }
      }
      last = NAMES.map((name) => median(rates.get(name) ?? []))
      say(
        `${`to ${endpoints} endpoint${endpoints === 1 ? "" : "s"}`.padEnd(49)}${last.map((rate) => rate.toFixed(0).padStart(17)).join("")}`
      )
    }
    say(`deliveries/s ${NAMES.map((name, index) => `${name}=${last[index]?.toFixed(0)}`).join(" ")}`)
  } finally {
    await ended(receiver)
    await server.stop()
  }
}

await run()
process.exit()
