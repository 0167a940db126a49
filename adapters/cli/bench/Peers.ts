import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath, pathToFileURL } from "node:url"

/** Where the peers are installed, outside of the workspaces: whoever does not measure does not pay for them. */
const FOLDER = fileURLToPath(new URL("../../../bench/peers/", import.meta.url))

/** Holds the lock file that was installed. */
const STAMP = `${FOLDER}node_modules/.installed`

/** Installs what the folder's lock file names, unless that was done before. */
export const installPeers = (): boolean => {
  const lock = readFileSync(`${FOLDER}package-lock.json`, "utf8")
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === lock) return true
  const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: FOLDER,
    stdio: ["ignore", 2, 2]
  })
  if (status === 0) writeFileSync(STAMP, lock)
  return status === 0
}

/** A module of the folder. What it exports is for the caller to say: it is not there when types are checked. */
export const importPeer = async <Module>(name: string): Promise<Module> => {
  const path = createRequire(`${FOLDER}package.json`).resolve(name)
  return import(pathToFileURL(path).href)
}
