import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync
} from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Layer } from "effect"
import * as PgliteStore from "../src/PgliteStore.ts"

/*
 * Embedded databases for tests that are not about making one: PGlite takes many seconds of processor time for that, and
 * opens a copy of one that is made already in a fraction of one. The one that is copied is kept between runs.
 */

/** Names the folder of the one that is copied. */
const TEMPLATE_VARIABLE = "SVC_TEST_PGLITE_TEMPLATE"

const KEPT = fileURLToPath(new URL("../../../node_modules/.cache/pglite/", import.meta.url))
const MAKING = "making-"
/** Longest that a busy machine may take to make one. */
const LONGEST_MAKING_MILLISECONDS = 3_600_000
const MAKER = fileURLToPath(new URL("MakePgliteTemplate.ts", import.meta.url))
const SOURCES = fileURLToPath(new URL("../src/", import.meta.url))

/** All that a new database is made from: PGlite, and the sources of this package that prepare a folder and its schema. */
const madeFrom = (): ReadonlyArray<string> => {
  const schema = ["migrations", "schema"].flatMap((folder) =>
    readdirSync(join(SOURCES, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
      .map((name) => join(SOURCES, folder, name))
  )
  const preparing = ["Migrate", "Migrations", "PgliteStore", "pglite/PrivateFolder"].map((name) =>
    join(SOURCES, `${name}.ts`)
  )
  const pglite = join(
    dirname(createRequire(import.meta.url).resolve("@electric-sql/pglite")),
    "..",
    "package.json"
  )
  return [MAKER, pglite, ...preparing, ...schema.sort()]
}

const nameOfTemplate = (): string => {
  const hash = createHash("sha256")
  for (const file of madeFrom()) hash.update(readFileSync(file))
  return hash.digest("hex")
}

/** Removes those of other releases of PGlite or other schemas, and what a run left that was killed while it made one. */
const forgetOthers = (template: string): void => {
  for (const name of readdirSync(KEPT)) {
    const path = join(KEPT, name)
    const changed = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
    const isBeingMade = name.startsWith(MAKING) && changed > Date.now() - LONGEST_MAKING_MILLISECONDS
    if (path !== template && !isBeingMade) rmSync(path, { recursive: true, force: true })
  }
}

/**
 * Arguments of Node for a process that opens an embedded database and soon ends: V8 compiles PGlite anew in each, and to
 * optimize what it compiled takes most of the processor time of a start.
 */
export const SHORT_LIVED_PGLITE: ReadonlyArray<string> = ["--liftoff-only"]

const makeIn = (folder: string): Promise<void> =>
  new Promise((resolve, reject) => {
    spawn(process.execPath, [...SHORT_LIVED_PGLITE, MAKER, folder], {
      stdio: ["ignore", "ignore", "inherit"]
    })
      .once("error", reject)
      .once("exit", (code, signal) =>
        code === 0 ? resolve() : reject(new Error(`no embedded database was made: ${code ?? signal}`))
      )
  })

/** Moves a folder into place as a whole; another run may have been first. */
const keep = (made: string, template: string): void => {
  try {
    renameSync(made, template)
  } catch (error) {
    if (!existsSync(template)) throw error
  }
}

/** Makes the database that others are copied from, unless it is kept from before. Gives what ends its use. */
export const preparePglite = async (): Promise<() => Promise<void>> => {
  if (process.env[TEMPLATE_VARIABLE] !== undefined) return () => Promise.resolve()
  const template = join(KEPT, nameOfTemplate())
  if (!existsSync(template)) {
    mkdirSync(KEPT, { recursive: true })
    const making = mkdtempSync(join(KEPT, MAKING))
    try {
      await makeIn(join(making, "data"))
      keep(join(making, "data"), template)
      forgetOthers(template)
    } finally {
      rmSync(making, { recursive: true, force: true })
    }
  }
  process.env[TEMPLATE_VARIABLE] = template
  return async () => {
    delete process.env[TEMPLATE_VARIABLE]
  }
}

/** Puts a database whose schema is up to date into a folder that is not there yet. Outside of a run it stays to be made. */
export const copyPglite = async (folder: string): Promise<void> => {
  const template = process.env[TEMPLATE_VARIABLE]
  if (template === undefined) return
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
