import { randomBytes } from "node:crypto"
import { MASTER_KEY_BYTES } from "@svc/domain/ports/SecretSealer"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import type { Effect, Redacted } from "effect"
import type { StartFault } from "../start/StartFault.ts"
import { readSecretFile } from "./SecretFile.ts"
import { parseMasterKey } from "./SettingParsers.ts"

/** Name of the file in the development server's folder. */
export const MASTER_KEY_FILE_NAME = "master.key"

/** The master key of the development server, generated on first start. */
export const readMasterKeyFile = (folder: string): Effect.Effect<Redacted.Redacted<Uint8Array>, StartFault> =>
  readSecretFile(
    { folder, name: MASTER_KEY_FILE_NAME, what: "master key" },
    () => encodeBase64Url(new Uint8Array(randomBytes(MASTER_KEY_BYTES))),
    parseMasterKey
  )
