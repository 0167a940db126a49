import { type ChildProcess, spawn } from "node:child_process"
import { createHash, createPrivateKey, randomUUID, sign } from "node:crypto"
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises"
import { createServer as createHttpServer } from "node:http"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { ask, openConnection } from "@svc/http-server/test/RawExchange"
import { copyPglite, SHORT_LIVED_PGLITE } from "@svc/store-postgres/test/PreparedPglite"
import { leastEnvironment } from "@svc/testkit/ProgramEnvironment"
import { ConfigProvider, Effect } from "effect"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { StartFault } from "../start/StartFault.ts"
import type { DevFile } from "./DevFile.ts"
import { devServer } from "./DevServer.ts"

const MAIN = fileURLToPath(new URL("../bin/dev.ts", import.meta.url))
const RUNS_TYPESCRIPT = Number(process.versions.node.split(".")[0]) >= 24
const GIVE_UP_MS = 300_000

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
  /** What it has written so far. */
  readonly output: () => string
}

const run = (env: Readonly<Record<string, string>>): Run => {
  // Under a mask that keeps nothing from anybody: what is written must see to its modes itself.
  const program = [process.execPath, ...SHORT_LIVED_PGLITE, MAIN]
  const child = spawn("/bin/sh", ["-c", 'umask 000; exec "$@"', "sh", ...program], {
    cwd: folder,
    env: { ...leastEnvironment(), ...env },
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
  let written = ""
  const said = new Promise<void>((resolve) =>
    child.stdout.on("data", (chunk) => {
      written += chunk
      if (written.includes("Not for production")) resolve()
    })
  )
  return { child, exited, ready: Promise.race([said, exited.then(() => {})]), output: () => written }
}

/** An embedded database where the server keeps its own, made already. */
const withDatabase = () => copyPglite(join(folder, ".data", "pglite"))

const ports = async () => ({
  SVC_PORT: String(await freePort()),
  SVC_APPROVAL_PORT: String(await freePort())
})

const devFile = async () => JSON.parse(await readFile(join(folder, ".data", "dev.json"), "utf8"))

const MANDATE = {
  kind: "SINGLE",
  subject_reference: "user_1",
  policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
  window: { ends_at: "2030-01-01T00:00:00Z" }
}

const read = async (port: number, key: string, path: string) => {
  const answer = await fetch(`http://localhost:${port}${path}`, {
    headers: { authorization: `Bearer ${key}` }
  })
  assert.strictEqual(answer.status, 200)
  return answer.json()
}

const createMandate = async (port: number, key: string) => {
  const answer = await fetch(`http://localhost:${port}/v1/mandates`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "idempotency-key": "a-mandate-to-be-kept"
    },
    body: JSON.stringify(MANDATE)
  })
  const body = await answer.json()
  assert.strictEqual(answer.status, 201, JSON.stringify(body))
  return read(port, key, `/v1/mandates/${body.id}`)
}

/** An endpoint for all events at a receiver on this machine; its identifier. */
const createEndpoint = async (port: number, key: string, receiver: number): Promise<string> => {
  const answer = await fetch(`http://localhost:${port}/v1/webhook-endpoints`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "idempotency-key": "an-endpoint"
    },
    body: JSON.stringify({ url: `http://localhost:${receiver}/hook` })
  })
  const body = await answer.json()
  assert.strictEqual(answer.status, 201, JSON.stringify(body))
  return body.id
}

const base64url = (json: unknown) => Buffer.from(JSON.stringify(json)).toString("base64url")

/** What the caller's backend vouches for its user with. */
const assertionOf = ({ identity }: DevFile): string => {
  const iat = Math.floor(Date.now() / 1000)
  const { audience: aud, issuer: iss, private_jwk } = identity
  const claims = { iss, aud, sub: "user_1", jti: randomUUID(), iat, exp: iat + 60 }
  const input = `${base64url({ alg: "ES256", kid: private_jwk.kid })}.${base64url(claims)}`
  const key = createPrivateKey({ key: private_jwk, format: "jwk" })
  return `${input}.${sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`
}

const openApprovalSession = async (file: DevFile, mandateId: string, return_url: string) => {
  const answer = await fetch(`${file.base_url}/v1/mandates/${mandateId}/approval-sessions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${file.api_key}`,
      "content-type": "application/json",
      "idempotency-key": randomUUID()
    },
    body: JSON.stringify({
      identity_assertion: assertionOf(file),
      return_url,
      return_state: "state <of> sixteen characters"
    })
  })
  return { status: answer.status, ...(await answer.json()) }
}

/** What others than its owner may read or write in a folder. */
const openToOthers = async (path: string): Promise<ReadonlyArray<string>> => {
  const entries = await readdir(path, { recursive: true, withFileTypes: true })
  const paths = [path, ...entries.map(({ name, parentPath }) => join(parentPath, name))]
  const modes = await Promise.all(paths.map(async (entry) => (await stat(entry)).mode))
  return paths.filter((_, index) => (modes[index]! & 0o077) !== 0)
}

/** A receiver of webhooks on this machine, and the bodies that it got. */
const openReceiver = async () => {
  const bodies: Array<string> = []
  const server = createHttpServer((request, response) => {
    request.setEncoding("utf8")
    let body = ""
    request.on("data", (chunk) => {
      body += chunk
    })
    request.on("end", () => {
      bodies.push(body)
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const told = async (count: number): Promise<void> => {
    while (bodies.length < count) await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return { bodies, port, told, close: () => server.close() }
}

describe.skipIf(!RUNS_TYPESCRIPT)("the development server", () => {
  it("writes a private dev.json, accepts its keys, and exits 0 on a signal", {
    timeout: GIVE_UP_MS
  }, async () => {
    const env = await ports()
    const database = join(folder, ".data", "pglite")
    await mkdir(database, { recursive: true })
    await chmod(join(folder, ".data"), 0o700)
    await chmod(database, 0o777)
    const { child, exited, ready } = run(env)
    await ready
    assert.deepStrictEqual(await openToOthers(join(folder, ".data")), [])
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

  it("shows the next steps after an approval, on a return origin of its own", {
    timeout: GIVE_UP_MS
  }, async () => {
    const env = { ...(await ports()), SVC_STORE: "memory" }
    const first = run(env)
    await first.ready
    const file: DevFile = await devFile()
    const mandate = await createMandate(Number(env.SVC_PORT), file.api_key)
    const session = await openApprovalSession(file, mandate.id, `${file.return_origin}/done`)
    assert.strictEqual(session.status, 201)
    const back = `return_state=state+%3Cof%3E+sixteen+characters&approval_session_id=${session.id}`
    const answer = await fetch(`${file.return_origin}/done?${back}`)
    const page = await answer.text()
    assert.strictEqual(answer.status, 200, page)
    assert.include(page, `<code>call GET /v1/mandates/${mandate.id}</code>`)
    assert.include(page, `curl ${file.base_url}/v1/mandates/${mandate.id} -H `)
    assert.include(page, "<code>state &lt;of&gt; sixteen characters</code>")
    const style = createHash("sha256")
      .update(/<style>(.*?)<\/style>/su.exec(page)?.[1] ?? "")
      .digest("base64")
    assert.include(answer.headers.get("content-security-policy"), `style-src 'sha256-${style}'`)
    // Nothing is taken for an answer that no approval page sent.
    assert.include(await (await fetch(file.return_origin)).text(), "was not sent by an approval page")
    const unknown = await fetch(`${file.return_origin}/?return_state=a&approval_session_id=aps_<i>`)
    assert.include(await unknown.text(), "<code>aps_&lt;i&gt;</code>")
    for (const origin of [file.base_url, file.approval_base_url]) {
      assert.strictEqual((await fetch(`${origin}/done?${back}`)).status, 404)
    }
    first.child.kill("SIGTERM")
    assert.strictEqual((await first.exited).code, 0)

    // A file of an earlier release names an origin without a page, and what is wanted instead may be taken.
    const old = { ...file, return_origin: "http://localhost:3000" }
    await writeFile(join(folder, ".data", "dev.json"), JSON.stringify(old))
    const holder = createServer().listen(Number(new URL(file.return_origin).port), "127.0.0.1")
    try {
      const second = run(env)
      await second.ready
      const { api_key, return_origin } = await devFile()
      assert.notInclude([old.return_origin, file.return_origin], return_origin)
      assert.include(second.output(), `port ${new URL(file.return_origin).port} is taken`)
      assert.strictEqual((await fetch(`${return_origin}/done`)).status, 200)
      assert.include(await (await fetch(`${file.base_url}/docs`)).text(), `${return_origin}/return`)
      const { id } = await createMandate(Number(env.SVC_PORT), api_key)
      for (const origin of [return_origin, old.return_origin]) {
        assert.strictEqual((await openApprovalSession(old, id, `${origin}/done`)).status, 201)
      }
    } finally {
      holder.close()
    }
  })

  it("keeps data, identifiers, keys and webhook endpoints after a restart and a kill, on other ports", {
    timeout: GIVE_UP_MS
  }, async () => {
    await withDatabase()
    const receiver = await openReceiver()
    try {
      const env = await ports()
      const first = run(env)
      await first.ready
      const before = await devFile()
      const reference = await fetch(`http://localhost:${env.SVC_PORT}/docs`)
      assert.include(await reference.text(), `Authorization: Bearer ${before.api_key}`)
      const endpoint = await createEndpoint(Number(env.SVC_PORT), before.api_key, receiver.port)
      const mandate = await createMandate(Number(env.SVC_PORT), before.api_key)
      await receiver.told(1)
      assert.strictEqual(JSON.parse(receiver.bodies[0]!).data.mandate_id, mandate.id)
      const keySet = await read(Number(env.SVC_PORT), before.api_key, "/.well-known/jwks.json")
      assert.strictEqual((await stat(join(folder, ".data", "master.key"))).mode & 0o777, 0o600)
      first.child.kill("SIGKILL")
      await first.exited

      const moved = { ...before, return_origin: `http://localhost:${await freePort()}` }
      await writeFile(join(folder, ".data", "dev.json"), JSON.stringify(moved))
      const killedBefore = await ports()
      const between = run(killedBefore)
      await between.ready
      const portBetween = Number(killedBefore.SVC_PORT)
      assert.deepStrictEqual(await read(portBetween, before.api_key, `/v1/mandates/${mandate.id}`), mandate)
      const test = await fetch(`http://localhost:${portBetween}/v1/webhook-endpoints/${endpoint}/test`, {
        method: "POST",
        headers: { authorization: `Bearer ${before.api_key}` }
      })
      assert.strictEqual(test.status, 201)
      await receiver.told(2)
      assert.strictEqual(JSON.parse(receiver.bodies.at(-1)!).type, "endpoint.test")
      const { data } = await read(portBetween, before.api_key, `/v1/webhook-endpoints/${endpoint}/deliveries`)
      assert.sameMembers(
        data.map((delivery: { readonly event_type: string }) => delivery.event_type),
        ["mandate.created", "endpoint.test"]
      )
      between.child.kill("SIGINT")
      assert.strictEqual((await between.exited).code, 0)

      await writeFile(join(folder, ".data", "dev.json"), JSON.stringify(before))
      const stoppedBefore = await ports()
      const second = run(stoppedBefore)
      await second.ready
      const port = Number(stoppedBefore.SVC_PORT)
      assert.deepStrictEqual(await read(port, before.api_key, `/v1/mandates/${mandate.id}`), mandate)
      assert.deepStrictEqual(await read(port, before.api_key, "/.well-known/jwks.json"), keySet)
      for (const { return_origin } of [before, moved]) {
        const present = { ...before, base_url: `http://localhost:${port}` }
        assert.strictEqual(
          (await openApprovalSession(present, mandate.id, `${return_origin}/done`)).status,
          201
        )
      }
      const { approval_base_url: _, base_url, ...after } = await devFile()
      assert.notStrictEqual(base_url, before.base_url)
      assert.deepInclude(before, after)
    } finally {
      receiver.close()
    }
  })

  it("exits 75 and names the process that holds its folder, which exits 75 once the folder is taken over", {
    timeout: GIVE_UP_MS
  }, async () => {
    await withDatabase()
    const holder = run(await ports())
    await holder.ready
    const refused = await run(await ports()).exited
    assert.strictEqual(refused.code, 75)
    assert.match(
      refused.errors,
      new RegExp(`^svc dev: .*pglite is in use by process ${holder.child.pid} on [^\\n]*\\n$`, "u")
    )
    const lock = join(folder, ".data", "pglite", "svc.lock")
    const other = { ...JSON.parse(await readFile(lock, "utf8")), token: "another" }
    await rm(lock)
    await writeFile(lock, JSON.stringify(other))
    const { code, errors } = await holder.exited
    assert.strictEqual(code, 75, errors)
    assert.match(errors, /^svc dev: \S+pglite was taken over by another process [^\n]*\n$/u)
    assert.deepStrictEqual(JSON.parse(await readFile(lock, "utf8")), other)
  })

  it("exits 75 with one line on a port in use", { timeout: GIVE_UP_MS }, async () => {
    const env = await ports()
    const holder = createServer().listen(Number(env.SVC_PORT), "127.0.0.1")
    const { code, errors } = await run({ ...env, SVC_STORE: "memory" }).exited
    holder.close()
    assert.strictEqual(code, 75)
    assert.strictEqual(
      errors,
      `svc dev: port ${env.SVC_PORT} is in use by another process; choose others with SVC_PORT and SVC_APPROVAL_PORT (SVC_METRICS_PORT of svc serve and svc worker)\n`
    )
  })
})

/** The exit code and the line that it fails with before it listens. */
const faultOf = (env: Readonly<Record<string, string>>) =>
  devServer.pipe(
    Effect.flip,
    Effect.provideService(
      ConfigProvider.ConfigProvider,
      ConfigProvider.fromEnv({ env: { SVC_DATA_DIR: join(folder, ".data"), ...env } })
    ),
    Effect.map((fault) => (fault instanceof StartFault ? [fault.exitCode, fault.line] : fault)),
    Effect.runPromise
  )

describe("the development server (part 9), before it listens", () => {
  it("fails with exit code 78 and one line on a folder that cannot hold a database", async () => {
    await writeFile(join(folder, "file"), "")
    for (const place of [join(folder, "file"), join(folder, "file", "data")]) {
      assert.deepStrictEqual(await faultOf({ SVC_STORE: `pglite:${place}` }), [
        78,
        `${place} cannot hold a database: EEXIST (file already exists)`
      ])
    }
  })

  it("fails with exit code 78 and one line on a database that refuses the password", async () => {
    const refusal = 'SFATAL\0C28P01\0Mpassword authentication failed for user "user"\0\0'
    const head = Buffer.from([0x45, 0, 0, 0, 4 + refusal.length])
    const server = createServer((socket) => {
      socket.once("data", () => socket.end(Buffer.concat([head, Buffer.from(refusal)])))
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo
    const fault = await faultOf({ SVC_STORE: `postgres://user:very-secret@127.0.0.1:${port}/svc` })
    server.close()
    assert.deepStrictEqual(fault, [
      78,
      `the database svc on 127.0.0.1:${port}: password authentication failed for user "user"`
    ])
  })

  it("fails with exit code 78 and one line on a setting that is not valid", async () => {
    assert.deepStrictEqual(await faultOf({ SVC_STORE: "tape" }), [
      78,
      "SVC_STORE must be memory, pglite:<folder>, or a postgres:// URL"
    ])
  })

  it("fails with exit code 78 and one line on a dev.json that is not its own", async () => {
    await writeFile(join(folder, "dev.json"), "{}")
    const fault = await faultOf({ SVC_DATA_DIR: folder })
    assert.instanceOf(fault, Array)
    const [code, line] = fault as ReadonlyArray<unknown>
    assert.strictEqual(code, 78)
    assert.match(String(line), /^.*dev\.json is not a file of the development server[^\n]*$/u)
  })
})
