import { randomBytes } from "node:crypto"
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { decodeBase64Url, encodeBase64Url } from "@svc/protocol/Base64Url"
import { MASTER_KEY_BYTES } from "@svc/signer/SecretSealerNodeCrypto"
import { Effect, Redacted } from "effect"
import { badSetting, type StartFault } from "./StartFault.ts"

/** Name of the file in the development server's folder. */
export const MASTER_KEY_FILE_NAME = "master.key"

/** Whoever reads it can open what is sealed in the store. */
const FILE_MODE = 0o600
const FOLDER_MODE = 0o700

/** Makes the file with a new key unless it is there, in one step, so that nobody reads half of it. */
const makeUnlessThere = async (folder: string, path: string): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: FOLDER_MODE })
  const draft = `${path}.${process.pid}`
  const key = encodeBase64Url(new Uint8Array(randomBytes(MASTER_KEY_BYTES)))
  await writeFile(draft, `${key}\n`, { mode: FILE_MODE })
  try {
    await link(draft, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
  } finally {
    await rm(draft, { force: true })
  }
}

/** The master key of the development server: made on first start, and kept beside what it seals. */
export const readMasterKeyFile = Effect.fn("readMasterKeyFile")(function* (
  folder: string
): Effect.fn.Return<Redacted.Redacted<Uint8Array>, StartFault> {
  const path = join(folder, MASTER_KEY_FILE_NAME)
  const text = yield* Effect.tryPromise({
    try: async () => {
      await makeUnlessThere(folder, path)
      return readFile(path, "utf8")
    },
    catch: () => badSetting(`${path} cannot be read or written`)
  })
  const bytes = decodeBase64Url(text.trimEnd())
  if (bytes?.length !== MASTER_KEY_BYTES) return yield* badSetting(`${path} is not a master key`)
  return Redacted.make(bytes, { label: "master key" })
})
