/** `npm run bench:evidence`: what reading large evidence costs a server, and whoever else uses it meanwhile. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { get, type IncomingMessage } from "node:http"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { createGunzip } from "node:zlib"
import { startTestPostgres } from "@svc/store-postgres/test/TestPostgres"
import { leastEnvironment } from "@svc/testkit/ProgramEnvironment"
import { endOf, saidBy } from "../http/Child.ts"
import { makeTenant, type OurDatabase, type OurTenant, OWN_ROOT, prepareOurs } from "../http/OurService.ts"
import type { MainThread } from "./MainThread.ts"

const EX_UNAVAILABLE = 69
const BYTES_PER_MIB = 1024 * 1024
const START_LIMIT_MS = 60_000
const START_PAUSE_MS = 100
/** Pause between two requests of another organization, in milliseconds. */
const OTHER_PAUSE_MS = 5
/** Reads of evidence at once, of one organization. With none, what the machine itself holds up is measured. */
const AT_ONCE = [0, 1, 4]
/** How long nothing is read, in milliseconds. */
const NONE_MS = 3000
/** Requests of another organization before anything is measured, so that its code has been compiled. */
const WARMING_READS = 300
/** The schema that the command uses. */
const SCHEMA = "svc"

const option = (name: string): string | undefined =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3)
const AUTHORIZATIONS = Number(option("authorizations") ?? 10_000)
/** The checkout whose service is measured. */
const ROOT = option("root") ?? OWN_ROOT

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

const fill = ({ databaseUrl }: OurDatabase, { mandates, organization }: OurTenant): void => {
  const program = fileURLToPath(new URL("./FillProgram.ts", import.meta.url))
  const words = [databaseUrl, SCHEMA, organization, mandates[0]!, String(AUTHORIZATIONS)]
  const { status, stderr } = spawnSync(process.execPath, [program, ...words], {
    env: leastEnvironment(),
    encoding: "utf8"
  })
  if (status !== 0) throw new Error(`the mandate was not filled: ${stderr}`)
}

const startServer = ({ env, root }: OurDatabase): ChildProcess => {
  const monitor = new URL("./DelayMonitor.ts", import.meta.url).href
  const words = ["--import", monitor, join(root, "adapters/cli/src/bin/svc.ts"), "serve"]
  const child = spawn(process.execPath, words, {
    env: { ...env, SVC_LOG_LEVEL: "error" },
    stdio: ["ignore", "ignore", "inherit", "ipc"]
  })
  process.once("exit", () => child.kill())
  return child
}

const told = async (child: ChildProcess, order: "reset" | "read"): Promise<MainThread> => {
  const answer = saidBy(child)
  child.send(order)
  return (await answer) as MainThread
}

type Ask = (
  tenant: OurTenant,
  path: string,
  headers?: Readonly<Record<string, string>>
) => Promise<IncomingMessage>

const askOn =
  (port: number): Ask =>
  ({ apiKey }, path, headers = {}) =>
    new Promise((resolve, reject) => {
      const options = {
        host: "127.0.0.1",
        port,
        path,
        headers: { ...headers, authorization: `Bearer ${apiKey}` }
      }
      get(options, resolve).once("error", reject)
    })

interface Received {
  readonly status: number | undefined
  /** As they were sent, and as they are once decoded. */
  readonly sentBytes: number
  readonly bytes: number
}

const receive = async (response: IncomingMessage): Promise<Received> => {
  let sentBytes = 0
  let bytes = 0
  response.on("data", (chunk: Buffer) => {
    sentBytes += chunk.length
  })
  const decoded = response.headers["content-encoding"] === "gzip" ? response.pipe(createGunzip()) : response
  for await (const chunk of decoded) bytes += (chunk as Buffer).length
  return { status: response.statusCode, sentBytes, bytes }
}

const ready = async (ask: Ask, tenant: OurTenant): Promise<void> => {
  for (const end = Date.now() + START_LIMIT_MS; Date.now() < end; await pause(START_PAUSE_MS)) {
    const answer = await ask(tenant, "/readyz").catch(() => undefined)
    answer?.resume()
    if (answer?.statusCode === 200) return
  }
  throw new Error("the service does not start")
}

/** Reads a mandate over and over, and gives the times that this took, in milliseconds. */
const readMeanwhile = async (ask: Ask, tenant: OurTenant, isOver: () => boolean) => {
  const milliseconds: Array<number> = []
  while (!isOver()) {
    const began = performance.now()
    const { status } = await receive(await ask(tenant, `/v1/mandates/${tenant.mandates[0]}`))
    if (status !== 200) throw new Error(`a mandate was answered ${status}`)
    milliseconds.push(performance.now() - began)
    await pause(OTHER_PAUSE_MS)
  }
  return milliseconds.sort((one, other) => one - other)
}

const mib = (bytes: number): string => (bytes / BYTES_PER_MIB).toFixed(1)
const ms = (milliseconds: number | undefined): string => (milliseconds ?? Number.NaN).toFixed(1)

interface Tenants {
  readonly reader: OurTenant
  readonly other: OurTenant
}

/** One server for each measurement, so that its peak of memory is that of this one. */
const measure = async (database: OurDatabase, tenants: Tenants, atOnce: number, encoding: string) => {
  const server = startServer(database)
  const ask = askOn(Number(database.env.SVC_PORT))
  await ready(ask, tenants.other)
  const path = `/v1/mandates/${tenants.reader.mandates[0]}`
  for (let count = 0; count < WARMING_READS; count++) {
    await receive(await ask(tenants.reader, path))
  }
  const before = await told(server, "reset")
  let isOver = false
  const meanwhile = readMeanwhile(ask, tenants.other, () => isOver)
  const began = performance.now()
  const read = async () =>
    receive(await ask(tenants.reader, `${path}/evidence`, { "accept-encoding": encoding }))
  const received = await Promise.all(Array.from({ length: atOnce }, read))
  if (atOnce === 0) await pause(NONE_MS)
  const milliseconds = performance.now() - began
  isOver = true
  const others = await meanwhile
  const after = await told(server, "read")
  server.kill("SIGTERM")
  await endOf(server)
  const { bytes, sentBytes } = received[0] ?? { bytes: 0, sentBytes: 0 }
  const refused = received.find(({ status }) => status !== 200)
  if (refused !== undefined) throw new Error(`evidence was answered ${refused.status}`)
  say(
    `reads=${atOnce} encoding=${encoding} sent=${mib(sentBytes)}MiB decoded=${mib(bytes)}MiB took=${ms(milliseconds)}ms ` +
      `delay_max=${ms(after.longestDelayMs)}ms delay_p99=${ms(after.p99DelayMs)}ms work_max=${ms(after.longestWorkMs)}ms ` +
      `memory_peak=${mib(after.peakBytes)}MiB memory_added=${mib(after.peakBytes - before.peakBytes)}MiB ` +
      `others=${others.length} others_p50=${ms(others[others.length >> 1])}ms others_max=${ms(others.at(-1))}ms`
  )
}

const server = await startTestPostgres()
if (server === undefined) {
  say("no Postgres server can be started here")
  process.exit(EX_UNAVAILABLE)
}
try {
  const database = await prepareOurs(server.url, ROOT)
  const tenants = { reader: makeTenant(database, 1), other: makeTenant(database, 1) }
  fill(database, tenants.reader)
  say(`evidence of ${AUTHORIZATIONS} authorizations on Postgres`)
  for (const atOnce of AT_ONCE) {
    for (const encoding of atOnce === 0 ? ["identity"] : ["identity", "gzip"])
      await measure(database, tenants, atOnce, encoding)
  }
} finally {
  await server.stop()
}
process.exit()
