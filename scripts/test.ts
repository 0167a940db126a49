/** Everything that must hold before a change lands: format and lint, types, tests. `npm test` runs it. */
import { spawnSync } from "node:child_process"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const bin = (name: string) => join(root, "node_modules", ".bin", name)

const { status } = spawnSync(
  bin("turbo"),
  [
    "run",
    "//#lint",
    "//#typecheck",
    "//#unit",
    "--continue=always",
    "--log-order=stream",
    "--output-logs=full",
    "--ui=stream",
    ...process.argv.slice(2)
  ],
  {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1" }
  }
)
process.exitCode = status ?? 1
