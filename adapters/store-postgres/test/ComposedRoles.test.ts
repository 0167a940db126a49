import { execFile, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { leastEnvironment } from "@svc/testkit/ProgramEnvironment"
import { afterAll, assert, describe, it } from "vitest"
import { ROOT, SVC } from "../soak/ServerProgram.ts"
import { startTestPostgres } from "./TestPostgres.ts"
import { rowOf } from "./TestStandby.ts"

/* deploy/postgres/roles.sql, as the image of Postgres runs it when it makes its data: with psql, as the superuser. */

const hasPsql = spawnSync("psql", ["--version"]).status === 0
if (!hasPsql)
  process.stderr.write("Tests of the roles of deploy/ are skipped: there is no psql on the PATH.\n")

// Roles are those of a whole server, so it is one of its own.
const server = hasPsql ? await startTestPostgres() : undefined

const COMMAND_MILLISECONDS = 60_000

describe.skipIf(server?.own === undefined)("the roles of deploy/compose.yaml", () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-roles-"))
  afterAll(async () => {
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const run = (program: string, words: ReadonlyArray<string>, store = "") =>
    new Promise<{ readonly code: number; readonly text: string }>((resolve) => {
      const options = {
        cwd: folder,
        env: { ...leastEnvironment(), SVC_STORE: store },
        timeout: COMMAND_MILLISECONDS
      }
      execFile(program, words, options, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code), text: `${stdout}${stderr}` })
      )
    })
  const asRole = (username: string) =>
    Object.assign(new URL(server!.url), { username, pathname: "/svc" }).href

  const script = readFileSync(join(ROOT, "deploy/postgres/roles.sql"), "utf8")
  writeFileSync(join(folder, "roles.sql"), script.replaceAll("/run/secrets", folder))
  const makeRoles = (secrets: Readonly<Record<string, string>>) => {
    for (const [name, value] of Object.entries(secrets)) writeFileSync(join(folder, name), `${value}\n`)
    return run("psql", [
      "-v",
      "ON_ERROR_STOP=1",
      "--no-psqlrc",
      "--dbname",
      server!.url,
      "--file",
      "roles.sql"
    ])
  }

  it("are not made without a password, with which nobody could log in", async () => {
    for (const secrets of [
      { svc_owner_password: "that of the owner" },
      { svc_owner_password: "", svc_password: "that of who serves" }
    ]) {
      const refused = await makeRoles(secrets)
      assert.notStrictEqual(refused.code, 0, refused.text)
      assert.match(refused.text, /svc_owner_password or svc_password is empty or cannot be read/u)
      assert.notInclude(refused.text, "that of")
    }
    const roles = "select count(*)::text as roles from pg_roles where rolname in ('svc', 'svc_owner')"
    assert.deepStrictEqual(await rowOf(server!.url, roles), { roles: "0" })
  })

  it("let the one migrate and the other serve, which can change no table", async () => {
    const made = await makeRoles({
      svc_owner_password: "that of \"'the\\ $owner'\": $(id) `id` :password",
      svc_password: "that of who serves"
    })
    assert.strictEqual(made.code, 0, made.text)
    const roles = "select count(*)::text as roles from pg_authid where rolname in ('svc', 'svc_owner')"
    const plain = "and rolpassword like 'SCRAM-SHA-256$%' and not (rolsuper or rolcreatedb or rolcreaterole)"
    assert.deepStrictEqual(await rowOf(server!.url, `${roles} ${plain}`), { roles: "2" })

    const migrated = await run(process.execPath, [SVC, "migrate"], asRole("svc_owner"))
    assert.strictEqual(migrated.code, 0, migrated.text)
    const dropped = await run("psql", ["--dbname", asRole("svc"), "--command", "drop table svc.event"])
    assert.include(dropped.text, "must be owner of table event")
    const listed = await run(process.execPath, [SVC, "organization", "list"], asRole("svc"))
    assert.strictEqual(listed.code, 0, listed.text)
    const { checks } = JSON.parse(
      (await run(process.execPath, [SVC, "doctor", "--json"], asRole("svc"))).text
    )
    const found = checks.find(({ check }: { readonly check: string }) => check === "database.privileges")
    assert.deepInclude(found, {
      status: "ok",
      found: "the role may use every table and function; svc migrate needs the role that owns them"
    })
  })
})
