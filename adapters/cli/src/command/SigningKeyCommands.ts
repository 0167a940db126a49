import {
  isWithdrawn,
  type SigningKeyList,
  type SigningKeyRecord,
  SigningKeyRecords,
  signingKeyAt
} from "@svc/domain/ports/SigningKeyRecords"
import { formatInstant, type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import { makeSigningKey, openSigningKey } from "@svc/signer/StoredSigningKey"
import { Effect, Exit, Layer } from "effect"
import { helpOf, masterKeyConfig, SETTINGS_OF } from "../config/Config.ts"
import { badSetting, badUsage, EXIT_TEMPORARY, StartFault } from "../start/StartFault.ts"
import { needed, readOptions } from "./CommandOptions.ts"
import type { StoreCommand } from "./StoreCommand.ts"

/** How long a new key is published before it signs, in seconds (part 7): verifiers may keep a key set for 300 s. */
export const SIGNING_DELAY_SECONDS = 900n

const stateOf = (key: SigningKeyRecord, { keys, now }: SigningKeyList): string => {
  if (isWithdrawn(key) || key.signsFrom === undefined) return "withdrawn"
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
    signs_from: begins === undefined ? undefined : formatInstant(begins),
    withdrawn_at: key.withdrawnAt === undefined ? undefined : formatInstant(key.withdrawnAt)
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
restart. A key that somebody else has is withdrawn instead (svc signing-key withdraw). The first key of a deployment signs at once. While one key waits for its turn, another is refused (75). The new
key is sealed under SVC_MASTER_KEY, which must be the one that sealed the key that signs now, so that every server has it.

  --now   for the suspicion of a compromise: signs at once, and withdraws a key that waits for its turn`,
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
retired (published, private half removed) or withdrawn (out of the key set).`,
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

/** An RFC 7638 thumbprint (SHA-256, base64url); it may begin with a hyphen, as an option does. */
const KID = /^[A-Za-z0-9_-]{43}$/u

const withdrawKey = Effect.fnUntraced(function* (kid: string, masterKeys: MasterKeys) {
  const records = yield* SigningKeyRecords
  yield* checkMasterKey(yield* records.list, masterKeys)
  const successor = yield* Effect.orDie(Effect.provide(makeSigningKey, sealerOf(masterKeys)))
  const { signing, withdrawnAt } = yield* Effect.catchTag(
    records.withdraw(kid, successor),
    "SigningKeyUnknown",
    () => Effect.fail(badUsage("no signing key has this kid; svc signing-key list shows all of them"))
  )
  return { kid, state: "withdrawn", withdrawn_at: formatInstant(withdrawnAt), signing_kid: signing }
})

const withdraw: StoreCommand = {
  name: "signing-key withdraw",
  help: helpOf(
    `svc signing-key withdraw <kid> --reason <text>: takes a compromised signing key out of the key set and removes its private
half, at once and for good. If it is the key that signs, a new one takes its place in the same step, and a key that waits for
its turn is withdrawn with it. From then on evidence is signed by the key given as signing_kid: fetch again what is needed.
Evidence exported under the withdrawn key no longer verifies. Servers drop it from the key set within 5 s, without a restart;
whoever keeps the key set may have it for 300 s more.

  --reason <text>   why, for the operator log`,
    SETTINGS_OF.storeAndMasterKey
  ),
  read: Effect.fnUntraced(function* (words) {
    const place = words.findIndex((word, at) => KID.test(word) && words[at - 1] !== "--reason")
    const kid = words[place]
    if (kid === undefined) {
      return yield* badUsage(
        "the kid of the key is missing, or is none: svc signing-key withdraw <kid> --reason <text>; svc signing-key list shows them"
      )
    }
    const { reason } = yield* readOptions({ reason: "one" }, words.toSpliced(place, 1))
    yield* needed(reason, "reason")
    const keys = yield* masterKeyConfig
    return Effect.succeed({ organization: "", act: withdrawKey(kid, keys) })
  })
}

export const signingKeyCommands: ReadonlyArray<StoreCommand> = [rotate, withdraw, list]
