import { type ChildProcess, spawn } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { createServer, type RequestListener, type Server } from "node:http"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { testWebhookBody } from "@svc/protocol/webhook/WebhookBody"
import { webhookHeaders } from "@svc/protocol/webhook/WebhookHeaders"
import { leastEnvironment } from "@svc/testkit/ProgramEnvironment"
import { afterEach, assert, describe, it } from "vitest"
import { type CurrentState, makeReceiver, type WebhookEvent } from "./Receiver.ts"

const ROOT = fileURLToPath(new URL("../../../", import.meta.url))
const BIN = join(ROOT, "adapters", "cli", "src", "bin")
const RUNS_TYPESCRIPT = Number(process.versions.node.split(".")[0]) >= 24

const SECRET = `svc_wh_${Buffer.alloc(32, 7).toString("base64url")}`
const POLL_MS = 50
const POLLS = 1200

const ends: Array<() => unknown> = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const listening = (server: Server): Promise<string> =>
  new Promise((resolve) => {
    ends.push(() => {
      server.closeAllConnections()
      return new Promise((closed) => server.close(closed))
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resolve(`http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`)
    })
  })

const until = async <A>(what: string, probe: () => A | undefined | Promise<A | undefined>): Promise<A> => {
  for (let poll = 0; poll < POLLS; poll++) {
    const found = await probe()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  throw new Error(`in vain: ${what}`)
}

/** A receiver, and what it did. */
const startReceiver = async (api: { baseUrl: string; apiKey: string }, secret = () => SECRET) => {
  const acts: Array<{ readonly event: WebhookEvent; readonly current: CurrentState }> = []
  const failures: Array<string> = []
  const tests: Array<string> = []
  const refusals: Array<string> = []
  const origin = await listening(
    makeReceiver({
      secret,
      api,
      onState: (event, current) => void acts.push({ event, current }),
      onTest: ({ id }) => void tests.push(id),
      onRefusal: ({ why }) => void refusals.push(why),
      onFailure: ({ id }) => void failures.push(id)
    })
  )
  return { acts, failures, tests, refusals, url: `${origin}/webhooks` }
}

const bodyOf = (id: string) =>
  JSON.stringify({
    id,
    type: "mandate.approved",
    occurred_at: "2026-12-01T00:00:00.000000000Z",
    data: { mandate_id: "mnd_1", state: "ACTIVE", version: 2 }
  })

const deliver = async (url: string, text: string, sent = text): Promise<number> => {
  const timestamp = Math.floor(Date.now() / 1000)
  const headers = webhookHeaders({ secret: SECRET, timestamp, body: Buffer.from(text) })
  return (await fetch(url, { method: "POST", headers: { ...headers }, body: sent })).status
}

/** An API whose mandates are all ACTIVE, once it is let go on. */
const startApi = async (answers: RequestListener) => ({
  baseUrl: await listening(createServer(answers)),
  apiKey: "svc_test_key"
})

describe("the example receiver (part 8)", () => {
  it("answers before it reads the current state, and acts once per event despite repeated deliveries", async () => {
    const asked: Array<string> = []
    const held: Array<() => void> = []
    const api = await startApi((request, response) => {
      asked.push(`${request.url} ${request.headers.authorization}`)
      held.push(() => void response.end('{"id":"mnd_1","state":"REVOKED","version":3}'))
    })
    const { acts, url } = await startReceiver(api)
    for (let time = 0; time < 3; time++) assert.strictEqual(await deliver(url, bodyOf("evt_1")), 204)
    assert.strictEqual(await deliver(url, bodyOf("evt_2")), 204)
    await until("both reads", () => (held.length === 2 ? true : undefined))
    assert.deepStrictEqual(acts, [])
    for (const go of held) go()
    await until("both acts", () => (acts.length === 2 ? true : undefined))
    assert.deepStrictEqual(acts.map(({ current, event }) => `${event.id} ${current.state}`).sort(), [
      "evt_1 REVOKED",
      "evt_2 REVOKED"
    ])
    assert.deepStrictEqual(new Set(asked), new Set(["/v1/mandates/mnd_1 Bearer svc_test_key"]))
  })

  it("refuses requests that are unsigned, altered, too long, or not POST", async () => {
    const { acts, failures, refusals, url } = await startReceiver({
      baseUrl: "http://127.0.0.1:1",
      apiKey: "k"
    })
    assert.strictEqual((await fetch(url, { method: "POST", body: bodyOf("evt_1") })).status, 401)
    assert.strictEqual(await deliver(url, bodyOf("evt_1"), bodyOf("evt_2")), 401)
    assert.strictEqual((await fetch(url)).status, 405)
    const long = await fetch(url, { method: "POST", body: "x".repeat(70_000) }).then(
      ({ status }) => status,
      () => 413
    )
    assert.strictEqual(long, 413)
    assert.deepStrictEqual([acts, failures], [[], []])
    assert.deepStrictEqual(refusals, [
      "Svc-Signature is not t=<unix seconds>,v1=<64 lower-case hex characters>",
      "it was signed with another secret, or its body is not what was signed"
    ])
  })

  it("recognizes a test event, which names no resource", async () => {
    const { failures, tests, url } = await startReceiver({ baseUrl: "http://127.0.0.1:1", apiKey: "k" })
    const body = testWebhookBody({ id: "evt_1", occurredAt: "2026-12-01T00:00:00.000000000Z" })
    for (let time = 0; time < 2; time++) assert.strictEqual(await deliver(url, body), 204)
    await until("the test", () => (tests.length > 0 ? true : undefined))
    assert.deepStrictEqual([tests, failures], [["evt_1"], []])
  })

  it("reports a state that it could not read, and continues", async () => {
    const { failures, url } = await startReceiver({ baseUrl: "http://127.0.0.1:1", apiKey: "k" })
    for (const id of ["evt_1", "evt_2"]) assert.strictEqual(await deliver(url, bodyOf(id)), 204)
    await until("both failures", () => (failures.length === 2 ? true : undefined))
    assert.deepStrictEqual(failures, ["evt_1", "evt_2"])
  })
})

const freePort = async (): Promise<number> => {
  const server = createServer()
  const origin = await new Promise<number>((resolve) =>
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resolve(typeof address === "object" && address !== null ? address.port : 0)
    })
  )
  await new Promise((resolve) => server.close(resolve))
  return origin
}

const start = (env: Readonly<Record<string, string>>, ...words: ReadonlyArray<string>) => {
  const child: ChildProcess = spawn(process.execPath, words, {
    cwd: ROOT,
    env: { ...leastEnvironment(), ...env },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let output = ""
  child.stdout?.on("data", (chunk) => {
    output += chunk
  })
  child.stderr?.on("data", (chunk) => {
    output += chunk
  })
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve))
  ends.push(() => {
    child.kill("SIGKILL")
    return ended
  })
  const says = (text: string) =>
    until(`${text} in: ${output}`, () => (output.includes(text) ? true : undefined))
  return { child, ended, output: () => output, says }
}

describe.skipIf(!RUNS_TYPESCRIPT)("npm run receiver", () => {
  const program = fileURLToPath(new URL("./main.ts", import.meta.url))
  const api = { SVC_BASE_URL: "http://127.0.0.1:1", SVC_API_KEY: "k" }

  it("prints its help, and why it cannot start", { timeout: 120_000 }, async () => {
    const holder = new URL(await listening(createServer())).port
    for (const [env, words, code, text] of [
      [{}, ["--help"], 0, "SVC_WEBHOOK_SECRET "],
      [{}, ["--port"], 64, "an option is not known"],
      [{ ...api, RECEIVER_PORT: "http" }, [], 78, "RECEIVER_PORT must be"],
      [{ ...api, RECEIVER_PORT: holder }, [], 75, `port ${holder} is in use by another process`]
    ] as const) {
      const receiver = start(env, program, ...words)
      assert.strictEqual(await receiver.ended, code, receiver.output())
      assert.include(receiver.output(), text)
    }
  })

  it("reports a refused webhook in one line, and stores it on request", {
    timeout: 120_000
  }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "svc-receiver-"))
    ends.push(() => rm(folder, { recursive: true, force: true }))
    const port = String(await freePort())
    const env = { ...api, RECEIVER_PORT: port, SVC_DATA_DIR: folder }
    const other = `svc_wh_${Buffer.alloc(32, 8).toString("base64url")}`
    const receiver = start({ ...env, SVC_WEBHOOK_SECRET: other }, program, "--verbose")
    await receiver.says("Receiving webhooks")
    const kept = (number: number) => readFile(join(folder, `refused-webhook-${number}.body`), "utf8")
    for (const number of [1, 2]) {
      assert.strictEqual(await deliver(`http://127.0.0.1:${port}/`, bodyOf(`evt_${number}`)), 401)
      await receiver.says(`refused-webhook-${number}.body`)
    }
    await receiver.says("refused with 401: it was signed with another secret")
    await receiver.says("webhook verify --signature 't=")
    assert.deepStrictEqual([await kept(1), await kept(2)], [bodyOf("evt_1"), bodyOf("evt_2")])
    assert.notInclude(receiver.output(), "svc_wh_")
    receiver.child.kill("SIGINT")
    await receiver.ended

    const later = start({ ...env, SVC_WEBHOOK_SECRET: other }, program, "--verbose")
    await later.says("Receiving webhooks")
    assert.strictEqual(await deliver(`http://127.0.0.1:${port}/`, bodyOf("evt_3")), 401)
    await later.says("refused-webhook-3.body")
    assert.deepStrictEqual([await kept(1), await kept(3)], [bodyOf("evt_1"), bodyOf("evt_3")])
  })

  it("exits 0 on a signal, also through the launcher", { timeout: 120_000 }, async () => {
    const launcher = join(ROOT, "scripts", "run.mjs")
    for (const words of [[program], [launcher, relative(ROOT, program)]]) {
      for (const signal of ["SIGTERM", "SIGINT"] as const) {
        const port = String(await freePort())
        const receiver = start({ ...api, RECEIVER_PORT: port, SVC_WEBHOOK_SECRET: SECRET }, ...words)
        await receiver.says("Receiving webhooks")
        // Its connection stays open.
        assert.strictEqual(await deliver(`http://127.0.0.1:${port}/`, bodyOf("evt_1")), 204)
        receiver.child.kill(signal)
        assert.strictEqual(await receiver.ended, 0, `${signal} of ${words[0]}`)
      }
    }
  })

  it("exits when its launcher, or the npm that started it, has ended in whatever way", {
    timeout: 120_000
  }, async () => {
    const launcher = `'${process.execPath}' '${join(ROOT, "scripts", "run.mjs")}' '${relative(ROOT, program)}'`
    for (const [npm, victim] of [
      ["", "launcher"],
      ["npm_lifecycle_event=start", "shell"]
    ] as const) {
      const port = await freePort()
      // The shell stands for npm; what it starts tells its own process id.
      const words = ["-c", `${npm} ${launcher} & echo "launcher $!"; wait`]
      const child = spawn("bash", words, {
        env: { ...process.env, ...api, RECEIVER_PORT: String(port), SVC_WEBHOOK_SECRET: SECRET },
        stdio: ["ignore", "pipe", "pipe"]
      })
      ends.push(() => child.kill("SIGKILL"))
      let output = ""
      child.stdout.on("data", (chunk) => {
        output += chunk
      })
      await until("the receiver", () => (output.includes("Receiving webhooks") ? true : undefined))
      const pid = Number(/launcher (\d+)/u.exec(output)?.[1])
      process.kill(victim === "launcher" ? pid : child.pid!, "SIGKILL")
      // Its output closes when the last of the three has ended.
      await new Promise((resolve) => child.stdout.once("close", resolve))
      const isThere = await fetch(`http://127.0.0.1:${port}/`).then(
        () => true,
        () => false
      )
      assert.isFalse(isThere)
    }
  })

  it("outlives a parent that is not its launcher", { timeout: 120_000 }, async () => {
    const port = await freePort()
    const words = ["-c", `'${process.execPath}' '${program}' & echo "receiver $!"; wait`]
    const child = spawn("bash", words, {
      env: { ...leastEnvironment(), ...api, RECEIVER_PORT: String(port), SVC_WEBHOOK_SECRET: SECRET },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let output = ""
    child.stdout.on("data", (chunk) => {
      output += chunk
    })
    await until("the receiver", () => (output.includes("Receiving webhooks") ? true : undefined))
    const pid = Number(/receiver (\d+)/u.exec(output)?.[1])
    ends.push(() => process.kill(pid, "SIGTERM"))
    child.kill("SIGKILL")
    await new Promise((resolve) => child.once("exit", resolve))
    assert.strictEqual(await deliver(`http://127.0.0.1:${port}/`, bodyOf("evt_1")), 204)
  })

  it("exits in silence when its output is closed", { timeout: 120_000 }, async () => {
    const env = { ...api, RECEIVER_PORT: String(await freePort()) }
    const words = ["-c", `set -o pipefail; '${process.execPath}' '${program}' | :`]
    const child = spawn("bash", words, { env: { ...leastEnvironment(), ...env }, stdio: "ignore" })
    assert.strictEqual(await new Promise((resolve) => child.once("close", resolve)), 141)
  })
})

describe.skipIf(!RUNS_TYPESCRIPT)("the example receiver behind svc listen (part 8)", () => {
  it("receives the events of the development server", { timeout: 120_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "svc-receiver-"))
    ends.push(() => rm(folder, { recursive: true, force: true }))
    const env = {
      SVC_DATA_DIR: folder,
      SVC_STORE: "memory",
      SVC_PORT: String(await freePort()),
      SVC_APPROVAL_PORT: String(await freePort())
    }
    const server = start(env, join(BIN, "dev.ts"))
    await server.says("Not for production")
    const dev = JSON.parse(await readFile(join(folder, "dev.json"), "utf8"))
    const api = { baseUrl: dev.base_url, apiKey: dev.api_key }
    let secret = ""
    const { acts, url } = await startReceiver(api, () => secret)
    const listener = start({ SVC_DATA_DIR: folder }, join(BIN, "svc.ts"), "listen", "--forward-to", url)
    await listener.says("waiting for events")
    secret = (await readFile(join(folder, "listen.secret"), "utf8")).trimEnd()
    const answer = await fetch(`${api.baseUrl}/v1/mandates`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${api.apiKey}`,
        "content-type": "application/json",
        "idempotency-key": "one"
      },
      body: JSON.stringify({
        kind: "SINGLE",
        subject_reference: "user_1",
        policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
        window: { ends_at: "2030-01-01T00:00:00Z" }
      })
    })
    const { id } = (await answer.json()) as { id: string }
    const { current, event } = await until("the act", () => acts[0])
    assert.deepStrictEqual(
      [event.type, event.data.mandate_id, current.id, current.state],
      ["mandate.created", id, id, "PENDING_APPROVAL"]
    )
    await listener.says(`${id}  204`)
    assert.notInclude(listener.output(), api.apiKey)
    listener.child.kill("SIGINT")
    assert.strictEqual(await listener.ended, 0)
  })
})
