import { randomBytes } from "node:crypto"
import { decodeBase64Url, encodeBase64Url } from "@svc/protocol/Base64Url"
import { MASTER_KEY_BYTES } from "@svc/signer/SecretSealerNodeCrypto"
import { type Effect, Redacted } from "effect"
import type { StartFault } from "../start/StartFault.ts"
import { readSecretFile } from "./SecretFile.ts"

/** Name of the file in the development server's folder. */
export const MASTER_KEY_FILE_NAME = "master.key"

const parse = (text: string): Redacted.Redacted<Uint8Array> | undefined => {
  const bytes = decodeBase64Url(text)
  return bytes?.length === MASTER_KEY_BYTES ? Redacted.make(bytes, { label: "master key" }) : undefined
}

/** The master key of the development server, generated on first start. */
export const readMasterKeyFile = (folder: string): Effect.Effect<Redacted.Redacted<Uint8Array>, StartFault> =>
  readSecretFile(
    { folder, name: MASTER_KEY_FILE_NAME, what: "master key" },
    () => encodeBase64Url(new Uint8Array(randomBytes(MASTER_KEY_BYTES))),
    parse
  )
