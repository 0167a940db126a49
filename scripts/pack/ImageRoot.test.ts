import { randomBytes } from "node:crypto"
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { freePort, startTestPostgres } from "@svc/store-postgres/test/TestPostgres"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { inject } from "vitest"
import { ROOT } from "../../checks/Imports.ts"
import { canContain, prepareFileSystem, type Started, start } from "./ContainedProgram.ts"
import { writeImageRoot } from "./ImageRoot.ts"
import { PUBLISHED_NAMES } from "./PackageNames.ts"

/*
 * What deploy/Dockerfile describes, as far as it can be had without a container engine: the files that it copies, started by
 * its words, as its user, on a file system that is read-only.
 */

const DOCKERFILE = readFileSync(join(ROOT, "deploy", "Dockerfile"), "utf8").replaceAll("\\\n", "")

/** The words of the last instruction of that name. */
const instruction = (name: string): string =>
  DOCKERFILE.split("\n")
    .findLast((line) => line.startsWith(`${name} `))
    ?.slice(name.length + 1) ?? ""

const wordsOf = (text: string): ReadonlyArray<string> => JSON.parse(text.slice(text.indexOf("[")))

const [, builtIn = "", PLACE = ""] = /^COPY --from=build (\S+) (\S+)$/mu.exec(DOCKERFILE) ?? []
const USER = instruction("USER")

/** Far more than the image needs, and far less than what its packages hold. */
const MAX_ROOT_BYTES = 40 * 1024 * 1024

const base = mkdtempSync(join(tmpdir(), "image-"))
const root = join(base, PLACE)
/** Where a program finds a path of the image. */
const seen = (path: string): string => (canContain || path.startsWith("/usr/") ? path : join(base, path))

const server = await startTestPostgres()
const INSTALL = readFileSync(join(ROOT, "docs", "operate", "install.md"), "utf8")

/** The block of docs/operate/install.md that begins with this line. */
const blockOf = (first: string): string =>
  INSTALL.match(/^```\w+\n[\s\S]*?^```$/gmu)?.find(
    (block) => block.split("\n")[1]?.startsWith(first) === true
  ) ?? ""

const execute = (url: string, statements: string): Promise<unknown> =>
  Effect.forEach(
    statements.split(";\n").filter((statement) => statement.trim() !== ""),
    (statement) =>
      Effect.flatMap(
        PgClient.make({ url: Redacted.make(url), maxConnections: 1 }),
        (client) => client.unsafe(statement).unprepared
      ).pipe(Effect.scoped)
  ).pipe(Effect.provide(Reactivity.layer), Effect.runPromise)

/** The lines of that block. */
const linesOf = (first: string): string => `${blockOf(first).split("\n").slice(1, -1).join("\n")}\n`

/** The URL of the page's database for a role of it. */
const roleUrl = (username: string): string =>
  Object.assign(new URL(server?.url ?? ""), { username, pathname: "/svc" }).href

/** Makes the roles and the database of the page; gives the URL for each role, or that of a server that is not of our own. */
const installedDatabase = async (): Promise<{ readonly owner: string; readonly serving: string }> => {
  const url = server?.url ?? ""
  if (server?.own === undefined) return { owner: url, serving: url }
  const [before = "", after = ""] = linesOf("create role").split("\\connect svc\n")
  await execute(url, before)
  await execute(roleUrl("postgres"), after)
  return { owner: roleUrl("svc_owner"), serving: roleUrl("svc") }
}

/** The words of the first steps of the page. */
const firstSteps = (): ReadonlyArray<ReadonlyArray<string>> =>
  blockOf("svc migrate")
    .replaceAll("\\\n", " ")
    .split("\n")
    .filter((line) => line.startsWith("svc "))
    .map((line) => line.split(/\s+/u).slice(1))

const [port = 0, approvalPort = 0, metricsPort = 0, workerPort = 0] = await Promise.all([
  freePort(),
  freePort(),
  freePort(),
  freePort()
])
const secrets = join(base, "run", "secrets")
const secret = (name: string, content: string): string => {
  writeFileSync(join(secrets, name), `${content}\n`, { mode: 0o444 })
  return seen(`/run/secrets/${name}`)
}

let ownersStore = ""
let settings: Readonly<Record<string, string>> = {}
const running = new Set<Started>()

const run = (words: ReadonlyArray<string>, more: Readonly<Record<string, string>> = {}): Started => {
  const started = start(base, USER, words.map(seen), { ...settings, ...more })
  running.add(started)
  started.ended.finally(() => running.delete(started)).catch(() => undefined)
  return started
}

const svc = (...words: ReadonlyArray<string>): Started =>
  run([...wordsOf(instruction("ENTRYPOINT")), ...words])

const answer = async (...words: ReadonlyArray<string>): Promise<Readonly<Record<string, string>>> => {
  const started = svc(...words)
  assert.strictEqual(await started.ended, 0, started.output())
  // Lists are tables.
  return started.output().startsWith("{") ? JSON.parse(started.output()) : {}
}

/** `svc doctor` finds nothing wrong with the database; the hosts of the test have no names in a file system without any. */
const examination = async (): Promise<Readonly<Record<string, string>>> => {
  const doctor = svc("doctor", "--json")
  await doctor.ended
  const { checks } = JSON.parse(doctor.output())
  const failed = checks.filter(
    ({ check, status }: { readonly check: string; readonly status: string }) =>
      status === "failed" && /^(?:settings|database|history|keys|organizations)\./u.test(check)
  )
  assert.deepStrictEqual(failed, [])
  return {}
}

const statusOf = async (at: number, path: string): Promise<number> =>
  (await fetch(`http://127.0.0.1:${at}${path}`)).status

beforeAll(async () => {
  const { owner, serving } = await installedDatabase()
  prepareFileSystem(base)
  mkdirSync(root, { recursive: true })
  writeImageRoot(inject("installed").folder, root, PUBLISHED_NAMES)
  mkdirSync(secrets, { recursive: true })
  ownersStore = secret("owners_store", owner)
  settings = {
    SVC_ENVIRONMENT: "test",
    SVC_STORE_FILE: secret("store", serving),
    SVC_MASTER_KEY_FILE: secret("master_key", randomBytes(32).toString("base64url")),
    SVC_BASE_URL: `http://localhost:${port}`,
    SVC_APPROVAL_BASE_URL: `http://localhost:${approvalPort}`,
    SVC_PORT: String(port),
    SVC_APPROVAL_PORT: String(approvalPort),
    SVC_METRICS_PORT: String(metricsPort)
  }
  for (const folder of globSync(join(root, "**/"))) chmodSync(folder, 0o555)
  // `mkdtemp` made it for one user alone.
  chmodSync(base, 0o755)
})

afterAll(async () => {
  for (const started of running) started.signal("SIGKILL")
  await server?.stop()
  for (const folder of globSync(join(root, "**/"))) chmodSync(folder, 0o755)
  rmSync(base, { recursive: true, force: true })
})

describe("deploy/Dockerfile", () => {
  it("copies what `npm run image:root` builds, and names a user by number", () => {
    assert.include(DOCKERFILE, `npm run --silent image:root -- ${builtIn}\n`)
    assert.match(USER, /^[1-9]\d+:[1-9]\d+$/u)
    assert.isTrue(instruction("ENV").includes(`PATH=${PLACE}/bin:`))
  })
})

describe("the files of the image", () => {
  const files = () => globSync("**/*", { cwd: root, withFileTypes: true }).filter((entry) => entry.isFile())

  it("are JavaScript, and what says whose it is: the same for every platform", () => {
    const others = files()
      .map(({ name }) => name)
      .filter((name) => !/\.(?:[cm]?js|json)$|^(?:licen[cs]e|notice|copying)(?:[.-].*)?$/iu.test(name))
    assert.deepStrictEqual(others, [])
  })

  it("are few, and without the embedded database", () => {
    const sizes = files().map(({ name, parentPath }) => readFileSync(join(parentPath, name)).byteLength)
    assert.isBelow(
      sizes.reduce((sum, size) => sum + size, 0),
      MAX_ROOT_BYTES
    )
    assert.deepStrictEqual(globSync("**/pglite/package.json", { cwd: root }), [])
  })

  it("are enough for every module of ours", async () => {
    const modules = globSync("node_modules/@svc/*/dist/**/*.js", { cwd: root }).filter(
      (file) => !/[\\/]dist[\\/]bin[\\/]|PgliteStore\.js$/u.test(file)
    )
    assert.isAbove(modules.length, 100)
    const code = `for (const file of ${JSON.stringify(modules)}) await import("${seen(PLACE)}/" + file)`
    const imported = run(["/usr/local/bin/node", "--input-type=module", "-e", code])
    assert.strictEqual(await imported.ended, 0, imported.output())
  })
})

describe.skipIf(server === undefined)(`svc of the image${canContain ? ", contained" : ""}`, () => {
  it.runIf(canContain)("is process 1, of a user without rights, and can write nowhere", async () => {
    const code = `
      import { readFileSync, writeFileSync } from "node:fs"
      const places = ["/", "/tmp", "${PLACE}", "/run/secrets"]
      const refused = places.filter((place) => {
        try { writeFileSync(place + "/file", "") } catch { return true }
      })
      const [rights] = /CapEff.*/.exec(readFileSync("/proc/self/status", "utf8"))
      console.log(JSON.stringify([process.pid, process.getuid() + ":" + process.getgid(), refused.length, rights]))`
    const asked = run(["/usr/local/bin/node", "--input-type=module", "-e", code])
    assert.strictEqual(await asked.ended, 0, asked.output())
    assert.deepStrictEqual(JSON.parse(asked.output()), [1, USER, 4, "CapEff:\t0000000000000000"])
  })

  it("asks for a Postgres server", async () => {
    const store = { SVC_STORE_FILE: "", SVC_STORE: "pglite:/data" }
    const refused = run([...wordsOf(instruction("ENTRYPOINT")), ...wordsOf(instruction("CMD"))], store)
    assert.strictEqual(await refused.ended, 78, refused.output())
    assert.include(refused.output(), "no embedded database is installed: name a Postgres server in SVC_STORE")
  })

  it("migrates as the owner, serves, works, does the first steps, and stops on SIGTERM", async () => {
    const [[first = ""] = [], ...steps] = firstSteps()
    const migrated = run([...wordsOf(instruction("ENTRYPOINT")), first], { SVC_STORE_FILE: ownersStore })
    assert.strictEqual(await migrated.ended, 0, migrated.output())
    if (server?.own !== undefined) await execute(roleUrl("svc_owner"), linesOf("grant usage"))

    const serving = run([...wordsOf(instruction("ENTRYPOINT")), ...wordsOf(instruction("CMD"))])
    const worker = run([...wordsOf(instruction("ENTRYPOINT")), "worker"], {
      SVC_METRICS_PORT: String(workerPort)
    })
    await Promise.all([serving.until('"serving"'), worker.until('"working"')])

    assert.strictEqual(await statusOf(port, "/healthz"), 200)
    assert.strictEqual(await statusOf(port, "/readyz"), 200)
    assert.strictEqual(await statusOf(port, "/docs"), 200)
    assert.strictEqual(await statusOf(approvalPort, "/"), 200)
    assert.strictEqual(await statusOf(metricsPort, "/metrics"), 200)
    assert.strictEqual(await statusOf(workerPort, "/metrics"), 200)

    const health = wordsOf(instruction("HEALTHCHECK").replace(/^.* CMD /u, ""))
    assert.strictEqual(await run(health).ended, 0)
    assert.strictEqual(await run(health, { SVC_PORT: String(await freePort()) }).ended, 1)

    let organization = ""
    let apiKey = ""
    for (const step of steps) {
      const words = step.map((word) => (word === "org_..." ? organization : word))
      const printed = words[0] === "doctor" ? await examination() : await answer(...words)
      organization = printed.organization_id ?? organization
      apiKey = printed.api_key ?? apiKey
    }
    const created = await fetch(`http://127.0.0.1:${port}/v1/mandates`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${apiKey}`,
        "content-type": "application/json",
        "idempotency-key": "image-1"
      },
      body: JSON.stringify({
        kind: "SINGLE",
        subject_reference: "user_1",
        policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
        window: { ends_at: new Date(Date.now() + 86_400_000).toISOString() }
      })
    })
    assert.strictEqual(created.status, 201, await created.text())

    for (const started of [serving, worker]) started.signal("SIGTERM")
    assert.deepStrictEqual(
      await Promise.all([serving.ended, worker.ended]),
      [0, 0],
      serving.output() + worker.output()
    )
  })
})
