import { type ChildProcess, spawn } from "node:child_process"
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { ask, openConnection } from "../test/RawExchange.ts"

const MAIN = fileURLToPath(new URL("bin/dev.ts", import.meta.url))
const RUNS_TYPESCRIPT = Number(process.versions.node.split(".")[0]) >= 24
const GIVE_UP_MS = 30_000

let folder: string
let running: Array<ChildProcess> = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-dev-"))
})

afterEach(async () => {
  for (const child of running) child.kill("SIGKILL")
  running = []
  await rm(folder, { recursive: true, force: true })
})

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

interface Run {
  readonly child: ChildProcess
  readonly exited: Promise<{ readonly code: number | null; readonly errors: string }>
  /** Settles when it says that it listens, or ends. */
  readonly ready: Promise<void>
}

const run = (env: Readonly<Record<string, string>>): Run => {
  const child = spawn(process.execPath, [MAIN], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", ...env },
    stdio: ["ignore", "pipe", "pipe"]
  })
  running.push(child)
  let errors = ""
  child.stderr.on("data", (chunk) => {
    errors += chunk
  })
  const exited = new Promise<{ code: number | null; errors: string }>((resolve) =>
    child.once("close", (code) => resolve({ code, errors }))
  )
  const said = new Promise<void>((resolve) =>
    child.stdout.on("data", (chunk) => String(chunk).includes("Not for production") && resolve())
  )
  return { child, exited, ready: Promise.race([said, exited.then(() => {})]) }
}

const ports = async () => ({
  SVC_PORT: String(await freePort()),
  SVC_APPROVAL_PORT: String(await freePort())
})

const devFile = async () => JSON.parse(await readFile(join(folder, ".data", "dev.json"), "utf8"))

describe.skipIf(!RUNS_TYPESCRIPT)("the development server", () => {
  it("writes dev.json for its owner, serves its keys, and stops with 0", {
    timeout: GIVE_UP_MS
  }, async () => {
    const env = await ports()
    const { child, exited, ready } = run(env)
    await ready
    const file = await devFile()
    assert.sameMembers(Object.keys(file), [
      "base_url",
      "approval_base_url",
      "organization_id",
      "api_key",
      "identity",
      "return_origin",
      "second_organization"
    ])
    assert.strictEqual((await stat(join(folder, ".data", "dev.json"))).mode & 0o777, 0o600)
    assert.strictEqual(file.base_url, `http://localhost:${env.SVC_PORT}`)
    for (const key of [file.api_key, file.second_organization.api_key]) {
      const answer = await ask(Number(env.SVC_PORT), [
        "GET /v1/mandates HTTP/1.1",
        "Host: localhost",
        `Authorization: Bearer ${key}`
      ])
      assert.strictEqual(answer.status, 200)
    }
    const silent = await openConnection(Number(env.SVC_PORT))
    const cut = new Promise((resolve) => silent.once("close", resolve))
    child.kill("SIGTERM")
    assert.strictEqual((await exited).code, 0)
    await cut
  })

  it("keeps identifiers and keys over a restart on other ports", { timeout: GIVE_UP_MS }, async () => {
    const first = run(await ports())
    await first.ready
    const before = await devFile()
    first.child.kill("SIGINT")
    assert.strictEqual((await first.exited).code, 0)
    const second = run(await ports())
    await second.ready
    const { approval_base_url: _, base_url, ...after } = await devFile()
    assert.notStrictEqual(base_url, before.base_url)
    assert.deepInclude(before, after)
  })

  it("ends with 75 and one line on a port that is in use", { timeout: GIVE_UP_MS }, async () => {
    const env = await ports()
    const holder = createServer().listen(Number(env.SVC_PORT), "127.0.0.1")
    const { code, errors } = await run(env).exited
    holder.close()
    assert.strictEqual(code, 75)
    assert.strictEqual(
      errors,
      `svc dev: port ${env.SVC_PORT} is in use by another process; choose others with SVC_PORT and SVC_APPROVAL_PORT\n`
    )
  })

  it("ends with 78 and one line on a bad setting or file", { timeout: GIVE_UP_MS }, async () => {
    const { code, errors } = await run({ SVC_STORE: "tape" }).exited
    assert.strictEqual(code, 78)
    assert.strictEqual(errors, "svc dev: SVC_STORE must be memory\n")
    await writeFile(join(folder, "dev.json"), "{}")
    const other = await run({ SVC_DATA_DIR: folder }).exited
    assert.strictEqual(other.code, 78)
    assert.match(other.errors, /^svc dev: .*dev\.json is not a file of the development server[^\n]*\n$/u)
  })
})
