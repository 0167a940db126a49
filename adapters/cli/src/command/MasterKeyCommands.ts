import { APPROVAL_SESSION_SECONDS } from "@svc/domain/approval/SessionLifecycle"
import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { type SealedSecret, SealedSecrets } from "@svc/domain/ports/SealedSecrets"
import type { SecretSealer } from "@svc/domain/ports/SecretSealer"
import { Effect, Result } from "effect"
import { rewrapConfig } from "../config/Config.ts"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import { configurationFault, EXIT_TEMPORARY, StartFault } from "../start/StartFault.ts"
import { readOptions } from "./CommandOptions.ts"
import type { StoreCommand } from "./StoreCommand.ts"
import { forEachSecret, lostRemedy, placeOfSecret, sealerOf } from "./StoredSecrets.ts"

type MasterKeys = Effect.Success<typeof rewrapConfig>

/** How often the store is gone through again because servers changed secrets meanwhile. */
const MAX_PASSES = 5

/** Secrets that a fault names; the others are counted. */
const NAMED_SECRETS = 5

type Outcome = "rewrapped" | "current" | "changed" | "lost"

/** Seals a secret under the current master key, unless it is already. */
const rewrapSecret = Effect.fnUntraced(function* (
  secret: SealedSecret,
  { current, either }: { readonly current: SecretSealer["Service"]; readonly either: SecretSealer["Service"] }
): Effect.fn.Return<Outcome, StoreUnavailable, SealedSecrets> {
  const store = yield* SealedSecrets
  if (Result.isSuccess(yield* Effect.result(current.open(secret.context, secret.sealed)))) return "current"
  const opened = yield* Effect.result(either.open(secret.context, secret.sealed))
  if (Result.isFailure(opened)) return "lost"
  const sealed = yield* current.seal(secret.context, opened.success)
  return (yield* store.replace(secret, sealed)) ? "rewrapped" : "changed"
})

/** The rewrapped secrets are kept: each is replaced by itself. */
const lostFault = (lost: ReadonlyArray<SealedSecret>): StartFault => {
  const others = lost.length - NAMED_SECRETS
  const named = lost.slice(0, NAMED_SECRETS).map(placeOfSecret).join(", ")
  return configurationFault(
    `neither master key opens ${named}${others > 0 ? ` and ${others} more` : ""}; everything else is sealed under SVC_MASTER_KEY. To go on, ${lostRemedy(lost)}`
  )
}

const rewrapAll = Effect.fnUntraced(function* (
  masterKeys: MasterKeys
): Effect.fn.Return<object, StartFault | StoreUnavailable, SealedSecrets> {
  const sealers = {
    current: yield* sealerOf({ current: masterKeys.current }),
    either: yield* sealerOf(masterKeys)
  }
  let rewrapped = 0
  for (let pass = 0; pass < MAX_PASSES; pass++) {
    let seen = 0
    let changed = 0
    const lost: Array<SealedSecret> = []
    yield* forEachSecret((secret) =>
      Effect.map(rewrapSecret(secret, sealers), (outcome) => {
        seen += 1
        if (outcome === "rewrapped") rewrapped += 1
        if (outcome === "changed") changed += 1
        if (outcome === "lost") lost.push(secret)
      })
    )
    if (changed > 0) continue
    if (lost.length > 0) return yield* lostFault(lost)
    return { secrets: seen, rewrapped, previous_needed_for_seconds: Number(APPROVAL_SESSION_SECONDS) }
  }
  return yield* new StartFault({
    line: "servers keep changing secrets meanwhile; run this again",
    exitCode: EXIT_TEMPORARY
  })
})

const rewrap: StoreCommand = {
  name: "master-key rewrap",
  help: helpOf(
    `svc master-key rewrap: seals the signing keys and the secrets of webhook endpoints under SVC_MASTER_KEY, where
SVC_MASTER_KEY_PREVIOUS sealed them, so that the previous key can be put away. Run it once every server has both keys; servers
need not stop, and running it again does no harm. Approval sessions that were opened under the previous key end
within ${APPROVAL_SESSION_SECONDS} s: wait as long before you take SVC_MASTER_KEY_PREVIOUS from the servers.`,
    SETTINGS_OF.storeAndMasterKey
  ),
  plan: Effect.fnUntraced(function* (words) {
    yield* readOptions({}, words)
    const keys = yield* rewrapConfig
    return Effect.succeed({ organization: "", act: rewrapAll(keys) })
  })
}

export const masterKeyCommands: ReadonlyArray<StoreCommand> = [rewrap]
