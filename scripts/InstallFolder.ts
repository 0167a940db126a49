import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"

/**
 * Installs what the lock file of a folder names, unless that was done before: tools that lie outside of the workspaces, so that
 * whoever does not use them does not pay for them. False if it cannot be done; npm has said why.
 */
export const installFolder = (folder: string): boolean => {
  const lock = readFileSync(join(folder, "package-lock.json"), "utf8")
  /** Holds the lock file that was installed. */
  const stamp = join(folder, "node_modules", ".installed")
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return true
  const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: folder,
    stdio: ["ignore", 2, 2]
  })
  if (status === 0) writeFileSync(stamp, lock)
  return status === 0
}
