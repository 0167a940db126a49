import { sharedRun } from "@svc/domain/engine/SharedRun"
import { KeyManagementUnavailable } from "@svc/domain/ports/KeyManagement"
import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import type { SecretSealer } from "@svc/domain/ports/SecretSealer"
import { Signer, SignerUnavailable, type Signing } from "@svc/domain/ports/Signer"
import {
  isWithdrawn,
  type SigningKeyList,
  SigningKeyRecords,
  signingKeyAt
} from "@svc/domain/ports/SigningKeyRecords"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { formatNanos, type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Clock, Context, Effect, Layer, Option, Result } from "effect"
import { type CurrentSigningKey, makeOpenedSigningKeys } from "./OpenedSigningKeys.ts"
import { readPublished, type SigningKeyInvalid } from "./SigningKey.ts"
import { makeSigningKey, type SigningKeyFault } from "./StoredSigningKey.ts"

/** How long a view of the records is used, in seconds, and so how late a process may publish a change. */
export const VIEW_LIFETIME_SECONDS = 5n

/** How long the key set waits for the records; an unreachable store may time out later. */
const KEY_SET_TIMEOUT = "1 second"

/** The records, and when they were read by the monotonic clock. */
interface View extends SigningKeyList {
  readonly readAt: bigint
}

const readView = Effect.gen(function* () {
  const records = yield* SigningKeyRecords
  const list = yield* records.list
  yield* Effect.forEach(list.keys, ({ publicJwk }) => readPublished(publicJwk), { discard: true })
  const view: View = { ...list, readAt: yield* Clock.monotonicTimeNanos }
  return view
})

/** Reads the records; the first process of a deployment creates the first key. */
const firstView = Effect.gen(function* () {
  const view = yield* readView
  if (view.keys.length > 0) return view
  const records = yield* SigningKeyRecords
  yield* records.addFirst(yield* makeSigningKey)
  return yield* readView
})

/** A lower bound of the store's present time, so that no key signs too early. */
const earliestStoreTime = ({ now, readAt }: View, monotonic: bigint): Instant => now + (monotonic - readAt)

const hasRetiredKeys = ({ keys, now }: View): boolean => {
  const from = signingKeyAt(keys, now)?.signsFrom ?? 0n
  return keys.some(
    ({ sealed, signsFrom }) => sealed !== undefined && signsFrom !== undefined && signsFrom < from
  )
}

const unavailable = Effect.mapError(
  (cause: StoreUnavailable | SigningKeyFault) =>
    new SignerUnavailable({ cause: "detail" in cause ? cause.detail : cause })
)

/** Longest that `GET /readyz` waits for a key management service. */
const HEALTH_TIMEOUT = "1 second"

/** What `GET /readyz` says if this process cannot use the current signing key. */
const unusable = (fault: SigningKeyFault, consequence: string): ReadonlyArray<string> => {
  switch (fault._tag) {
    // That costs evidence alone, and of the processes that have started none would answer better.
    case "KeyManagementUnavailable":
    case "KeyManagementRefused":
      return []
    default:
      return [`The master key does not open the current signing key: ${consequence}.`]
  }
}

/** The health of the store, including whether this process can use the current signing key. */
const withSigningHealth = (
  store: StoreHealth["Service"],
  currentKey: Effect.Effect<CurrentSigningKey, StoreUnavailable | SigningKeyFault>
): StoreHealth["Service"] => ({
  faults: Effect.gen(function* () {
    const faults = yield* store.faults
    const fault = yield* currentKey.pipe(
      Effect.timeoutOrElse({ duration: HEALTH_TIMEOUT, orElse: () => Effect.undefined }),
      Effect.map((current) =>
        current?.fallbackFor === undefined ? [] : unusable(current.fallbackFor, "the one before it signs")
      ),
      Effect.catchTag(
        ["SealBroken", "SigningKeyInvalid", "KeyManagementRefused", "KeyManagementUnavailable"],
        (refused) => Effect.succeed(unusable(refused, "no evidence is signed"))
      )
    )
    return [...faults, ...fault]
  })
})

/** Warns once about each pending key that this process cannot use. */
const makePendingWarning = ({ open }: ReturnType<typeof makeOpenedSigningKeys>) => {
  const warned = new Set<string>()
  return Effect.fnUntraced(function* ({ keys, now }: View) {
    for (const record of keys) {
      const { kid } = record.publicJwk
      if (record.signsFrom === undefined || record.signsFrom <= now || warned.has(kid)) continue
      const attempt = yield* Effect.result(open(record))
      // One that does not answer now is tried again.
      if (Result.isSuccess(attempt) || attempt.failure instanceof KeyManagementUnavailable) continue
      warned.add(kid)
      const who = attempt.failure._tag === "KeyManagementRefused" ? "key management service" : "master key"
      yield* Effect.annotateLogs(
        Effect.logWarning(
          who === "master key"
            ? "the master key does not open the signing key that is to sign next"
            : "the key management service refuses to sign with the signing key that is to sign next"
        ),
        { kid, signs_from: formatNanos(record.signsFrom) }
      )
    }
  })
}

/** A signature that is given once `admit` allows it. */
const admittedBy = (
  admit: Effect.Effect<unknown, SignerUnavailable>,
  { signature, update }: Signing
): Signing => ({ update, signature: Effect.tap(signature, () => admit) })

/** A key that this process can never use must fail the start rather than the first evidence. */
const checkStart = Effect.fnUntraced(function* (
  currentKey: Effect.Effect<CurrentSigningKey, StoreUnavailable | SigningKeyFault>
) {
  const fault = yield* currentKey.pipe(
    Effect.map(({ fallbackFor }) => fallbackFor),
    Effect.catchTag("KeyManagementUnavailable", (away) => Effect.succeed(away))
  )
  if (fault === undefined) return
  if (!(fault instanceof KeyManagementUnavailable)) return yield* fault
  yield* Effect.logWarning(
    "the key management service does not answer: evidence is refused until it does",
    fault.detail
  )
})

const makeSigner = Effect.gen(function* () {
  const context = yield* Effect.context<SigningKeyRecords | SecretSealer>()
  const records = yield* SigningKeyRecords
  const scope = yield* Effect.scope
  const opened = makeOpenedSigningKeys()
  const warnOfPending = makePendingWarning(opened)
  let view = yield* firstView

  const isFresh = Effect.map(
    Clock.monotonicTimeNanos,
    (now) => now - view.readAt < VIEW_LIFETIME_SECONDS * NANOS_PER_SECOND
  )
  const readAgain = Effect.gen(function* () {
    const seen = yield* readView
    // Of two concurrent reads the earlier one may finish last.
    if (seen.now >= view.now) view = seen
    yield* warnOfPending(seen)
    // The private half of a retired key is of use to a thief alone. But where this process cannot open the current key, the
    // retired ones may be the only keys that anyone can sign with.
    const current = hasRetiredKeys(seen)
      ? yield* Effect.option(opened.currentAt(seen.keys, seen.now))
      : Option.none()
    if (Option.isSome(current) && current.value.fallbackFor === undefined) {
      // Ignored: another process may have done so, or the next read will.
      yield* Effect.ignore(records.forgetBefore(current.value.key.published.kid))
    }
    return seen
  }).pipe(Effect.provideContext(context))
  // Concurrent callers share one read.
  const refresh = sharedRun(readAgain, scope)
  const freshView = Effect.suspend(() =>
    Effect.flatMap(isFresh, (fresh) => (fresh ? Effect.succeed(view) : refresh))
  )

  const currentKeyIn = (views: Effect.Effect<View, StoreUnavailable | SigningKeyInvalid>) =>
    Effect.gen(function* () {
      const seen = yield* views
      return yield* opened.currentAt(seen.keys, earliestStoreTime(seen, yield* Clock.monotonicTimeNanos))
    }).pipe(Effect.provideContext(context))
  const currentKey = currentKeyIn(freshView)
  yield* checkStart(currentKey)

  const admitted = (kid: string) =>
    Effect.flatMap(unavailable(readAgain), ({ keys }) =>
      keys.some((key) => key.publicJwk.kid === kid && !isWithdrawn(key))
        ? Effect.void
        : Effect.fail(new SignerUnavailable({ cause: "the key was withdrawn before it had signed" }))
    )

  const signer = Signer.of({
    // Read as a signature begins and before it is given, since what a withdrawn key signs would not verify.
    current: Effect.map(unavailable(currentKeyIn(readAgain)), ({ key: { begin, published } }) => ({
      kid: published.kid,
      begin: () => admittedBy(admitted(published.kid), begin())
    })),
    // While the store is unreachable, the last known key set is published.
    keySet: Effect.map(
      freshView.pipe(
        Effect.timeout(KEY_SET_TIMEOUT),
        Effect.catch(() => Effect.sync(() => view))
      ),
      ({ keys }) => ({
        keys: keys.filter((key) => !isWithdrawn(key)).map(({ publicJwk }) => publicJwk)
      })
    )
  })
  return Context.make(Signer, signer).pipe(
    Context.add(StoreHealth, withSigningHealth(yield* StoreHealth, currentKey))
  )
})

/**
 * Signs with the sealed key of the store that is current by the store's clock, and publishes every key that is not
 * withdrawn, so that what was signed before a restart or a rotation still verifies (part 7). The records are read for each
 * signature, and for the key set when they are `VIEW_LIFETIME_SECONDS` old. The provided `StoreHealth` also reports a
 * current key that cannot be opened.
 */
export const layer: Layer.Layer<
  Signer | StoreHealth,
  SigningKeyFault | StoreUnavailable,
  SigningKeyRecords | SecretSealer | StoreHealth
> = Layer.effectContext(makeSigner)
