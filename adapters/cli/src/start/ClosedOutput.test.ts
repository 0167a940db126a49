import { spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer, type Server } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { leastEnvironment } from "@svc/testkit/ProgramEnvironment"
import { EXIT_OUTPUT_CLOSED } from "./ClosedOutput.ts"

const BIN = fileURLToPath(new URL("../bin/", import.meta.url))
const RUNS_TYPESCRIPT = Number(process.versions.node.split(".")[0]) >= 24

const TIMEOUT_MS = 120_000

const ends: Array<() => unknown> = []
afterAll(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const listening = (server: Server): Promise<number> =>
  new Promise((resolve) => {
    ends.push(() => {
      server.closeAllConnections()
      server.close()
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resolve(typeof address === "object" && address !== null ? address.port : 0)
    })
  })

const freePort = async (): Promise<number> => {
  const server = createServer()
  const port = await listening(server)
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** The exit code of a command before a pipe, and all that it says on the standard error. */
const piped = (command: string, reader: string, env: Readonly<Record<string, string>> = {}) =>
  new Promise<{ readonly code: number | null; readonly said: string }>((resolve) => {
    const script = `set -o pipefail; "$0" ${command} | ${reader}`
    const child = spawn("bash", ["-c", script, process.execPath], {
      cwd: BIN,
      env: { ...leastEnvironment(), ...env },
      stdio: ["ignore", "ignore", "pipe"]
    })
    let said = ""
    child.stderr.on("data", (chunk) => {
      said += chunk
    })
    child.once("close", (code) => resolve({ code, said }))
  })

const ID = "0".repeat(25)

const eventOf = (seq: number) => ({
  mandate_id: `mnd_${ID}1`,
  seq,
  id: `evt_${ID}${seq % 10}`,
  type: "mandate.revoked",
  occurred_at: "2026-12-01T00:00:00.000000000Z",
  source: "SERVICE_VERIFIED",
  mandate_version: seq,
  data: { reason: "x" },
  hash: "h"
})

describe.skipIf(!RUNS_TYPESCRIPT)("a command whose output is closed", () => {
  it("ends without a word", { timeout: TIMEOUT_MS }, async () => {
    assert.deepStrictEqual(await piped("svc.ts --help", ":"), { code: EXIT_OUTPUT_CLOSED, said: "" })
  })

  it("ends without a word while it follows events", { timeout: TIMEOUT_MS }, async () => {
    let seq = 0
    const api = createServer((_request, response) => {
      seq++
      const page = { data: [eventOf(seq)], has_more: true, next_cursor: String(seq) }
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(page))
    })
    const receiver = createServer((request, response) => {
      request.resume()
      response.writeHead(204).end()
    })
    const to = `http://127.0.0.1:${await listening(receiver)}/`
    const { code, said } = await piped(`svc.ts listen --from-start --forward-to ${to}`, "head -1", {
      SVC_BASE_URL: `http://127.0.0.1:${await listening(api)}`,
      SVC_API_KEY: `svc_test_${"A".repeat(43)}`,
      SVC_WEBHOOK_SECRET: `svc_wh_${"A".repeat(43)}`
    })
    assert.deepStrictEqual([code, said], [EXIT_OUTPUT_CLOSED, "waiting for events\n"])
  })

  it("stops as it does for a signal: the development server", { timeout: TIMEOUT_MS }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "svc-output-"))
    ends.push(() => rm(folder, { recursive: true, force: true }))
    const { code, said } = await piped("dev.ts", ":", {
      SVC_DATA_DIR: folder,
      SVC_STORE: "memory",
      SVC_PORT: String(await freePort()),
      SVC_APPROVAL_PORT: String(await freePort())
    })
    assert.deepStrictEqual([code, said], [EXIT_OUTPUT_CLOSED, ""])
  })

  it("still says why it does not start", { timeout: TIMEOUT_MS }, async () => {
    const { code, said } = await piped("svc.ts serve", ":")
    assert.strictEqual(code, 78)
    assert.match(said, /^svc serve: SVC_ENVIRONMENT is missing/u)
  })
})
