import type { SealBroken, SecretSealer } from "@svc/domain/ports/SecretSealer"
import { isWithdrawn, type SigningKeyRecord, startedSigningKeys } from "@svc/domain/ports/SigningKeyRecords"
import { type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect, Result } from "effect"
import { type SigningKey, SigningKeyInvalid } from "./SigningKey.ts"
import { openSigningKey } from "./StoredSigningKey.ts"

/** A key that signs sooner than this after its publication comes from an immediate rotation, in seconds. */
const MIN_NOTICE_SECONDS = 5n

/** The key that signs now. */
export interface CurrentSigningKey {
  readonly key: SigningKey
  /** Whether it signs in place of a later key, which this process cannot open. */
  readonly isFallback: boolean
}

type Unopened = SealBroken | SigningKeyInvalid

/**
 * Whether the previous key may sign in place of this one. Not after an immediate rotation, whose reason may be a compromise
 * of the previous key: no evidence (503) is then better than evidence that cannot be told from a thief's. After a scheduled
 * rotation the previous key is still trustworthy and published.
 */
const allowsFallback = ({ createdAt, signsFrom = 0n }: SigningKeyRecord): boolean =>
  signsFrom - createdAt >= MIN_NOTICE_SECONDS * NANOS_PER_SECOND

/** The opened private halves of signing keys. */
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

  /** The key that signs at an instant. Fails with the fault of the current key if no fallback is allowed either. */
  const currentAt = Effect.fnUntraced(function* (
    keys: ReadonlyArray<SigningKeyRecord>,
    now: Instant
  ): Effect.fn.Return<CurrentSigningKey, Unopened, SecretSealer> {
    for (const key of keys) if (isWithdrawn(key)) opened.delete(key.publicJwk.kid)
    const started = startedSigningKeys(keys, now)
    let fault: Unopened = new SigningKeyInvalid({ detail: "no signing key is on record" })
    for (const [place, record] of started.entries()) {
      const attempt = yield* Effect.result(open(record))
      if (Result.isSuccess(attempt)) {
        // Earlier keys do not sign again.
        for (const { publicJwk } of started.slice(place + 1)) opened.delete(publicJwk.kid)
        return { key: attempt.success, isFallback: place > 0 }
      }
      if (place === 0) fault = attempt.failure
      if (!allowsFallback(record)) break
    }
    return yield* fault
  })

  return { open, currentAt }
}
