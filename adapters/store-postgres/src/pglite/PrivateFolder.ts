import { chmodSync, lstatSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { Data } from "effect"

/** Users other than that of this process can read or write in the folder, and this process cannot change that. */
export class FolderExposed extends Data.TaggedError("FolderExposed")<{
  readonly folder: string
  /** `owner`: another user owns it. `mode`: the file system lets others in whatever mode is set. */
  readonly exposure: "owner" | "mode"
}> {}

/** Modes that let nobody in but the owner. */
export const FILE_MODE = 0o600
export const FOLDER_MODE = 0o700

/** The part of a mode that lets others in. */
const OTHERS = 0o077

/** Links are left alone, since their targets lie outside the folder. */
const closeEntries = (folder: string): void => {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    const isFolder = entry.isDirectory()
    if (!isFolder && !entry.isFile()) continue
    if ((lstatSync(path).mode & OTHERS) !== 0) chmodSync(path, isFolder ? FOLDER_MODE : FILE_MODE)
    if (isFolder) closeEntries(path)
  }
}

/**
 * Restricts a folder and everything in it to the user of this process, as a Postgres server requires of its data folder:
 * anyone who can write there can change every row. Throws `FolderExposed` if another user owns it or it stays open.
 */
export const closeToOthers = (folder: string): void => {
  // A system without users (Windows) has no modes either.
  if (process.geteuid === undefined) return
  const { mode, uid } = statSync(folder)
  if (uid !== process.geteuid()) throw new FolderExposed({ folder, exposure: "owner" })
  if ((mode & OTHERS) !== 0) {
    chmodSync(folder, FOLDER_MODE)
    if ((statSync(folder).mode & OTHERS) !== 0) throw new FolderExposed({ folder, exposure: "mode" })
  }
  closeEntries(folder)
}
