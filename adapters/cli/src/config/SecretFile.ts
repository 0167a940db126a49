import { randomUUID } from "node:crypto"
import { link, mkdir, open, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { configurationFault, type StartFault } from "../start/StartFault.ts"

const FILE_MODE = 0o600
const FOLDER_MODE = 0o700

/** Creates the file atomically unless it exists. */
const createIfMissing = async (folder: string, path: string, make: () => string): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE })
  const draft = `${path}.${randomUUID()}`
  await writeFile(draft, `${make()}\n`, { mode: FILE_MODE, flag: "wx" })
  try {
    await link(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
  } finally {
    await rm(draft, { force: true })
  }
}

/** The file belongs to another user, who may know or have planted its content. */
export class ForeignFile extends Error {}

/** Reads a file of secrets and restricts its mode to its owner. Throws `ForeignFile` if another user owns it. */
export const readOwnFile = async (path: string): Promise<string> => {
  const file = await open(path, "r")
  try {
    const { mode, uid } = await file.stat()
    // Windows has neither user ids nor file modes.
    if (process.geteuid !== undefined) {
      if (uid !== process.geteuid()) throw new ForeignFile()
      if ((mode & ~FILE_MODE & 0o777) !== 0) await file.chmod(FILE_MODE)
    }
    return await file.readFile("utf8")
  } finally {
    await file.close()
  }
}

/** The fault of a file of secrets that cannot be used. */
export const fileFault = (path: string, error: unknown, otherwise: string): StartFault =>
  configurationFault(
    error instanceof ForeignFile ? `${path} belongs to another user; move it away` : otherwise
  )

/** Reads a secret from a file, which is created with a new secret if it is missing. */
export const readSecretFile = <A>(
  place: { readonly folder: string; readonly name: string; readonly what: string },
  make: () => string,
  parse: (text: string) => A | undefined
): Effect.Effect<A, StartFault> =>
  Effect.gen(function* () {
    const path = join(place.folder, place.name)
    const text = yield* Effect.tryPromise({
      try: async () => {
        await createIfMissing(place.folder, path, make)
        return readOwnFile(path)
      },
      catch: (error) => fileFault(path, error, `${path} cannot be read or written`)
    })
    const secret = parse(text.trimEnd())
    return secret === undefined ? yield* configurationFault(`${path} is not a ${place.what}`) : secret
  })
