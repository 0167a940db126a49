import { spawn } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Layer } from "effect"
import * as PgliteStore from "../src/PgliteStore.ts"
import { ended } from "./TestPostgres.ts"

/*
 * Embedded databases for tests that are not about making one: PGlite takes many seconds for that, and a copy of one that
 * is made already opens in a fraction of one.
 */

/** Names the folder of the run's one. It is there once the database is whole. */
const TEMPLATE_VARIABLE = "SVC_TEST_PGLITE_TEMPLATE"

const POLL_MILLISECONDS = 50
/** Longest that a busy machine may take to make it. */
const PATIENCE_MILLISECONDS = 120_000

/** Begins to make the database that others are copied from, while tests run. Gives what ends it. */
export const preparePglite = (): (() => Promise<void>) => {
  if (process.env[TEMPLATE_VARIABLE] !== undefined) return () => Promise.resolve()
  const folder = mkdtempSync(join(tmpdir(), "svc-pglite-template-"))
  const [making, template] = [join(folder, "making"), join(folder, "template")]
  const program = fileURLToPath(new URL("MakePgliteTemplate.ts", import.meta.url))
  const child = spawn(process.execPath, [program, making], { stdio: ["ignore", "ignore", "inherit"] })
  child.once("exit", (code) => {
    if (code === 0) renameSync(making, template)
  })
  process.env[TEMPLATE_VARIABLE] = template
  return async () => {
    delete process.env[TEMPLATE_VARIABLE]
    child.kill("SIGKILL")
    await ended(child)
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Puts a database whose schema is up to date into a folder that is not there yet. Outside of a run it stays to be made. */
export const copyPglite = async (folder: string): Promise<void> => {
  const template = process.env[TEMPLATE_VARIABLE]
  if (template === undefined) return
  const deadline = Date.now() + PATIENCE_MILLISECONDS
  while (!existsSync(template)) {
    if (Date.now() > deadline) throw new Error("no embedded database was made in time")
    await new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS))
  }
  mkdirSync(dirname(folder), { recursive: true })
  cpSync(template, folder, { recursive: true })
}

/** The folder of such a database, removed with the scope. */
export const preparedPglite = Effect.acquireRelease(
  Effect.promise(async () => {
    const parent = mkdtempSync(join(tmpdir(), "svc-pglite-"))
    await copyPglite(join(parent, "data"))
    return { parent, folder: join(parent, "data") }
  }),
  ({ parent }) => Effect.sync(() => rmSync(parent, { recursive: true, force: true }))
).pipe(Effect.map(({ folder }) => folder))

/** The storage ports on such a database. */
export const preparedStore = Layer.unwrap(
  Effect.map(preparedPglite, (folder) => PgliteStore.layer({ folder }))
)
