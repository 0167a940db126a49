import type { SealBroken, SecretSealer } from "@svc/domain/ports/SecretSealer"
import { isWithdrawn, type SigningKeyRecord } from "@svc/domain/ports/SigningKeyRecords"
import { type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect, Result } from "effect"
import { type SigningKey, SigningKeyInvalid } from "./SigningKey.ts"
import { openSigningKey } from "./StoredSigningKey.ts"

/** A key that is published for less than this before it signs was made for a compromise, in seconds. */
const LEAST_NOTICE_SECONDS = 5n

/** What may sign now. */
export interface SigningTurn {
  readonly key: SigningKey
  /** Whether it stands in for a later key, whose turn it is but which this process cannot open. */
  readonly isStandIn: boolean
}

type Unopened = SealBroken | SigningKeyInvalid

/** Keys that have begun to sign, the latest first. */
const begunAt = (keys: ReadonlyArray<SigningKeyRecord>, now: Instant): ReadonlyArray<SigningKeyRecord> =>
  keys
    .flatMap((key) =>
      isWithdrawn(key) || key.signsFrom === undefined || key.signsFrom > now
        ? []
        : [[key.signsFrom, key] as const]
    )
    .sort(([one], [other]) => (one < other ? 1 : -1))
    .map(([, key]) => key)

/**
 * Whether the key before may sign in a key's place. Not after a rotation at once: whoever stole the key before would
 * have his forgeries look like what is signed now, so that no evidence (503) is better than any. After a rotation that
 * was announced nothing speaks against the key before: it is published, and what it signs verifies.
 */
const allowsStandIn = ({ createdAt, signsFrom = 0n }: SigningKeyRecord): boolean =>
  signsFrom - createdAt >= LEAST_NOTICE_SECONDS * NANOS_PER_SECOND

/** The private halves that this process has opened: that of the key whose turn it is, or of the one that stands in. */
export const makeOpenedSigningKeys = () => {
  const opened = new Map<string, SigningKey>()

  const open = Effect.fnUntraced(function* (
    record: SigningKeyRecord
  ): Effect.fn.Return<SigningKey, Unopened, SecretSealer> {
    const known = opened.get(record.publicJwk.kid)
    if (known !== undefined) return known
    const key = yield* openSigningKey(record)
    opened.set(record.publicJwk.kid, key)
    return key
  })

  /** The key that signs at an instant. Fails, for the key whose turn it is, when neither it nor a stand-in may. */
  const inTurn = Effect.fnUntraced(function* (
    keys: ReadonlyArray<SigningKeyRecord>,
    now: Instant
  ): Effect.fn.Return<SigningTurn, Unopened, SecretSealer> {
    for (const key of keys) if (isWithdrawn(key)) opened.delete(key.publicJwk.kid)
    const begun = begunAt(keys, now)
    let fault: Unopened = new SigningKeyInvalid({ detail: "no signing key is on record" })
    for (const [place, record] of begun.entries()) {
      const attempt = yield* Effect.result(open(record))
      if (Result.isSuccess(attempt)) {
        // None of those before it signs again, unless it is one of them.
        for (const { publicJwk } of begun.slice(place + 1)) opened.delete(publicJwk.kid)
        return { key: attempt.success, isStandIn: place > 0 }
      }
      if (place === 0) fault = attempt.failure
      if (!allowsStandIn(record)) break
    }
    return yield* fault
  })

  return { open, inTurn }
}
