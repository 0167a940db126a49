import { KeyManagement } from "@svc/domain/ports/KeyManagement"
import * as KeyManagementOnDemand from "@svc/kms/KeyManagementOnDemand"
import { Console, Effect } from "effect"
import { managedKeyFault } from "../config/MasterKeySetting.ts"
import { helpOf } from "../config/SettingsHelp.ts"
import type { Command } from "./Command.ts"
import { readOptions, requiredOption } from "./CommandOptions.ts"

/** `svc master-key create`: a master key that a key management service encrypts. */
export const masterKeyCreateCommand: Command = {
  name: "master-key create",
  help: helpOf(
    `svc master-key create --kms <key>: prints a new master key, encrypted under a key in a key management service: a value for
SVC_MASTER_KEY and SVC_MASTER_KEY_PREVIOUS, which no one reads without that key. Processes have it decrypted when they start.
Region and credentials are those of the client of the service, such as AWS_REGION and AWS_PROFILE.

  --kms <key>   aws-kms:<ARN of a symmetric key>, or azure-key-vault:<identifier of an RSA key>`,
    []
  ),
  run: Effect.fnUntraced(function* (words) {
    const options = yield* readOptions({ kms: "one" }, words)
    const name = yield* requiredOption(options.kms, "kms")
    const encrypted = yield* Effect.flatMap(KeyManagement, (kms) => kms.newMasterKey(name)).pipe(
      Effect.mapError((fault) => managedKeyFault("the master key", fault)),
      Effect.provide(KeyManagementOnDemand.layer)
    )
    yield* Console.log(encrypted)
  })
}
