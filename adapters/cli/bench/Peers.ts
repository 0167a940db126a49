import { createRequire } from "node:module"
import { fileURLToPath, pathToFileURL } from "node:url"
import { installFolder } from "../../../scripts/InstallFolder.ts"

/** Where the peers are installed. */
const FOLDER = fileURLToPath(new URL("../../../bench/peers/", import.meta.url))

/** Installs the peers, unless that was done before. */
export const installPeers = (): boolean => installFolder(FOLDER)

/** A module of the folder. What it exports is for the caller to say: it is not there when types are checked. */
export const importPeer = async <Module>(name: string): Promise<Module> => {
  const path = createRequire(`${FOLDER}package.json`).resolve(name)
  return import(pathToFileURL(path).href)
}
