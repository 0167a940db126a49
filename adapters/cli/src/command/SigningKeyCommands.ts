import {
  isWithdrawn,
  type SigningKeyList,
  type SigningKeyRecord,
  SigningKeyRecords,
  signingKeyAt
} from "@svc/domain/ports/SigningKeyRecords"
import * as KeyManagementOnDemand from "@svc/kms/KeyManagementOnDemand"
import { formatNanos, type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import * as SecretSealerNodeCrypto from "@svc/signer/SecretSealerNodeCrypto"
import { makeManagedSigningKey, makeSigningKey, managedNameOf } from "@svc/signer/StoredSigningKey"
import { Effect, Exit, Layer, Option } from "effect"
import { masterKeyConfig } from "../config/Config.ts"
import { managedKeyFault } from "../config/MasterKeySetting.ts"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import { LOST_MASTER_KEY_PAGE, SIGNING_KEY_CLOSED } from "../start/MasterKeyRemedy.ts"
import { configurationFault, EXIT_TEMPORARY, StartFault, usageFault } from "../start/StartFault.ts"
import { type Options, readOptions, refuseUnless, requiredOption } from "./CommandOptions.ts"
import type { StoreCommand } from "./StoreCommand.ts"
import { placeOfSecret, secretFacts } from "./StoredSecrets.ts"
import { textTable } from "./TextTable.ts"

/** How long a new key is published before it signs, in seconds; verifiers may cache the key set for 300 s (part 7). */
export const SIGNING_DELAY_SECONDS = 900n

const stateOf = (key: SigningKeyRecord, { keys, now }: SigningKeyList): string => {
  if (isWithdrawn(key) || key.signsFrom === undefined) return "withdrawn"
  if (key.signsFrom > now) return "pending"
  return signingKeyAt(keys, now) === key ? "signing" : "retired"
}

/** When the key began to sign; the first key of a deployment has 0 on record. */
const signingStart = (key: SigningKeyRecord): Instant | undefined =>
  key.signsFrom === 0n ? key.createdAt : key.signsFrom

interface ShownKey {
  readonly kid: string
  readonly state: string
  readonly created_at: string
  readonly signs_from: string | undefined
  readonly withdrawn_at: string | undefined
}

/**
 * When a key was withdrawn. One that was pending when svc signing-key rotate --now replaced it has no time on record: it was
 * withdrawn as the next key was made, since none other can be made while a key is pending.
 */
const withdrawalOf = (key: SigningKeyRecord, { keys }: SigningKeyList): Instant | undefined => {
  if (key.withdrawnAt !== undefined || key.signsFrom !== undefined) return key.withdrawnAt
  const later = keys.map(({ createdAt }) => createdAt).filter((createdAt) => createdAt > key.createdAt)
  return later.reduce<Instant | undefined>(
    (first, createdAt) => (first === undefined || createdAt < first ? createdAt : first),
    undefined
  )
}

const shown = (key: SigningKeyRecord, list: SigningKeyList): ShownKey => {
  const withdrawnAt = withdrawalOf(key, list)
  const start = signingStart(key)
  return {
    kid: key.publicJwk.kid,
    state: stateOf(key, list),
    created_at: formatNanos(key.createdAt),
    signs_from: start === undefined ? undefined : formatNanos(start),
    withdrawn_at: withdrawnAt === undefined ? undefined : formatNanos(withdrawnAt)
  }
}

type MasterKeys = Effect.Success<typeof masterKeyConfig>

const sealerOf = (keys: SecretSealerNodeCrypto.MasterKeys) => Layer.orDie(SecretSealerNodeCrypto.layer(keys))

const isOpenedBy = (record: SigningKeyRecord, keys: SecretSealerNodeCrypto.MasterKeys) =>
  Effect.map(Effect.exit(Effect.provide(managedNameOf(record), sealerOf(keys))), Exit.isSuccess)

/**
 * Servers must be able to open a new key when it begins to sign. They are known to have the master key that opens the
 * current signing key, so this must be the one that seals the new key. Only an operator can know that it is lost, and that
 * servers are to have another from now on.
 */
const checkMasterKey = Effect.fnUntraced(function* (
  { keys, now }: SigningKeyList,
  { isMasterKeyLost }: Place,
  masterKeys: MasterKeys
) {
  const signing = signingKeyAt(keys, now)
  if (signing === undefined) {
    return isMasterKeyLost
      ? yield* usageFault(
          "the store has no signing key that signs, so no master key is lost: see that SVC_STORE names the right database"
        )
      : undefined
  }
  if (isMasterKeyLost) {
    return (yield* isOpenedBy(signing, masterKeys))
      ? yield* usageFault(
          "a master key given here opens the signing key, so it is not lost; leave out --master-key-lost"
        )
      : undefined
  }
  if (yield* isOpenedBy(signing, { current: masterKeys.current })) return
  return yield* configurationFault(
    (yield* isOpenedBy(signing, masterKeys))
      ? "SVC_MASTER_KEY does not open the signing key, SVC_MASTER_KEY_PREVIOUS does: servers that have only that one could not open a new key; run svc master-key rewrap once every server has both keys, or rotate with that one as SVC_MASTER_KEY"
      : `${SIGNING_KEY_CLOSED}: set the one that sealed it as SVC_MASTER_KEY; if it is lost for good, see --master-key-lost under --help, and go by ${LOST_MASTER_KEY_PAGE}`
  )
})

/** Where a new signing key is made: in a key management service, in the store, or where the current one is. */
interface Place {
  readonly kms: string | undefined
  readonly stored: boolean
  /** Whether the master key that sealed the current signing key is said to be lost, so that nobody can open it. */
  readonly isMasterKeyLost: boolean
}

/** The options of a place, by their kinds. */
const PLACE_OPTIONS = { kms: "one", stored: "flag", "master-key-lost": "flag" } as const

const readPlace = ({
  kms,
  stored,
  "master-key-lost": isMasterKeyLost
}: Options<typeof PLACE_OPTIONS>): Effect.Effect<Place, StartFault> => {
  if (kms !== undefined && stored) return Effect.fail(usageFault("--kms and --stored exclude each other"))
  // The name of a key in a key management service is sealed, so where the current one is cannot be told.
  return isMasterKeyLost && kms === undefined && !stored
    ? Effect.fail(
        usageFault(
          "with --master-key-lost, name the next signing key with --kms, or have it made in the store with --stored"
        )
      )
    : Effect.succeed({ kms, stored, isMasterKeyLost })
}

/** A key management service makes its keys itself, so the next one must be named. */
const checkPlace = Effect.fnUntraced(function* (
  { keys, now }: SigningKeyList,
  { kms, stored }: Place,
  masterKeys: MasterKeys
) {
  const signing = signingKeyAt(keys, now)
  if (kms !== undefined || stored || signing === undefined) return
  const managed = yield* Effect.option(Effect.provide(managedNameOf(signing), sealerOf(masterKeys)))
  if (Option.isNone(managed) || managed.value === undefined) return
  return yield* usageFault(
    `the signing key is ${managed.value}: name the next one with --kms, or have it made in the store with --stored`
  )
})

/** The key that is to sign, in its place. */
const newKey = Effect.fnUntraced(function* (
  { keys }: SigningKeyList,
  { kms }: Place,
  masterKeys: MasterKeys
) {
  if (kms === undefined) return yield* Effect.orDie(Effect.provide(makeSigningKey, sealerOf(masterKeys)))
  const key = yield* makeManagedSigningKey(kms).pipe(
    Effect.mapError((fault) => managedKeyFault("the signing key", fault)),
    Effect.provide([sealerOf(masterKeys), KeyManagementOnDemand.layer])
  )
  return keys.some(({ publicJwk }) => publicJwk.kid === key.publicJwk.kid)
    ? yield* usageFault("this key is or was a signing key already; svc signing-key list shows all of them")
    : key
})

const PLACE_HELP = `  --kms <key>   a key in a key management service: aws-kms:<ARN> (ECC_NIST_P256, SIGN_VERIFY), or
                azure-key-vault:<identifier> (EC or EC-HSM, P-256)
  --stored      a key in the store, in place of one in a key management service`

const MASTER_KEY_LOST_HELP = `  --master-key-lost
                the master key that sealed the current signing key is gone for good, and SVC_MASTER_KEY is a new one. Then
                nobody can sign with the current key any more, and what else the lost key sealed stays closed: the answer
                lists it as lost_secrets. Stop all servers and workers first: one that runs still has the key, which is then
                not lost, and none of them could open the next signing key. Needs --kms or --stored`

const rotationPendingFault = (pending: { readonly kid: string; readonly signsFrom: Instant }): StartFault =>
  new StartFault({
    line: `the key ${pending.kid} is published and signs from ${formatNanos(pending.signsFrom)}; rotate after that, or with --now`,
    exitCode: EXIT_TEMPORARY
  })

/** What the answer adds where a master key is lost: every other secret that is closed from now on. */
const lostSecrets = Effect.fnUntraced(function* ({ isMasterKeyLost }: Place, masterKeys: MasterKeys) {
  return isMasterKeyLost ? { lost_secrets: (yield* secretFacts(masterKeys)).lost.map(placeOfSecret) } : {}
})

const rotateKey = Effect.fnUntraced(function* (isImmediate: boolean, place: Place, masterKeys: MasterKeys) {
  const records = yield* SigningKeyRecords
  const known = yield* records.list
  yield* checkMasterKey(known, place, masterKeys)
  yield* checkPlace(known, place, masterKeys)
  const key = yield* newKey(known, place, masterKeys)
  const when = isImmediate ? "now" : ({ delay: SIGNING_DELAY_SECONDS * NANOS_PER_SECOND } as const)
  const { signsFrom } = yield* Effect.catchTag(records.rotate(key, when), "RotationPending", (pending) =>
    Effect.fail(rotationPendingFault(pending))
  )
  return {
    kid: key.publicJwk.kid,
    signs_from: formatNanos(signsFrom),
    // Who meant to replace a key has named another database.
    ...(known.keys.length === 0 ? { first: true } : {}),
    ...(yield* lostSecrets(place, masterKeys))
  }
})

/**
 * Before the first server starts, a key in a key management service spares a deployment one in the store. Without a database
 * there is no key to replace: who wants that has named another folder, and must not be told that it is done.
 */
const beginsDeployment = (words: ReadonlyArray<string>): boolean =>
  words.some((word) => /^--kms(?:=|$)/u.test(word)) &&
  !words.includes("--now") &&
  !words.includes("--master-key-lost")

const rotate: StoreCommand = {
  name: "signing-key rotate",
  makesFolder: beginsDeployment,
  help: helpOf(
    `svc signing-key rotate: publishes a new signing key at once. It signs after ${SIGNING_DELAY_SECONDS} s, when no cached key set
lacks it any more. Earlier keys stay published, and what they signed still verifies. Servers follow within 5 s, without a
restart. Withdraw a compromised key instead (svc signing-key withdraw). While a key is pending, another is refused (75). The
new key is sealed under SVC_MASTER_KEY, which must be the one that sealed the current signing key, so that every server can
open it. In a store without signing keys it makes the first one, which signs at once, and says so ("first": true).

  --now         for a suspected compromise: the new key signs at once, and a pending key is withdrawn
${PLACE_HELP}
${MASTER_KEY_LOST_HELP} and --now`,
    SETTINGS_OF.storeAndMasterKey
  ),
  plan: Effect.fnUntraced(function* (words) {
    const { now, ...given } = yield* readOptions({ now: "flag", ...PLACE_OPTIONS }, words)
    const place = yield* readPlace(given)
    yield* refuseUnless(
      now || !place.isMasterKeyLost,
      "--master-key-lost needs --now, since nobody can sign until the next key does"
    )
    const keys = yield* masterKeyConfig
    return Effect.succeed({ organization: "", act: rotateKey(now, place, keys) })
  })
}

interface KeyList {
  readonly data: ReadonlyArray<ShownKey>
}

const list: StoreCommand = {
  name: "signing-key list",
  help: helpOf(
    `svc signing-key list: the signing keys, oldest first: signing, pending (published, signs from the time given),
retired (published, private half removed) or withdrawn (out of the key set). A table, or with --json JSON.`,
    SETTINGS_OF.store
  ),
  plan: Effect.fnUntraced(function* (words) {
    yield* readOptions({}, words)
    return Effect.map(SigningKeyRecords, ({ list: records }) => ({
      organization: "",
      act: Effect.map(records, (found): KeyList => ({ data: found.keys.map((key) => shown(key, found)) }))
    }))
  }),
  textOf: (answer) =>
    textTable(
      ["KID", "STATE", "CREATED", "SIGNS FROM", "WITHDRAWN"],
      (answer as KeyList).data.map(({ created_at, kid, signs_from, state, withdrawn_at }) => [
        kid,
        state,
        created_at,
        signs_from,
        withdrawn_at
      ])
    )
}

/** An RFC 7638 thumbprint (SHA-256, base64url), which may begin with a hyphen like an option. */
const KID = /^[A-Za-z0-9_-]{43}$/u

/** Whether a key signed before another did, and so is not replaced when it is withdrawn. */
const isRetired = (kid: string, list: SigningKeyList): boolean =>
  list.keys.some((key) => key.publicJwk.kid === kid && ["retired", "withdrawn"].includes(stateOf(key, list)))

const withdrawKey = Effect.fnUntraced(function* (kid: string, place: Place, masterKeys: MasterKeys) {
  const records = yield* SigningKeyRecords
  const known = yield* records.list
  yield* checkMasterKey(known, place, masterKeys)
  if (!isRetired(kid, known)) yield* checkPlace(known, place, masterKeys)
  const successor = yield* newKey(known, place, masterKeys)
  const { signing, withdrawnAt } = yield* Effect.catchTag(
    records.withdraw(kid, successor),
    "SigningKeyUnknown",
    () => Effect.fail(usageFault("no signing key has this kid; svc signing-key list shows all of them"))
  )
  return {
    kid,
    state: "withdrawn",
    withdrawn_at: formatNanos(withdrawnAt),
    signing_kid: signing,
    ...(yield* lostSecrets(place, masterKeys))
  }
})

const withdraw: StoreCommand = {
  name: "signing-key withdraw",
  help: helpOf(
    `svc signing-key withdraw <kid> --reason <text>: takes a compromised signing key out of the key set and removes its private
half, at once and for good. If it is the current signing key, a new one replaces it in the same step, so that there is
always one that signs; a pending key is withdrawn with it. Evidence is then signed by the key printed as signing_kid; evidence exported under the withdrawn key no
longer verifies, so fetch again what is needed. Servers drop the key from the key set within 5 s, without a restart; caches
of the key set may hold it for another 300 s.

  --reason <text>   the reason, for the operator log

Where the key that replaces it is made:

${PLACE_HELP}
${MASTER_KEY_LOST_HELP}`,
    SETTINGS_OF.storeAndMasterKey
  ),
  plan: Effect.fnUntraced(function* (words) {
    const place = words.findIndex((word, at) => KID.test(word) && words[at - 1] !== "--reason")
    const kid = words[place]
    if (kid === undefined) {
      return yield* usageFault(
        "the kid of the key is missing, or is none: svc signing-key withdraw <kid> --reason <text>; svc signing-key list shows them"
      )
    }
    const { reason, ...given } = yield* readOptions(
      { reason: "one", ...PLACE_OPTIONS },
      words.toSpliced(place, 1)
    )
    const successor = yield* readPlace(given)
    yield* requiredOption(reason, "reason")
    const keys = yield* masterKeyConfig
    return Effect.succeed({ organization: "", act: withdrawKey(kid, successor, keys) })
  })
}

export const signingKeyCommands: ReadonlyArray<StoreCommand> = [rotate, withdraw, list]
