import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect } from "effect"
import { badSetting, type StartFault } from "./StartFault.ts"

/** Nobody but its owner may read it. */
const FILE_MODE = 0o600
const FOLDER_MODE = 0o700

/** Makes the file unless it is there, in one step, so that nobody reads half of it. */
const makeUnlessThere = async (folder: string, path: string, make: () => string): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE })
  const draft = `${path}.${process.pid}`
  await writeFile(draft, `${make()}\n`, { mode: FILE_MODE })
  try {
    await link(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
  } finally {
    await rm(draft, { force: true })
  }
}

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
        return readFile(path, "utf8")
      },
      catch: () => badSetting(`${path} cannot be read or written`)
    })
    const secret = parse(text.trimEnd())
    return secret === undefined ? yield* badSetting(`${path} is not a ${place.what}`) : secret
  })
