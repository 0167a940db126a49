import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { leastEnvironment } from "@svc/testkit/ProgramEnvironment"
import { afterAll, assert, describe, it } from "vitest"

const RUNS_TYPESCRIPT = Number(process.versions.node.split(".")[0]) >= 24
const TIMEOUT_MS = 120_000

const folder = mkdtempSync(join(tmpdir(), "svc-examples-"))
afterAll(() => rmSync(folder, { recursive: true }))

const run = (program: string, words: ReadonlyArray<string>) =>
  spawnSync(process.execPath, [fileURLToPath(new URL(`${program}.ts`, import.meta.url)), ...words], {
    encoding: "utf8",
    input: "{}",
    env: { ...leastEnvironment(), SVC_DATA_DIR: folder }
  })

describe.skipIf(!RUNS_TYPESCRIPT)("the example programs", () => {
  for (const program of ["quickstart", "assertion", "approve", "verify", "embedded"]) {
    it(`${program} --help prints help and does nothing else`, { timeout: TIMEOUT_MS }, () => {
      const { status, stderr, stdout } = run(program, ["--help"])
      assert.deepStrictEqual([status, stderr], [0, ""])
      assert.isTrue(stdout.startsWith(`npm run ${program}`) || stdout.includes(`--silent ${program}`), stdout)
    })
  }

  it("say that no server is running at the configured address", { timeout: TIMEOUT_MS }, () => {
    const settings = {
      base_url: "http://127.0.0.1:1",
      api_key: "k",
      identity: { issuer: "i", audience: "a", private_jwk: { x: "", y: "", d: "" } }
    }
    writeFileSync(join(folder, "dev.json"), JSON.stringify(settings))
    for (const program of ["verify", "quickstart"]) {
      const { status, stderr } = run(program, [])
      assert.strictEqual(status, 1)
      assert.match(
        stderr,
        /^No server answers at http:\/\/127\.0\.0\.1:1 \(.*\): start the development server with "npm start" first\.\n$/u
      )
    }
  })

  it("exit 64 on an unknown option", { timeout: TIMEOUT_MS }, () => {
    assert.strictEqual(run("assertion", ["user_1", "--enroll"]).status, 64)
    assert.strictEqual(run("approve", ["http://localhost:1/", "--declin"]).status, 64)
  })
})
