import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { leastEnvironment } from "@svc/testkit/ProgramEnvironment"
import { afterAll, assert, describe, it } from "vitest"
import { pause } from "../soak/ServerFleet.ts"
import { ROOT, SVC } from "../soak/ServerProgram.ts"
import { asPlainUser, ended, freePort, giveToPlainUser, openTestDatabase } from "./TestPostgres.ts"
import { rowOf } from "./TestStandby.ts"

/* A PgBouncer between the service and its database, as Debian installs it: without one this is skipped. */

const PROGRAM = "pgbouncer"
const hasBouncer = spawnSync(PROGRAM, ["--version"]).status === 0
if (!hasBouncer)
  process.stderr.write("Tests with PgBouncer are skipped: there is no pgbouncer on the PATH.\n")

const server = hasBouncer ? await openTestDatabase() : undefined

const POLLS = 200
const POLL_MILLISECONDS = 25
const COMMAND_MILLISECONDS = 60_000

/* What the page says of PgBouncer. */
const PAGE = readFileSync(join(ROOT, "docs/operate/failover.md"), "utf8")
const SECTION = PAGE.slice(PAGE.indexOf("\n## PgBouncer"))

/** What sessions ask for that PgBouncer does not know. */
const [, IGNORED = ""] = /^ignore_startup_parameters = (.+)$/mu.exec(SECTION) ?? []

/** What a role is given instead. */
const FOR_THE_ROLE = SECTION.match(/^alter role svc set .+;$/gmu) ?? []

interface Bouncer {
  readonly url: string
  readonly stop: () => Promise<void>
}

const startBouncer = async (settings: Readonly<Record<string, string>>): Promise<Bouncer> => {
  const folder = mkdtempSync(join(tmpdir(), "svc-bouncer-"))
  giveToPlainUser(folder)
  const { hostname, pathname, port: serverPort } = new URL(server!.url)
  const port = await freePort()
  const file = join(folder, "pgbouncer.ini")
  const lines = {
    listen_addr: "127.0.0.1",
    listen_port: String(port),
    unix_socket_dir: "",
    auth_type: "any",
    ...settings
  }
  const database = pathname.slice(1)
  writeFileSync(
    file,
    [
      "[databases]",
      `${database} = host=${hostname} port=${serverPort} user=${ROLE}`,
      "[pgbouncer]",
      ...Object.entries(lines).map(([name, value]) => `${name} = ${value}`),
      ""
    ].join("\n")
  )
  giveToPlainUser(file)
  const child: ChildProcess = spawn(PROGRAM, [file], { ...asPlainUser, cwd: folder, stdio: "ignore" })
  const url = `postgres://${ROLE}@127.0.0.1:${port}/${database}`
  const stop = async () => {
    child.kill("SIGKILL")
    await ended(child)
    rmSync(folder, { recursive: true, force: true })
  }
  for (let poll = 0; poll < POLLS; poll++) {
    if ((await rowOf(url, "select 1 as one").catch(() => undefined)) !== undefined) return { url, stop }
    await pause(POLL_MILLISECONDS)
  }
  await stop()
  throw new Error("pgbouncer does not start")
}

const ROLE = "svc_bounced"

/** Runs a command on a store; gives its exit code and what it printed. */
const svc = (store: string, ...words: ReadonlyArray<string>) =>
  new Promise<{ readonly code: number; readonly text: string }>((resolve) => {
    const options = {
      cwd: ROOT,
      env: { ...leastEnvironment(), SVC_STORE: store },
      timeout: COMMAND_MILLISECONDS
    }
    execFile(process.execPath, [SVC, ...words], options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code), text: `${stdout}${stderr}` })
    )
  })

const findings = async (store: string): Promise<ReadonlyMap<string, string>> => {
  const { text } = await svc(store, "doctor", "--json")
  const { checks } = JSON.parse(text) as { readonly checks: ReadonlyArray<Record<string, string>> }
  return new Map(checks.map(({ check = "", status = "" }) => [check, status]))
}

describe.skipIf(server === undefined)("a store behind PgBouncer", () => {
  afterAll(() => server?.stop())

  const withBouncer = async (
    settings: Readonly<Record<string, string>>,
    use: (url: string) => Promise<void>
  ) => {
    const bouncer = await startBouncer(settings)
    try {
      await use(bouncer.url)
    } finally {
      await bouncer.stop()
    }
  }

  const prepared = (async () => {
    if (server === undefined) return
    await rowOf(server.url, `create role ${ROLE} login superuser`)
  })()

  it("is refused where PgBouncer refuses what sessions ask for, as it does unless it is told otherwise", async () => {
    await prepared
    await withBouncer({ pool_mode: "session" }, async (url) => {
      const { code, text } = await svc(url, "migrate")
      assert.strictEqual(code, 78, text)
      assert.match(text, /a connection pooler there refuses the settings that every session must have/u)
    })
  })

  it("is refused in transaction mode", async () => {
    await prepared
    assert.isAbove(FOR_THE_ROLE.length, 0)
    for (const statement of FOR_THE_ROLE)
      await rowOf(server!.url, statement.replace("alter role svc ", `alter role ${ROLE} `))
    const settings = { pool_mode: "transaction", ignore_startup_parameters: IGNORED }
    await withBouncer(settings, async (url) => {
      // A migration needs one session, and is not refused.
      assert.strictEqual((await svc(url, "migrate")).code, 0)
      const { code, text } = await svc(url, "organization", "list")
      assert.strictEqual(code, 78, text)
      assert.match(
        text,
        /One connection is served by several sessions, as behind PgBouncer in transaction mode/u
      )
      assert.strictEqual((await findings(url)).get("database.pooler"), "failed")
    })
  })

  it("works in session mode, if the role has the settings", async () => {
    await prepared
    const settings = { pool_mode: "session", ignore_startup_parameters: IGNORED }
    await withBouncer(settings, async (url) => {
      const migrated = await svc(url, "migrate")
      assert.strictEqual(migrated.code, 0, migrated.text)
      const found = await findings(url)
      assert.deepStrictEqual(
        ["database.pooler", "database.session", "database.synchronous_commit", "history.acknowledged"].map(
          (check) => found.get(check)
        ),
        ["ok", "ok", "ok", "ok"]
      )
      const listed = await svc(url, "organization", "list")
      assert.strictEqual(listed.code, 0, listed.text)
    })
  })
})
