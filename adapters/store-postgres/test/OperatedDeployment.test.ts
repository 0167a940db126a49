import { type ChildProcess, execFile, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { createServer } from "node:net"
import { promisify } from "node:util"
import * as PgClient from "@effect/sql-pg/PgClient"
import { leastEnvironment } from "@svc/testkit/ProgramEnvironment"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { afterAll, assert, describe, it } from "vitest"
import { pause } from "../soak/ServerFleet.ts"
import { ROOT, SVC } from "../soak/ServerProgram.ts"
import { startTestPostgres } from "./TestPostgres.ts"

/*
 * A deployment as its operator runs it, by nothing but the `svc` command: schema, organization, keys, a server without a
 * worker, and workers of their own.
 */

const server = await startTestPostgres()
const SVC_STORE = server?.url ?? ""

const TIMEOUT_MILLISECONDS = 300_000
const POLL_MILLISECONDS = 50
const POLLS = 1200
const DEADLINE_MILLISECONDS = 2000
const PATIENT_DEADLINE_MILLISECONDS = 20_000

const masterKey = randomBytes(32).toString("base64url")

/** Two ports that nobody listens on. */
const freePorts = async (): Promise<ReadonlyArray<number>> => {
  const probes = [createServer(), createServer()]
  const ports: Array<number> = []
  for (const probe of probes) {
    await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve))
    const address = probe.address()
    if (typeof address === "object" && address !== null) ports.push(address.port)
  }
  for (const probe of probes) await new Promise((resolve) => probe.close(resolve))
  return ports
}

const [port, approvalPort] = await freePorts()

const SETTINGS = {
  SVC_STORE,
  SVC_ENVIRONMENT: "test",
  SVC_MASTER_KEY: masterKey,
  SVC_BASE_URL: `http://localhost:${port}`,
  SVC_APPROVAL_BASE_URL: `http://localhost:${approvalPort}`,
  SVC_PORT: String(port),
  SVC_APPROVAL_PORT: String(approvalPort)
}

const ENV = leastEnvironment()

/** Runs a command to its end; gives what it prints. */
const svc = async (words: ReadonlyArray<string>): Promise<string> =>
  (
    await promisify(execFile)(process.execPath, [SVC, ...words], {
      cwd: ROOT,
      env: { ...ENV, ...SETTINGS }
    })
  ).stdout

// biome-ignore lint/suspicious/noExplicitAny: the tests look at what comes out.
const answerOf = async (...words: ReadonlyArray<string>): Promise<any> => JSON.parse(await svc(words))

const running = new Set<ChildProcess>()

/** Starts a command that goes on. */
const start = (words: ReadonlyArray<string>, env: Readonly<Record<string, string>>) => {
  const child = spawn(process.execPath, [SVC, ...words], {
    cwd: ROOT,
    env: { ...ENV, ...env },
    stdio: ["ignore", "pipe", "pipe"]
  })
  running.add(child)
  let output = ""
  const keep = (chunk: Buffer) => {
    output += String(chunk)
  }
  child.stdout.on("data", keep)
  child.stderr.on("data", keep)
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve))
  return {
    ended,
    output: () => output,
    stop: () => {
      child.kill("SIGTERM")
      return ended
    }
  }
}

const until = async <A>(what: string, probe: () => Promise<A | undefined>): Promise<A> => {
  for (let poll = 0; poll < POLLS; poll++) {
    const found = await probe()
    if (found !== undefined) return found
    await pause(POLL_MILLISECONDS)
  }
  throw new Error(`in vain: ${what}`)
}

const rows = (statement: string): Promise<ReadonlyArray<Record<string, unknown>>> =>
  Effect.flatMap(PgClient.make({ url: Redacted.make(SVC_STORE) }), (client) =>
    client.unsafe<Record<string, unknown>>(statement)
  ).pipe(Effect.scoped, Effect.provide(Reactivity.layer), Effect.runPromise)

const call = async (apiKey: string, path: string, body?: object) => {
  const response = await fetch(`${SETTINGS.SVC_BASE_URL}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${apiKey}`,
      ...(body === undefined
        ? {}
        : { "content-type": "application/json", "idempotency-key": randomBytes(9).toString("hex") })
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) })
  })
  // biome-ignore lint/suspicious/noExplicitAny: shapes are those of the interface.
  return { status: response.status, body: (await response.json()) as any }
}

const isReady = () =>
  fetch(`${SETTINGS.SVC_BASE_URL}/readyz`).then(
    ({ ok }) => (ok ? true : undefined),
    () => undefined
  )

/** Creates a mandate with so long until its approval deadline; on a busy machine that may have passed before it is decided. */
const createUntil = (apiKey: string, milliseconds: number) => {
  const now = Date.now()
  return call(apiKey, "/v1/mandates", {
    kind: "SINGLE",
    subject_reference: "user_1",
    policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
    window: { ends_at: new Date(now + 86_400_000).toISOString() },
    approval_deadline: new Date(now + milliseconds).toISOString()
  })
}

/** A mandate that nobody approves in time. */
const createExpiring = async (apiKey: string): Promise<string> => {
  let answer = await createUntil(apiKey, DEADLINE_MILLISECONDS)
  if (answer.status !== 201) answer = await createUntil(apiKey, PATIENT_DEADLINE_MILLISECONDS)
  assert.strictEqual(answer.status, 201, JSON.stringify(answer.body))
  return answer.body.id
}

/** Waits for the end of a mandate to be recorded, without a read that would record it. */
const untilExpired = (mandate: string) =>
  until(`the end of ${mandate}`, async () => {
    const found = await rows(`select type from svc.event where mandate = '${mandate}' order by seq`)
    return found.length > 1 ? found.map(({ type }) => type) : undefined
  })

// It makes the first key of the deployment, so the database must be new.
describe.skipIf(server?.own === undefined)("a deployment run by its operator", () => {
  afterAll(async () => {
    for (const child of running) child.kill("SIGKILL")
    await server?.stop()
  })

  it("is set up, serves, is operated and stops", { timeout: TIMEOUT_MILLISECONDS }, async () => {
    const early = start(["serve"], SETTINGS)
    assert.strictEqual(await early.ended, 78)
    assert.match(
      early.output(),
      /^svc serve: the database lacks migrations \(baseline.*\); run svc migrate\n$/u
    )
    await svc(["migrate"])
    assert.strictEqual(await svc(["migrate"]), "up to date\n")
    const { organization_id } = await answerOf("organization", "create", "--name", "Shop")
    const of = ["--organization", organization_id]
    const key = await answerOf("api-key", "create", ...of)

    const serving = start(["serve", "--no-worker"], SETTINGS)
    const workers = [0, 1].map(() =>
      start(["worker"], { SVC_STORE, SVC_MASTER_KEY: SETTINGS.SVC_MASTER_KEY })
    )
    await until("a server that is ready", isReady)
    const foreign = start(["worker"], { SVC_STORE, SVC_MASTER_KEY: randomBytes(32).toString("base64url") })
    assert.strictEqual(await foreign.ended, 78)
    assert.match(
      foreign.output(),
      /^svc worker: the master key does not open the signing key that the store keeps: set .*SVC_MASTER_KEY_PREVIOUS.*\n$/u
    )

    const untouched = await createExpiring(key.api_key)
    assert.deepStrictEqual(await untilExpired(untouched), ["mandate.created", "mandate.expired"])

    const mandate = await createExpiring(key.api_key)
    const keySet = async () =>
      (await call("", "/.well-known/jwks.json")).body.keys as ReadonlyArray<{ kid: string }>
    const before = await keySet()
    assert.strictEqual(before.length, 1)
    const { kid } = await answerOf("signing-key", "rotate", "--now")
    await until("the new signing key", async () => ((await keySet()).length === 2 ? true : undefined))
    const evidence = (await call(key.api_key, `/v1/mandates/${mandate}/evidence`)).body
    const header = JSON.parse(Buffer.from(evidence.protected, "base64url").toString())
    assert.strictEqual(header.kid, kid)
    const keys = (await answerOf("signing-key", "list", "--json")).data.map(
      (one: { readonly kid: string; readonly state: string }) => `${one.kid} ${one.state}`
    )
    assert.deepStrictEqual(keys, [`${before[0]?.kid} retired`, `${kid} signing`])

    const { signing_kid } = await answerOf("signing-key", "withdraw", kid, "--reason", "stolen", "--json")
    const table = await svc(["signing-key", "list"])
    assert.match(table, /^KID +STATE +CREATED +SIGNS FROM +WITHDRAWN\n/u)
    assert.match(table, new RegExp(`^${kid} +withdrawn( +\\d{4}-\\S+Z){3}$`, "mu"))
    const signedAnew = (await call(key.api_key, `/v1/mandates/${mandate}/evidence`)).body
    assert.strictEqual(JSON.parse(Buffer.from(signedAnew.protected, "base64url").toString()).kid, signing_kid)
    await until("a key set without the withdrawn key", async () =>
      (await keySet()).some((one) => one.kid === kid) ? undefined : true
    )

    await server?.own?.crash()
    await pause(DEADLINE_MILLISECONDS)
    await server?.own?.start()
    await until("a server that is ready again", isReady)
    await untilExpired(await createExpiring(key.api_key))

    await answerOf("api-key", "revoke", ...of, "--api-key", key.api_key_id)
    await until("the end of the look-up that the server remembers", async () =>
      (await call(key.api_key, "/v1/mandates")).status === 401 ? true : undefined
    )

    for (const worker of workers) {
      assert.strictEqual(await worker.stop(), 0, worker.output())
      assert.include(worker.output(), '"message":"stopping"')
      assert.include(worker.output(), '"level":"info","message":"working"')
    }
    const told = workers.map((worker) => worker.output()).join("")
    assert.include(told, `"organization_id":"${organization_id}","mandate_id":"${untouched}"`)
    assert.strictEqual(await serving.stop(), 0, serving.output())
    assert.deepStrictEqual(await rows("select * from svc.lease"), [])
    const log = await rows("select command, organization from svc.operator_log order by at, entry")
    assert.deepStrictEqual(
      log.slice(-7).map(({ command, organization }) => [command, organization]),
      [
        ["organization create", organization_id],
        ["api-key create", organization_id],
        ["signing-key rotate", ""],
        ["signing-key list", ""],
        ["signing-key withdraw", ""],
        ["signing-key list", ""],
        ["api-key revoke", organization_id]
      ]
    )
  })
})
