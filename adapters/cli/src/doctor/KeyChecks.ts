import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { SecretSealer } from "@svc/domain/ports/SecretSealer"
import {
  isWithdrawn,
  type SigningKeyList,
  type SigningKeyRecord,
  SigningKeyRecords,
  signingKeyAt
} from "@svc/domain/ports/SigningKeyRecords"
import * as KeyManagementOnDemand from "@svc/kms/KeyManagementOnDemand"
import { formatNanos, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import type { MasterKeys } from "@svc/signer/SecretSealerNodeCrypto"
import { managedNameOf, openSigningKey } from "@svc/signer/StoredSigningKey"
import { Effect, Option, Result } from "effect"
import { lostRemedy, placeOfSecret, type SecretFacts, sealerOf } from "../command/StoredSecrets.ts"
import { MASTER_KEY_REMEDY } from "../start/MasterKeyRemedy.ts"
import { type Check, counted, failed, namedList, ok, skipped, warning } from "./Check.ts"

export const masterKeyCheck: Check<SecretFacts> = {
  name: "keys.master_key",
  judge: ({ current, lost, previous }) => {
    if (lost.length > 0) {
      return failed(`no master key here opens ${namedList(lost.map(placeOfSecret))}`, lostRemedy(lost))
    }
    return previous > 0
      ? warning(
          `SVC_MASTER_KEY_PREVIOUS alone opens ${previous} of ${counted(current + previous, "secret")}`,
          "run svc master-key rewrap once every server has both keys"
        )
      : ok(`SVC_MASTER_KEY opens ${counted(current, "secret")}`)
  }
}

/** A published key, and whether it can be opened here. */
interface OpenedKey {
  readonly key: SigningKeyRecord
  readonly isOpened: boolean
  /** Its name in a key management service, if it is in one. */
  readonly managed?: string | undefined
  /** What the service says in place of a signature. */
  readonly refusal?: string | undefined
}

export interface SigningFacts extends SigningKeyList {
  readonly signing: OpenedKey | undefined
  readonly pending: OpenedKey | undefined
}

export const signingFacts = Effect.fnUntraced(function* (
  masterKeys: MasterKeys
): Effect.fn.Return<SigningFacts, StoreUnavailable, SigningKeyRecords> {
  const list = yield* Effect.flatMap(SigningKeyRecords, (records) => records.list)
  const sealer = yield* sealerOf(masterKeys)
  const opened = (key: SigningKeyRecord | undefined) =>
    key === undefined
      ? Effect.undefined
      : Effect.gen(function* () {
          const managed = Option.getOrUndefined(yield* Effect.option(managedNameOf(key)))
          const attempt = yield* Effect.result(openSigningKey(key))
          const fault = Result.isFailure(attempt) ? attempt.failure : undefined
          const refusal =
            managed !== undefined && fault !== undefined && "detail" in fault ? fault.detail : undefined
          return { key, isOpened: fault === undefined, managed, refusal } satisfies OpenedKey
        }).pipe(Effect.provideService(SecretSealer, sealer), Effect.provide(KeyManagementOnDemand.layer))
  const next = list.keys.find((key) => !isWithdrawn(key) && (key.signsFrom ?? 0n) > list.now)
  return {
    ...list,
    signing: yield* opened(signingKeyAt(list.keys, list.now)),
    pending: yield* opened(next)
  }
})

const SECONDS_PER_DAY = 86_400n
/** A signing key that has signed for longer is due for a rotation, as the alert SvcSigningKeyOld has it. */
const OLD_KEY_DAYS = 400n

const MANAGED_REMEDY =
  "see that the key is enabled, that the credentials here may sign with it, and that this machine reaches the service"

const placeOf = ({ managed }: OpenedKey): string => (managed === undefined ? "" : ` (${managed})`)

const ageInDays = (key: SigningKeyRecord, now: bigint): bigint => {
  const from = key.signsFrom === 0n ? key.createdAt : (key.signsFrom ?? key.createdAt)
  return (now - from) / NANOS_PER_SECOND / SECONDS_PER_DAY
}

export const signingKeyCheck: Check<SigningFacts> = {
  name: "keys.signing_key",
  judge: ({ keys, now, signing }) => {
    if (signing === undefined) {
      return keys.length === 0
        ? skipped("there is none yet; the first server makes it")
        : failed("no key signs", "run svc signing-key rotate --now")
    }
    const { kid } = signing.key.publicJwk
    if (signing.refusal !== undefined)
      return failed(`${kid}, which signs, does not sign here: ${signing.refusal}`, MANAGED_REMEDY)
    if (!signing.isOpened)
      return failed(`the master key does not open ${kid}, which signs`, MASTER_KEY_REMEDY)
    const days = ageInDays(signing.key, now)
    return days > OLD_KEY_DAYS
      ? warning(`${kid} has signed for ${days} days`, "run svc signing-key rotate")
      : ok(`${kid} signs, for ${counted(Number(days), "day")}${placeOf(signing)}`)
  }
}

export const pendingKeyCheck: Check<SigningFacts> = {
  name: "keys.pending_key",
  judge: ({ pending }) => {
    if (pending === undefined) return ok("no other key is announced")
    const { kid } = pending.key.publicJwk
    const from = formatNanos(pending.key.signsFrom ?? 0n)
    if (pending.refusal !== undefined)
      return failed(
        `${kid}, which signs from ${from}, does not sign here: ${pending.refusal}`,
        MANAGED_REMEDY
      )
    return pending.isOpened
      ? ok(`${kid} signs from ${from}${placeOf(pending)}`)
      : failed(
          `the master key does not open ${kid}, which signs from ${from}`,
          `before then, ${MASTER_KEY_REMEDY}`
        )
  }
}

export const withdrawnKeysCheck: Check<SigningFacts> = {
  name: "keys.withdrawn",
  judge: ({ keys }) => {
    const withdrawn = keys.filter(isWithdrawn)
    return ok(
      withdrawn.length === 0
        ? "no key was withdrawn"
        : `${namedList(withdrawn.map(({ publicJwk }) => publicJwk.kid))}: what was exported under them does not verify`
    )
  }
}

/** What the signing keys on record tell. */
export const SIGNING_CHECKS: ReadonlyArray<Check<SigningFacts>> = [
  signingKeyCheck,
  pendingKeyCheck,
  withdrawnKeysCheck
]
