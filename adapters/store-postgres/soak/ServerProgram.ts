import { execFile } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url))

const BIN = join(ROOT, "adapters/cli/src/bin")

/** The `svc` command. */
export const SVC = join(BIN, "svc.ts")

/** What is run: the production entry points, and the development server. */
export const PROGRAMS = {
  serve: [SVC, "serve"],
  development: [join(BIN, "dev.ts")]
} as const

/** A command of `svc` on a store. Rejects when it does not end with 0. */
export const runOnStore = async (storeUrl: string, words: ReadonlyArray<string>): Promise<string> => {
  const env = { ...process.env, SVC_STORE: storeUrl }
  return (await promisify(execFile)(process.execPath, [SVC, ...words], { cwd: ROOT, env })).stdout
}

/** `svc migrate` on a server. Rejects when it does not end with 0. */
export const migrateServer = (storeUrl: string): Promise<string> => runOnStore(storeUrl, ["migrate"])
