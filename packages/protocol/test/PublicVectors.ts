import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root =
  process.env.SVC_TEST_VECTORS ?? fileURLToPath(new URL("../../../../shared/vectors", import.meta.url))

const locate = (path: string): string => join(root, path)

/** Whether a file or folder of the public test vectors is there. */
export const hasVectors = (path: string): boolean => existsSync(locate(path))

export const readVectorBytes = (path: string): Uint8Array => new Uint8Array(readFileSync(locate(path)))

export const readVectorText = (path: string): string => readFileSync(locate(path), "utf8")

export const readVectorJson = <A>(path: string): A => JSON.parse(readVectorText(path)) as A

export const listVectors = (folder: string): ReadonlyArray<string> => readdirSync(locate(folder)).sort()
