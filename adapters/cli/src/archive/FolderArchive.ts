import { randomBytes } from "node:crypto"
import { link, mkdir, open, readFile, unlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import { Effect } from "effect"
import { configurationFault } from "../start/StartFault.ts"
import type { ArchivePlace } from "./ArchivePlace.ts"

const PRIVATE_FOLDER = 0o700
const PRIVATE_FILE = 0o600
const SUFFIX_BYTES = 8

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

/** What was renamed or linked in a folder outlives a power cut once the folder is flushed. */
const flushFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Puts a file into place as a whole. A name that is taken is left, since a link never replaces anything. */
const createFile = async (path: string, content: Uint8Array): Promise<void> => {
  const folder = dirname(path)
  const made = await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER })
  const partial = join(folder, `.partial-${randomBytes(SUFFIX_BYTES).toString("hex")}`)
  const handle = await open(partial, "wx", PRIVATE_FILE)
  try {
    await handle.writeFile(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
  try {
    await link(partial, path)
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error
  } finally {
    await unlink(partial)
  }
  await flushFolder(folder)
  // The folders that were made are entries of the one above, up to the first that was there.
  if (made !== undefined) {
    for (let above = folder; above.length >= made.length; above = dirname(above))
      await flushFolder(dirname(above))
  }
}

const readIfThere = async (path: string): Promise<Uint8Array<ArrayBuffer> | undefined> => {
  try {
    return new Uint8Array(await readFile(path))
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined
    throw error
  }
}

/** An archive in a folder, which is made if it is not there. Its files are for the user of the command alone. */
export const folderArchive = (folder: string): ArchivePlace => {
  const faultOf = (doing: string) => (error: unknown) =>
    configurationFault(`the archive ${folder} cannot be ${doing}: ${codeOf(error) ?? "unknown"}`)
  return {
    read: (name) => Effect.tryPromise({ try: () => readIfThere(join(folder, name)), catch: faultOf("read") }),
    create: (name, content) =>
      Effect.tryPromise({ try: () => createFile(join(folder, name), content), catch: faultOf("written") })
  }
}
