import { randomUUID } from "node:crypto"
import { link, mkdir, open, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { badSetting, type StartFault } from "../start/StartFault.ts"

/** Nobody but its owner may read it. */
const FILE_MODE = 0o600
const FOLDER_MODE = 0o700

/** Makes the file unless it is there, in one step, so that nobody reads half of it. */
const makeUnlessThere = async (folder: string, path: string, make: () => string): Promise<void> => {
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

/** The file is another user's, so what it holds may be known to them, or planted by them. */
export class ForeignFile extends Error {}

/** Reads a file of secrets, and keeps it from other users from then on. Throws `ForeignFile` when it is one of theirs. */
export const readOwnFile = async (path: string): Promise<string> => {
  const file = await open(path, "r")
  try {
    const { mode, uid } = await file.stat()
    // A system without users (Windows) has no modes either.
    if (process.geteuid !== undefined) {
      if (uid !== process.geteuid()) throw new ForeignFile()
      if ((mode & ~FILE_MODE & 0o777) !== 0) await file.chmod(FILE_MODE)
    }
    return await file.readFile("utf8")
  } finally {
    await file.close()
  }
}

/** Why a file of secrets cannot be used. */
export const fileFault = (path: string, error: unknown, otherwise: string): StartFault =>
  badSetting(error instanceof ForeignFile ? `${path} belongs to another user; move it away` : otherwise)

/** A secret that is made on first use, and kept in a file for the next. */
export const readSecretFile = <A>(
  place: { readonly folder: string; readonly name: string; readonly what: string },
  make: () => string,
  parse: (text: string) => A | undefined
): Effect.Effect<A, StartFault> =>
  Effect.gen(function* () {
    const path = join(place.folder, place.name)
    const text = yield* Effect.tryPromise({
      try: async () => {
        await makeUnlessThere(place.folder, path, make)
        return readOwnFile(path)
      },
      catch: (error) => fileFault(path, error, `${path} cannot be read or written`)
    })
    const secret = parse(text.trimEnd())
    return secret === undefined ? yield* badSetting(`${path} is not a ${place.what}`) : secret
  })
