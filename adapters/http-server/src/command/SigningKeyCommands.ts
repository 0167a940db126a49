import { formatInstant, type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import {
  type SigningKeyList,
  type SigningKeyRecord,
  SigningKeyRecords,
  signingKeyAt
} from "@svc/store-postgres/SigningKeyRecords"
import { Effect, Exit, Layer } from "effect"
import { helpOf, masterKeyConfig, SETTINGS_OF } from "../Config.ts"
import { badSetting, EXIT_TEMPORARY, StartFault } from "../StartFault.ts"
import { makeSigningKey, openSigningKey } from "../StoredSigningKey.ts"
import { readOptions } from "./CommandOptions.ts"
import type { StoreCommand } from "./StoreCommand.ts"

/** How long a new key is published before it signs, in seconds (part 7): verifiers may keep a key set for 300 s. */
export const SIGNING_DELAY_SECONDS = 900n

const stateOf = (key: SigningKeyRecord, { keys, now }: SigningKeyList): string => {
  if (key.signsFrom === undefined) return "withdrawn"
  if (key.signsFrom > now) return "pending"
  return signingKeyAt(keys, now) === key ? "signing" : "retired"
}

/** The first key of a deployment has signed since it was made. */
const beginningOf = (key: SigningKeyRecord): Instant | undefined =>
  key.signsFrom === 0n ? key.createdAt : key.signsFrom

const shown = (key: SigningKeyRecord, list: SigningKeyList): object => {
  const begins = beginningOf(key)
  return {
    kid: key.publicJwk.kid,
    state: stateOf(key, list),
    created_at: formatInstant(key.createdAt),
    signs_from: begins === undefined ? undefined : formatInstant(begins)
  }
}

type MasterKeys = Effect.Success<typeof masterKeyConfig>

const sealerOf = (keys: SecretSealerNodeCrypto.MasterKeys) => Layer.orDie(SecretSealerNodeCrypto.layer(keys))

const isOpenedBy = (record: SigningKeyRecord, keys: SecretSealerNodeCrypto.MasterKeys) =>
  Effect.map(Effect.exit(Effect.provide(openSigningKey(record), sealerOf(keys))), Exit.isSuccess)

/**
 * A key sealed under a master key that servers lack would be of no use to them when its turn comes. What they are sure
 * to have is the one that sealed the key that signs now.
 */
const checkMasterKey = Effect.fnUntraced(function* ({ keys, now }: SigningKeyList, masterKeys: MasterKeys) {
  const signing = signingKeyAt(keys, now)
  if (signing === undefined) return
  if (yield* isOpenedBy(signing, { current: masterKeys.current })) return
  return yield* badSetting(
    (yield* isOpenedBy(signing, masterKeys))
      ? "SVC_MASTER_KEY does not open the signing key, SVC_MASTER_KEY_PREVIOUS does: servers that have only that one could not open a new key; rotate with that one as SVC_MASTER_KEY"
      : "the master key does not open the signing key that the store keeps"
  )
})

const pendingFault = (pending: { readonly kid: string; readonly signsFrom: Instant }): StartFault =>
  new StartFault({
    line: `the key ${pending.kid} is published and signs from ${formatInstant(pending.signsFrom)}; rotate after that, or with --now`,
    exitCode: EXIT_TEMPORARY
  })

const rotateKey = Effect.fnUntraced(function* (isCompromise: boolean, masterKeys: MasterKeys) {
  const records = yield* SigningKeyRecords
  yield* checkMasterKey(yield* records.list, masterKeys)
  const key = yield* Effect.orDie(Effect.provide(makeSigningKey, sealerOf(masterKeys)))
  const when = isCompromise ? "now" : ({ delay: SIGNING_DELAY_SECONDS * NANOS_PER_SECOND } as const)
  const { signsFrom } = yield* Effect.catchTag(records.rotate(key, when), "RotationPending", (pending) =>
    Effect.fail(pendingFault(pending))
  )
  return { kid: key.publicJwk.kid, signs_from: formatInstant(signsFrom) }
})

const rotate: StoreCommand = {
  name: "signing-key rotate",
  help: helpOf(
    `svc signing-key rotate: publishes a new signing key at once. It signs after ${SIGNING_DELAY_SECONDS} s, when everybody who keeps the key
set has it; keys before it stay published, and what they signed still verifies. Servers follow within 5 s, without a
restart. The first key of a deployment signs at once. While one key waits for its turn, another is refused (75). The new
key is sealed under SVC_MASTER_KEY, which must be the one that sealed the key that signs now, so that every server has it.

  --now   for a compromise: signs at once, and withdraws a key that waits for its turn`,
    SETTINGS_OF.storeAndMasterKey
  ),
  read: Effect.fnUntraced(function* (words) {
    const { now } = yield* readOptions({ now: "flag" }, words)
    const keys = yield* masterKeyConfig
    return Effect.succeed({ organization: "", act: rotateKey(now, keys) })
  })
}

const list: StoreCommand = {
  name: "signing-key list",
  help: helpOf(
    `svc signing-key list: lists the signing keys, oldest first: signing, pending (published, signs from the time given),
retired (published, private half removed) or withdrawn (published, never signed).`,
    SETTINGS_OF.store
  ),
  read: Effect.fnUntraced(function* (words) {
    yield* readOptions({}, words)
    return Effect.map(SigningKeyRecords, ({ list: records }) => ({
      organization: "",
      act: Effect.map(records, (found) => ({ data: found.keys.map((key) => shown(key, found)) }))
    }))
  })
}

export const signingKeyCommands: ReadonlyArray<StoreCommand> = [rotate, list]
