import { sharedRun } from "@svc/domain/engine/SharedRun"
import type { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { SealBroken, type SecretSealer } from "@svc/domain/ports/SecretSealer"
import { Signer, SignerUnavailable } from "@svc/domain/ports/Signer"
import {
  isWithdrawn,
  type SigningKeyList,
  SigningKeyRecords,
  signingKeyAt
} from "@svc/domain/ports/SigningKeyRecords"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { formatInstant, type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Clock, Context, Effect, Exit, Layer, Option } from "effect"
import { makeOpenedSigningKeys, type SigningTurn } from "./OpenedSigningKeys.ts"
import { readPublished, type SigningKeyInvalid } from "./SigningKey.ts"
import { makeSigningKey, openSigningKey } from "./StoredSigningKey.ts"

/** How old a view of the records may be, in seconds: so long after a change a process may publish the key set before. */
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

const hasRetired = ({ keys, now }: View): boolean => {
  const from = signingKeyAt(keys, now)?.signsFrom ?? 0n
  return keys.some(
    ({ sealed, signsFrom }) => sealed !== undefined && signsFrom !== undefined && signsFrom < from
  )
}

const unavailable = Effect.mapError(
  (cause: StoreUnavailable | SealBroken | SigningKeyInvalid) => new SignerUnavailable({ cause })
)

/** What `GET /readyz` says of a process that cannot open the key whose turn it is. */
const UNOPENED = "The master key does not open the signing key whose turn it is:"

/** The health of the store, and whether this process can sign as the store says. */
const withTurn = (
  store: StoreHealth["Service"],
  turn: Effect.Effect<SigningTurn, StoreUnavailable | SealBroken | SigningKeyInvalid>
): StoreHealth["Service"] => ({
  faults: Effect.gen(function* () {
    const faults = yield* store.faults
    const fault = yield* turn.pipe(
      Effect.map(({ isStandIn }) => (isStandIn ? [`${UNOPENED} the one before it signs.`] : [])),
      Effect.catchTag(["SealBroken", "SigningKeyInvalid"], () =>
        Effect.succeed([`${UNOPENED} no evidence is signed.`])
      )
    )
    return [...faults, ...fault]
  })
})

/** Warns of every key, once, that is yet to sign and that this process will not be able to open. */
const makePendingWarning = () => {
  const told = new Set<string>()
  return Effect.fnUntraced(function* ({ keys, now }: View) {
    for (const record of keys) {
      const { kid } = record.publicJwk
      if (record.signsFrom === undefined || record.signsFrom <= now || told.has(kid)) continue
      const attempt = yield* Effect.exit(openSigningKey(record))
      if (Exit.isSuccess(attempt)) continue
      told.add(kid)
      yield* Effect.annotateLogs(
        Effect.logWarning("the master key does not open the signing key that is to sign next"),
        { kid, signs_from: formatInstant(record.signsFrom) }
      )
    }
  })
}

const makeSigner = Effect.gen(function* () {
  const context = yield* Effect.context<SigningKeyRecords | SecretSealer>()
  const records = yield* SigningKeyRecords
  const scope = yield* Effect.scope
  const opened = makeOpenedSigningKeys()
  const warnOfPending = makePendingWarning()
  let view = yield* firstView

  const isFresh = Effect.map(
    Clock.monotonicTimeNanos,
    (now) => now - view.readAt < VIEW_LIFETIME_SECONDS * NANOS_PER_SECOND
  )
  const readAgain = Effect.gen(function* () {
    const seen = yield* readView
    // Of two readings at once the earlier one may end last.
    if (seen.now >= view.now) view = seen
    yield* warnOfPending(seen)
    // What cannot sign any more is of use to a thief alone. But a process that cannot open what signs now does not
    // know whether any can: it leaves the keys before, since they may be all that there is to sign with.
    const turn = hasRetired(seen) ? yield* Effect.option(opened.inTurn(seen.keys, seen.now)) : Option.none()
    if (Option.isSome(turn) && !turn.value.isStandIn) {
      // Another process may be faster, or this one try again.
      yield* Effect.ignore(records.forgetBefore(turn.value.key.published.kid))
    }
    return seen
  }).pipe(Effect.provideContext(context))
  // One reading serves all who wait.
  const refresh = sharedRun(readAgain, scope)
  const current = Effect.suspend(() =>
    Effect.flatMap(isFresh, (fresh) => (fresh ? Effect.succeed(view) : refresh))
  )

  const turnIn = (views: Effect.Effect<View, StoreUnavailable | SigningKeyInvalid>) =>
    Effect.gen(function* () {
      const seen = yield* views
      return yield* opened.inTurn(seen.keys, storeClock(seen, yield* Clock.monotonicTimeNanos))
    }).pipe(Effect.provideContext(context))
  const turn = turnIn(current)
  // A master key that does not open what signs now is to stop the start, not the first evidence.
  if ((yield* turn).isStandIn) return yield* new SealBroken({ purpose: "signing_key" })

  const signer = Signer.of({
    // Read anew each time: what a key signs after it was withdrawn would not verify.
    current: Effect.map(unavailable(turnIn(readAgain)), ({ key: { published, sign } }) => ({
      kid: published.kid,
      sign: (data) =>
        Effect.try({ try: () => sign(data), catch: (cause) => new SignerUnavailable({ cause }) })
    })),
    // While the store is out of reach, what is known of the set is the best that there is.
    keySet: Effect.map(
      current.pipe(
        Effect.timeout(KEY_SET_PATIENCE),
        Effect.catch(() => Effect.sync(() => view))
      ),
      ({ keys }) => ({
        keys: keys.filter((key) => !isWithdrawn(key)).map(({ publicJwk }) => publicJwk)
      })
    )
  })
  return Context.make(Signer, signer).pipe(Context.add(StoreHealth, withTurn(yield* StoreHealth, turn)))
})

/**
 * Signs with the key that the store keeps sealed and whose turn it is by the store's clock, and publishes every key that
 * was not withdrawn (part 7): what was signed before a restart or a rotation still verifies. Changes are seen without a
 * restart: the records are read for each signature, and for the key set when they are `VIEW_LIFETIME_SECONDS` old. The health of the store includes
 * that the key whose turn it is can be opened.
 */
export const layer: Layer.Layer<
  Signer | StoreHealth,
  SigningKeyInvalid | SealBroken | StoreUnavailable,
  SigningKeyRecords | SecretSealer | StoreHealth
> = Layer.effectContext(makeSigner)
