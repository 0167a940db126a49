import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { leastEnvironment } from "@svc/testkit/ProgramEnvironment"
import { afterAll, assert, describe, it } from "vitest"
import { makeDeploymentFolder } from "../soak/DeploymentFolder.ts"
import { startServer } from "../soak/ServerFleet.ts"
import { ROOT, SVC } from "../soak/ServerProgram.ts"
import { startDeployment } from "./TestDeployment.ts"
import { startInstalled } from "./TestPostgres.ts"
import { rowOf } from "./TestStandby.ts"

/* The commands of docs/operate/backup.md, as they are written there, with the programs of an installation of Postgres. */

const INSTALLATIONS = "/usr/lib/postgresql"
const PROGRAMS = ["postgres", "pg_dump", "pg_restore", "pg_basebackup", "psql"]

const installation = (existsSync(INSTALLATIONS) ? readdirSync(INSTALLATIONS) : [])
  .map((version) => join(INSTALLATIONS, version))
  .find((folder) => PROGRAMS.every((program) => existsSync(join(folder, "bin", program))))

if (installation === undefined) {
  process.stderr.write(
    `Tests of backups are skipped: ${INSTALLATIONS} has no version with ${PROGRAMS.join(", ")}.\n`
  )
}

const COMMAND_MILLISECONDS = 120_000
const DAY_MILLISECONDS = 86_400_000

const page = readFileSync(join(ROOT, "docs/operate/backup.md"), "utf8")
const [dump, restoreDump, baseBackup, recover, acknowledgeDump, acknowledgeBase, ...others] = [
  ...page.matchAll(/```sh\n(.*?)\n *```/gsu)
].map(([, commands = ""]) => commands)

describe.skipIf(installation === undefined)("backups as their page describes them", () => {
  const endings: Array<() => unknown> = []
  afterAll(async () => {
    for (const end of endings.reverse()) await end()
  })

  it("are restored: evidence verifies, cursors are refused, nothing is decided before it is acknowledged", {
    timeout: 300_000
  }, async () => {
    assert.deepStrictEqual(others, [])
    const folder = mkdtempSync(join(tmpdir(), "svc-backup-"))
    endings.push(() => rmSync(folder, { recursive: true, force: true }))
    writeFileSync(join(folder, "svc"), `#!/bin/sh\nexec "${process.execPath}" "${SVC}" "$@"\n`)
    chmodSync(join(folder, "svc"), 0o755)
    const server = await startInstalled(installation!)
    endings.push(server.stop)
    const restored = Object.assign(new URL(server.url), { pathname: "/restored" }).href
    const least = leastEnvironment()
    const run = (commands = "", url = restored): Promise<string> =>
      new Promise((resolve, reject) => {
        const env = {
          ...least,
          PATH: `${folder}:${installation}/bin:${least.PATH ?? ""}`,
          SVC_STORE: server.url,
          BACKUP: folder,
          RESTORED: url
        }
        const options = { cwd: folder, env, timeout: COMMAND_MILLISECONDS }
        execFile("/bin/sh", ["-ec", commands], options, (error, stdout, stderr) =>
          error === null ? resolve(stdout) : reject(new Error(`${commands}: ${stdout}${stderr}`))
        )
      })

    const masterKey = randomBytes(32).toString("base64url")
    const env = { SVC_MASTER_KEY: masterKey }
    const deployment = await startDeployment(server.url, [{ env }])
    endings.push(deployment.end)
    const [before] = deployment.servers
    const create = (url: string) =>
      fetch(`${url}/v1/mandates`, {
        method: "POST",
        headers: {
          ...authorization,
          "content-type": "application/json",
          "idempotency-key": randomBytes(9).toString("hex")
        },
        body: JSON.stringify({
          kind: "SINGLE",
          subject_reference: "user_1",
          policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
          window: { ends_at: new Date(Date.now() + DAY_MILLISECONDS).toISOString() }
        })
      })
    const authorization = { authorization: `Bearer ${deployment.tenant.api_key}` }
    const get = (url: string, path: string) => fetch(`${url}${path}`, { headers: authorization })
    const mandate = (await (await create(before!.url)).json()) as {
      readonly id: string
      readonly subject_reference: string
    }
    assert.isTrue(await deployment.approve(before!, mandate))
    const { next_cursor: cursor } = (await (await get(before!.url, "/v1/events")).json()) as {
      readonly next_cursor: string
    }
    writeFileSync(join(folder, "jwks.json"), await (await get(before!.url, "/.well-known/jwks.json")).text())
    await run(dump)
    await run(baseBackup)
    await deployment.end()

    await rowOf(server.url, "create database restored")
    await run(restoreDump)
    assert.include(await run(acknowledgeBase), "--restored")
    assert.include(await run(acknowledgeDump), '"outcome": "begun"')
    const keys = makeDeploymentFolder()
    endings.push(keys.remove)
    const faults: Array<string> = []
    const after = await startServer({
      program: "serve",
      folder: keys,
      store: restored,
      env,
      onFault: (fault) => faults.push(fault)
    })
    endings.push(after.end)
    await after.untilReady()
    writeFileSync(
      join(folder, "evidence.json"),
      await (await get(after.url, `/v1/mandates/${mandate.id}/evidence`)).text()
    )
    await run("svc evidence verify evidence.json --jwks jwks.json")
    const refused = await get(after.url, `/v1/events?after=${cursor}`)
    assert.deepInclude(await refused.json(), { status: 400, code: "invalid_cursor" })
    assert.strictEqual((await create(after.url)).status, 201)
    assert.deepStrictEqual(faults, [])
    await after.end()

    await run(recover)
    const recovered = await startInstalled(installation!, join(folder, "base"))
    endings.push(recovered.stop)
    const doctor = JSON.parse(await run("SVC_STORE=$RESTORED svc doctor --json || true", recovered.url))
    const statusOf = ({ checks }: typeof doctor) =>
      checks.find(({ check }: { readonly check: string }) => check === "history.acknowledged")?.status
    assert.strictEqual(statusOf(doctor), "failed")
    assert.include(await run(acknowledgeBase, recovered.url), '"outcome": "begun"')
    assert.strictEqual(
      statusOf(JSON.parse(await run("SVC_STORE=$RESTORED svc doctor --json || true", recovered.url))),
      "ok"
    )
  })
})
