import {
  type KeyManagementFault,
  KeyManagementRefused,
  KeyManagementUnavailable
} from "@svc/domain/ports/KeyManagement"
import type { SecretSealer } from "@svc/domain/ports/SecretSealer"
import { isWithdrawn, type SigningKeyRecord, startedSigningKeys } from "@svc/domain/ports/SigningKeyRecords"
import { type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Clock, Effect, Result } from "effect"
import { type SigningKey, SigningKeyInvalid } from "./SigningKey.ts"
import { openSigningKey, type SigningKeyFault } from "./StoredSigningKey.ts"

/** A key that signs sooner than this after its publication comes from an immediate rotation, in seconds. */
const MIN_NOTICE_SECONDS = 5n

/**
 * A key in a key management service that gave no signature on trial, since the service does not answer, refuses, or signs with
 * another key, is not tried again for so long, in seconds.
 */
const TRIAL_PAUSE_SECONDS = 5n

/** The key that signs now. */
export interface CurrentSigningKey {
  readonly key: SigningKey
  /** Why it signs in place of a later key, which this process cannot open. */
  readonly fallbackFor: SigningKeyFault | undefined
}

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

  const paused = new Map<string, { readonly until: bigint; readonly fault: KeyManagementFault }>()

  const open = Effect.fnUntraced(function* (
    record: SigningKeyRecord
  ): Effect.fn.Return<SigningKey, SigningKeyFault, SecretSealer> {
    const { kid } = record.publicJwk
    const known = opened.get(kid)
    if (known !== undefined) return known
    const pause = paused.get(kid)
    if (pause !== undefined && (yield* Clock.monotonicTimeNanos) < pause.until) return yield* pause.fault
    paused.delete(kid)
    const attempt = yield* Effect.result(openSigningKey(record))
    if (Result.isSuccess(attempt)) {
      opened.set(kid, attempt.success)
      return attempt.success
    }
    const fault = attempt.failure
    if (fault instanceof KeyManagementUnavailable || fault instanceof KeyManagementRefused) {
      const until = (yield* Clock.monotonicTimeNanos) + TRIAL_PAUSE_SECONDS * NANOS_PER_SECOND
      paused.set(kid, { until, fault })
    }
    return yield* fault
  })

  /** The key that signs at an instant. Fails with the fault of the current key if no fallback is allowed either. */
  const currentAt = Effect.fnUntraced(function* (
    keys: ReadonlyArray<SigningKeyRecord>,
    now: Instant
  ): Effect.fn.Return<CurrentSigningKey, SigningKeyFault, SecretSealer> {
    for (const key of keys) if (isWithdrawn(key)) opened.delete(key.publicJwk.kid)
    const started = startedSigningKeys(keys, now)
    let fault: SigningKeyFault | undefined
    for (const [place, record] of started.entries()) {
      const attempt = yield* Effect.result(open(record))
      if (Result.isSuccess(attempt)) {
        // Earlier keys do not sign again.
        for (const { publicJwk } of started.slice(place + 1)) opened.delete(publicJwk.kid)
        return { key: attempt.success, fallbackFor: fault }
      }
      fault ??= attempt.failure
      if (!allowsFallback(record)) break
    }
    return yield* fault ?? new SigningKeyInvalid({ detail: "no signing key is on record" })
  })

  return { open, currentAt }
}
