/** The receiver as a program: `npm run receiver -- --help` says what it takes. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import type { Server } from "node:http"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { makeReceiver, type RefusedWebhook } from "./Receiver.ts"
import { isSignature } from "./VerifyWebhook.ts"

const HOST = "127.0.0.1"
const DEFAULT_PORT = "3000"
const MAX_PORT = 65_535

/** Time limit of the shutdown, in milliseconds. */
const STOP_MS = 1000

/** Exit codes of `sysexits.h`, and the one that a shell reports of a program that SIGPIPE ended. */
const EXIT_USAGE = 64
const EXIT_TEMPORARY = 75
const EXIT_CONFIGURATION = 78
const EXIT_OUTPUT_CLOSED = 141

const HELP = `npm run receiver [-- --verbose]: receives webhooks on this machine, verifies them, and prints the current state of what each
is about.

  --verbose   keeps the body of each webhook that is refused, and prints the command that says what is wrong with it

Settings are environment variables:

  SVC_WEBHOOK_SECRET   the secret of the endpoint; default: that of svc listen, which keeps it in the data folder
  RECEIVER_PORT        default ${DEFAULT_PORT}
  SVC_DATA_DIR         the data folder of the development server; default .data
  SVC_BASE_URL         the server that is asked for the current state; default: that of dev.json in the data folder
  SVC_API_KEY          the key that it is asked with; likewise

Exit codes: 0 stopped by a signal; 64 an option is not known; 75 the port is in use; 78 a setting is missing or bad.`

const folder = process.env.SVC_DATA_DIR || ".data"

/** Where `svc listen` keeps its secret. */
const LISTEN_SECRET = join(folder, "listen.secret")

const readOr = (path: string, otherwise: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return otherwise
  }
}

/** The secret of an endpoint if set, or else that of `svc listen`, which may create it at any time. */
const secret = (): string => process.env.SVC_WEBHOOK_SECRET || readOr(LISTEN_SECRET, "").trimEnd()

const end = (exitCode: number, line: string): void => {
  console.error(line)
  process.exitCode = exitCode
}

/** Writes to the first unused file name, so that commands printed by earlier runs stay valid. */
const writeNew = (body: Buffer): string => {
  for (let number = 1; ; number++) {
    const file = join(folder, `refused-webhook-${number}.body`)
    try {
      writeFileSync(file, body, { mode: 0o600, flag: "wx" })
      return file
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
    }
  }
}

const keepRefused = ({ body, signature }: RefusedWebhook): string => {
  if (!isSignature(signature)) return ""
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = writeNew(body)
  const from = process.env.SVC_WEBHOOK_SECRET ? "" : ` --secret-file ${LISTEN_SECRET}`
  return `\n  npm run --silent svc -- webhook verify --signature '${signature}'${from} < ${file}`
}

/** Exits 0 once requests in flight are answered. A signal may arrive twice: from the terminal and from the launcher. */
const endOnSignal = (server: Server): void => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      server.close(() => process.exit(0))
      server.closeIdleConnections()
      setTimeout(() => process.exit(0), STOP_MS).unref()
    })
  }
}

const receive = (port: number, api: { baseUrl: string; apiKey: string }, isVerbose: boolean): void => {
  const server = makeReceiver({
    secret,
    api,
    onState: (event, current) => {
      const { version } = event.data
      // Later events may have occurred in the meantime; the state that was read is the one that counts.
      console.log(`${event.type} (version ${version}): ${current.id} is ${current.state}`)
    },
    onTest: ({ id }) => console.log(`test event ${id}`),
    onRefusal: (refused) => {
      const hint =
        secret() === "" ? "no secret is known: set SVC_WEBHOOK_SECRET or run svc listen" : refused.why
      console.error(`refused with 401: ${hint}${isVerbose ? keepRefused(refused) : ""}`)
    },
    onFailure: (event, error) => {
      console.error(`${event.type}: ${error instanceof Error ? error.message : error}`)
    }
  })
  endOnSignal(server)
  server
    .on("error", ({ code, message }: NodeJS.ErrnoException) =>
      code === "EADDRINUSE"
        ? end(EXIT_TEMPORARY, `port ${port} is in use by another process; choose another with RECEIVER_PORT`)
        : end(EXIT_CONFIGURATION, message)
    )
    .listen(port, HOST, () => console.log(`Receiving webhooks at http://localhost:${port}/webhooks`))
}

const start = (isVerbose: boolean): void => {
  const settings = JSON.parse(readOr(join(folder, "dev.json"), "{}")) as {
    readonly base_url?: string
    readonly api_key?: string
  }
  const baseUrl = process.env.SVC_BASE_URL || settings.base_url
  const apiKey = process.env.SVC_API_KEY || settings.api_key
  const port = process.env.RECEIVER_PORT || DEFAULT_PORT
  if (!/^\d{1,5}$/u.test(port) || Number(port) < 1 || Number(port) > MAX_PORT) {
    end(EXIT_CONFIGURATION, `RECEIVER_PORT must be a port number of 1 to ${MAX_PORT}`)
  } else if (baseUrl === undefined || apiKey === undefined) {
    end(EXIT_CONFIGURATION, `No ${folder}/dev.json: start the development server with "npm start" first.`)
  } else receive(Number(port), { baseUrl, apiKey }, isVerbose)
}

for (const output of [process.stdout, process.stderr]) {
  output.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error
    process.exit(EXIT_OUTPUT_CLOSED)
  })
}

const OPTIONS = { help: { type: "boolean" }, verbose: { type: "boolean" } } as const

const given = () => {
  try {
    return parseArgs({ options: OPTIONS }).values
  } catch {
    return undefined
  }
}

const options = given()
if (options === undefined) end(EXIT_USAGE, "an option is not known; see npm run receiver -- --help")
else if (options.help) console.log(HELP)
else start(options.verbose ?? false)
