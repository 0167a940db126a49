/**
 * Receives webhooks on port 3000 and prints the current state of what each is about. Start the development server with
 * `npm start`, this with `npm run receiver`, and bring the two together with
 * `npm run --silent svc -- listen --forward-to http://localhost:3000/webhooks`.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { makeReceiver } from "./Receiver.ts"

const HOST = "127.0.0.1"
const DEFAULT_PORT = 3000

const folder = process.env.SVC_DATA_DIR ?? ".data"

const readOr = (path: string, otherwise: string): string => {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return otherwise
  }
}

/** That of an endpoint if it is set, else the one that `svc listen` made and keeps. */
const secret = (): string =>
  process.env.SVC_WEBHOOK_SECRET ?? readOr(join(folder, "listen.secret"), "").trimEnd()

const settings = JSON.parse(readOr(join(folder, "dev.json"), "{}")) as {
  readonly base_url?: string
  readonly api_key?: string
}
const baseUrl = process.env.SVC_BASE_URL ?? settings.base_url
const apiKey = process.env.SVC_API_KEY ?? settings.api_key
const port = Number(process.env.RECEIVER_PORT ?? DEFAULT_PORT)

if (baseUrl === undefined || apiKey === undefined) {
  console.error(`No ${folder}/dev.json: start the development server with "npm start" first.`)
  process.exitCode = 1
} else {
  makeReceiver({
    secret,
    api: { baseUrl, apiKey },
    onState: (event, current) => {
      const { version } = event.data
      // A later event of the mandate may have come to pass meanwhile: the state that was read is the one that counts.
      console.log(`${event.type} (version ${version}): ${current.id} is ${current.state}`)
    },
    onFailure: (event, error) => {
      console.error(`${event.type}: ${error instanceof Error ? error.message : error}`)
    }
  })
    .on("error", (error) => {
      console.error(error.message)
      process.exitCode = 1
    })
    .listen(port, HOST, () => console.log(`Receiving webhooks at http://localhost:${port}/webhooks`))
}
