import { KeyManagement, type KeyManagementFault } from "@svc/domain/ports/KeyManagement"
import * as KeyManagementOnDemand from "@svc/kms/KeyManagementOnDemand"
import { isEncryptedMasterKey } from "@svc/kms/KeyManagementOnDemand"
import { Effect, type Redacted } from "effect"
import { configurationFault, type StartFault, temporaryFault } from "../start/StartFault.ts"
import { parseMasterKey } from "./SettingParsers.ts"

/** A master key as it is set: itself, or encrypted under a key in a key management service. */
export type MasterKeySetting =
  | { readonly plain: Redacted.Redacted<Uint8Array> }
  | { readonly encrypted: string }

/** What a master key must be. */
export const MASTER_KEY_FORM = "32 bytes as unpadded base64url, or what svc master-key create --kms printed"

export const parseMasterKeySetting = (text: string): MasterKeySetting | undefined => {
  const plain = parseMasterKey(text)
  if (plain !== undefined) return { plain }
  return isEncryptedMasterKey(text) ? { encrypted: text } : undefined
}

/** What a fault of a key management service means for a start: 75 if it may pass, else 78. */
export const managedKeyFault = (what: string, { _tag, detail }: KeyManagementFault): StartFault =>
  _tag === "KeyManagementUnavailable"
    ? temporaryFault(`${what}: ${detail}`)
    : configurationFault(`${what}: ${detail}`)

/** The master key itself, which the key management service decrypts if it is encrypted. It is held in memory alone. */
export const openMasterKeySetting = (
  name: string,
  setting: MasterKeySetting
): Effect.Effect<Redacted.Redacted<Uint8Array>, StartFault> =>
  "plain" in setting
    ? Effect.succeed(setting.plain)
    : Effect.flatMap(KeyManagement, (kms) => kms.openMasterKey(setting.encrypted)).pipe(
        Effect.mapError((fault) => managedKeyFault(name, fault)),
        Effect.provide(KeyManagementOnDemand.layer)
      )
