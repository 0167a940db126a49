/**
 * `npm run bench:processes`: pairs of authorize and commit per second of 1, 2 and 4 processes beside each other on one
 * Postgres, the same number of clients in all, with whole tables and with divided ones.
 */
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { availableParallelism } from "node:os"
import { fileURLToPath } from "node:url"
import { Effect, Redacted } from "effect"
import * as PostgresStore from "../src/PostgresStore.ts"
import { startTestPostgres } from "../test/TestPostgres.ts"

const PROCESSES = [1, 2, 4]
const CLIENTS = 32
const PARTITIONS = 16
const EX_UNAVAILABLE = 69
const PROGRAM = fileURLToPath(new URL("ProcessProgram.ts", import.meta.url))

const option = (name: string, byDefault: number): number => {
  const text = process.argv.find((word) => word.startsWith(`--${name}=`))?.split("=")[1]
  return text === undefined ? byDefault : Number(text)
}
const SECONDS = option("seconds", 8)
const WARM_UP_SECONDS = option("warm-up", 2)

const rateOfProcess = (url: string, schema: string, clients: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const words = [url, schema, clients, WARM_UP_SECONDS, SECONDS].map(String)
    const child = spawn(process.execPath, [PROGRAM, ...words], { stdio: ["pipe", "pipe", "inherit"] })
    let said = ""
    child.stdout.on("data", (chunk) => {
      said += chunk
    })
    child.once("error", reject)
    child.once("exit", (code) => {
      const rate = Number.parseFloat(said)
      if (code === 0 && Number.isFinite(rate)) resolve(rate)
      else reject(new Error(`a process ended with ${code}: ${said}`))
    })
  })

const rateOf = async (url: string, processes: number, partitions: number): Promise<number> => {
  const schema = `bench_${randomBytes(6).toString("hex")}`
  await Effect.runPromise(PostgresStore.migrateServer({ url: Redacted.make(url), schema, partitions }))
  const each = Array.from({ length: processes }, () => rateOfProcess(url, schema, CLIENTS / processes))
  return (await Promise.all(each)).reduce((sum, rate) => sum + rate, 0)
}

const server = await startTestPostgres()
if (server === undefined) {
  process.stderr.write("This needs a Postgres server.\n")
  process.exitCode = EX_UNAVAILABLE
} else {
  try {
    const cores = availableParallelism()
    process.stdout.write(`pairs of authorize and commit per second, ${CLIENTS} clients, ${cores} cores\n`)
    for (const partitions of [0, PARTITIONS]) {
      const rates: Array<string> = []
      for (const processes of PROCESSES) {
        rates.push(`${processes}=${(await rateOf(server.url, processes, partitions)).toFixed(0)}`)
      }
      process.stdout.write(`partitions=${partitions} processes ${rates.join(" ")}\n`)
    }
  } finally {
    await server.stop()
  }
}
