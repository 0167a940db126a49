/**
 * Everything that must hold before a change lands: format and lint, types, tests. `npm test` runs it, or as much of it as
 * has not succeeded before on the same files in the same surroundings; `npm test -- --force` runs all.
 */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { FAILED_TESTS_FILE } from "./FailedTests.ts"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const bin = (name: string) => join(root, "node_modules", ".bin", name)

const TASKS = [
  "lint",
  "typecheck",
  "test:core",
  "test:packages",
  "test:stores",
  "test:browser",
  "test:service"
]

/** Programs that some tests look for, and do not run without. */
const SOUGHT = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "google-chrome",
  "dash",
  "bash",
  "zsh",
  "curl"
]

/** Files beside the repository that some tests read where they are. */
const BESIDE = [
  process.env.SVC_TEST_VECTORS ?? join(root, "..", "shared", "vectors"),
  join(root, "..", "shared", "spec")
]

const versionOf = (program: string): string => {
  const { status, stdout } = spawnSync(program, ["--version"], { encoding: "utf8", timeout: 20_000 })
  return `${program} ${status} ${stdout ?? ""}`
}

const filesBeside = (): ReadonlyArray<string> =>
  BESIDE.filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => readFileSync(join(parentPath, name), "base64"))
    .sort()

/** Names what tests depend on beside the files of the repository: a result counts only where it is the same. */
const surroundings = (): string => {
  const named = Object.entries(process.env).filter(([name]) => /^(?:SVC_|FC_|CHROMIUM_PATH$|TZ$)/u.test(name))
  const browser = process.env.CHROMIUM_PATH ?? ""
  const sought = (browser === "" ? SOUGHT : [...SOUGHT, browser]).map(versionOf)
  const about = [process.platform, process.version, process.getuid?.(), named.sort(), sought, filesBeside()]
  return createHash("sha256").update(JSON.stringify(about)).digest("base64url")
}

const failedTests = join(root, "node_modules", ".cache", "svc", "failed-tests.txt")
rmSync(failedTests, { force: true })

const { status } = spawnSync(
  bin("turbo"),
  [
    "run",
    ...TASKS.map((task) => `//#${task}`),
    // One after another: each of the tests' tasks has workers for two cores by itself, and those that kill processes wait for
    // much longer beside another.
    "--concurrency=1",
    "--continue=always",
    "--log-order=stream",
    "--output-logs=full",
    "--ui=stream",
    ...process.argv.slice(2)
  ],
  {
    cwd: root,
    stdio: "inherit",
    env: {
      ...process.env,
      SVC_TEST_SURROUNDINGS: surroundings(),
      [FAILED_TESTS_FILE]: failedTests,
      TURBO_TELEMETRY_DISABLED: "1",
      DO_NOT_TRACK: "1"
    }
  }
)
// Readers see the end of a long output first, and some tools keep only that.
if (existsSync(failedTests)) process.stderr.write(`\nFailed:\n\n${readFileSync(failedTests, "utf8")}`)
process.exitCode = status ?? 1
