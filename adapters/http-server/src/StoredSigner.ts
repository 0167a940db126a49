import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import type { SealBroken, SecretSealer } from "@svc/domain/ports/SecretSealer"
import { Signer, SignerUnavailable } from "@svc/domain/ports/Signer"
import { type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { readPublished, type SigningKey, SigningKeyInvalid } from "@svc/signer/SigningKey"
import {
  type SigningKeyList,
  type SigningKeyRecord,
  SigningKeyRecords,
  signingKeyAt
} from "@svc/store-postgres/SigningKeyRecords"
import { Clock, Effect, Fiber, Layer } from "effect"
import { makeSigningKey, openSigningKey } from "./StoredSigningKey.ts"

/** How old a view of the records may be, in seconds: so long after a rotation a process may sign with the key before. */
export const VIEW_LIFETIME_SECONDS = 5n

/** Longest that the key set waits for the records; a store that is out of reach may take longer to say so. */
const KEY_SET_PATIENCE = "1 second"

/** The records as they were read, and when, by a clock that only goes on. */
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

/** The first process of a deployment makes its first key. */
const firstView = Effect.gen(function* () {
  const view = yield* readView
  if (view.keys.length > 0) return view
  const records = yield* SigningKeyRecords
  yield* records.addFirst(yield* makeSigningKey)
  return yield* readView
})

/** The store's clock, as far as it must have come: never ahead, so no key signs before its time. */
const storeClock = ({ now, readAt }: View, monotonic: bigint): Instant => now + (monotonic - readAt)

const signingIn = (view: View, now: Instant): Effect.Effect<SigningKeyRecord, SigningKeyInvalid> => {
  const record = signingKeyAt(view.keys, now)
  return record === undefined
    ? Effect.fail(new SigningKeyInvalid({ detail: "no signing key is on record" }))
    : Effect.succeed(record)
}

const hasRetired = ({ keys, now }: View): boolean => {
  const from = signingKeyAt(keys, now)?.signsFrom ?? 0n
  return keys.some(
    ({ sealed, signsFrom }) => sealed !== undefined && signsFrom !== undefined && signsFrom < from
  )
}

const unavailable = Effect.mapError(
  (cause: StoreUnavailable | SealBroken | SigningKeyInvalid) => new SignerUnavailable({ cause })
)

const makeSigner = Effect.gen(function* () {
  const context = yield* Effect.context<SigningKeyRecords | SecretSealer>()
  const records = yield* SigningKeyRecords
  const scope = yield* Effect.scope
  const opened = new Map<string, SigningKey>()
  let view = yield* firstView

  const isFresh = Effect.map(
    Clock.monotonicTimeNanos,
    (now) => now - view.readAt < VIEW_LIFETIME_SECONDS * NANOS_PER_SECOND
  )
  const readAgain = Effect.gen(function* () {
    view = yield* readView
    // What cannot sign any more is of use to a thief alone. Another process may be faster, or this one try again.
    if (hasRetired(view)) yield* Effect.ignore(records.forgetRetired)
    return view
  }).pipe(Effect.provideContext(context))
  // One reading serves all who wait, and goes on when the first of them has gone.
  let reading: Fiber.Fiber<View, StoreUnavailable | SigningKeyInvalid> | undefined
  const refresh = Effect.suspend(() =>
    reading === undefined
      ? readAgain.pipe(
          Effect.ensuring(
            Effect.sync(() => {
              reading = undefined
            })
          ),
          Effect.forkIn(scope),
          Effect.tap((fiber) =>
            Effect.sync(() => {
              if (fiber.pollUnsafe() === undefined) reading = fiber
            })
          )
        )
      : Effect.succeed(reading)
  ).pipe(Effect.flatMap(Fiber.join))
  const current = Effect.suspend(() =>
    Effect.flatMap(isFresh, (fresh) => (fresh ? Effect.succeed(view) : refresh))
  )

  const open = Effect.fnUntraced(function* (record: SigningKeyRecord) {
    const known = opened.get(record.publicJwk.kid)
    if (known !== undefined) return known
    const key = yield* openSigningKey(record)
    // One key signs at a time, and none of those before it does again.
    opened.clear()
    opened.set(record.publicJwk.kid, key)
    return key
  }, Effect.provideContext(context))

  const signing = Effect.gen(function* () {
    const seen = yield* current
    const record = yield* signingIn(seen, storeClock(seen, yield* Clock.monotonicTimeNanos))
    return yield* open(record)
  })
  // A master key that does not open it is to stop the start, not the first evidence.
  yield* signing

  return Signer.of({
    current: Effect.map(unavailable(signing), ({ published, sign }) => ({
      kid: published.kid,
      sign: (data) =>
        Effect.try({ try: () => sign(data), catch: (cause) => new SignerUnavailable({ cause }) })
    })),
    // A key that was published stays so: while the store is out of reach, what is known of the set is still true.
    keySet: Effect.map(
      current.pipe(
        Effect.timeout(KEY_SET_PATIENCE),
        Effect.catch(() => Effect.sync(() => view))
      ),
      ({ keys }) => ({ keys: keys.map(({ publicJwk }) => publicJwk) })
    )
  })
})

/**
 * Signs with the key that the store keeps sealed and whose turn it is by the store's clock, and publishes every key that
 * it keeps (part 7): what was signed before a restart or a rotation still verifies. Rotations are seen without a restart:
 * the records are read again when they are needed and `VIEW_LIFETIME_SECONDS` old.
 */
export const layer: Layer.Layer<
  Signer,
  SigningKeyInvalid | SealBroken | StoreUnavailable,
  SigningKeyRecords | SecretSealer
> = Layer.effect(Signer, makeSigner)
