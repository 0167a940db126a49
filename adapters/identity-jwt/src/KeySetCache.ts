import { IdentityKeysUnavailable } from "@svc/domain/ports/IdentityVerifier"
import { type Moment, mostPassed, thisMoment } from "@svc/domain/ports/Moment"
import { NANOS_PER_SECOND, type Nanos } from "@svc/protocol/Timestamp"
import { Clock, Effect, Result, Semaphore } from "effect"
import { type IdentityKeySet, selectKey } from "./IdentityKey.ts"
import type { ResolveKeys } from "./IdentityVerifierJose.ts"

/** How long a fetched key set serves: 5 minutes (part 6). */
export const KEY_SET_LIFETIME_SECONDS = 300
/** How long an unknown `kid` fetches nothing after the last fetch: 30 s (part 6). */
export const UNKNOWN_KID_PAUSE_SECONDS = 30
/** How long nothing is fetched after a fetch that failed, in seconds. */
export const FAILURE_PAUSE_SECONDS = 5
/** Most key sets that are kept; the one that was kept first makes room. */
export const MAX_KEY_SETS = 10_000

/** Gets the key set at an address, at most once for each time it is run. */
export type FetchKeySet = (jwksUri: string) => Effect.Effect<IdentityKeySet, unknown>

/** A reading of the monotonic clock: how long it has run. */
type MonotonicTime = Nanos

interface Entry {
  /** One fetch at a time; those who waited use its result. */
  readonly turn: Semaphore.Semaphore
  fetched: { readonly keySet: IdentityKeySet; readonly at: Moment } | undefined
  /** When the last fetch began or, if it failed, when it ended and why. */
  attempted: { readonly at: MonotonicTime; readonly failure?: unknown } | undefined
}

const isWithin = (seconds: number, since: MonotonicTime | undefined, now: MonotonicTime): boolean =>
  since !== undefined && now - since < BigInt(seconds) * NANOS_PER_SECOND

const isUnknown = (keySet: IdentityKeySet, kid: string | undefined): boolean => {
  const selected = selectKey(keySet, kid)
  return Result.isFailure(selected) && selected.failure === "key_unknown"
}

const unavailable = (cause: unknown): IdentityKeysUnavailable =>
  new IdentityKeysUnavailable({ cause, retryAfterSeconds: FAILURE_PAUSE_SECONDS })

/** Whether the set that was fetched serves still, also after the machine was suspended. */
const serves = ({ fetched }: Entry, now: Moment): boolean =>
  fetched !== undefined && mostPassed(fetched.at, now) < BigInt(KEY_SET_LIFETIME_SECONDS) * NANOS_PER_SECOND

const fetchInto = (entry: Entry, fetch: Effect.Effect<IdentityKeySet, unknown>, at: Moment) =>
  Effect.suspend(() => {
    entry.attempted = { at: at.monotonic }
    return fetch.pipe(
      Effect.tap((keySet) =>
        Effect.sync(() => {
          entry.fetched = { keySet, at }
        })
      ),
      Effect.tapError((failure) =>
        Effect.map(Clock.monotonicTimeNanos, (failedAt) => {
          entry.attempted = { at: failedAt, failure }
        })
      ),
      Effect.mapError(unavailable)
    )
  })

const resolveFrom = Effect.fnUntraced(function* (
  entry: Entry,
  fetch: Effect.Effect<IdentityKeySet, unknown>,
  kid: string | undefined
): Effect.fn.Return<IdentityKeySet, IdentityKeysUnavailable> {
  const moment = yield* thisMoment
  const now = moment.monotonic
  const { attempted, fetched } = entry
  const hasFailed = attempted !== undefined && "failure" in attempted
  const cached = serves(entry, moment) ? fetched?.keySet : undefined
  if (cached !== undefined && !isUnknown(cached, kid)) return cached
  const pause = cached === undefined ? FAILURE_PAUSE_SECONDS : UNKNOWN_KID_PAUSE_SECONDS
  if (!isWithin(pause, attempted?.at, now)) return yield* fetchInto(entry, fetch, moment)
  if (hasFailed) return yield* unavailable(attempted.failure)
  return cached ?? (yield* fetchInto(entry, fetch, moment))
})

/**
 * Keeps the key sets of organizations (part 6): each serves 5 minutes, for its organization and address alone, and a
 * `kid` that it lacks fetches it again, at most every 30 s. One fetch runs at a time for each.
 *
 * A set that cannot be fetched again serves until its 5 minutes are over and no longer, so that blocking the address cannot
 * keep a withdrawn key alive. After that, and for a `kid` that the set which could not be fetched may hold, look-ups fail
 * with `IdentityKeysUnavailable`; a failed fetch is not repeated for 5 s (30 s while the old set serves).
 */
export const cachedKeySets = (fetch: FetchKeySet): ResolveKeys => {
  const entries = new Map<string, Entry>()
  const entryOf = (name: string): Entry => {
    const known = entries.get(name)
    if (known !== undefined) return known
    const [eldest] = entries.keys()
    if (eldest !== undefined && entries.size >= MAX_KEY_SETS) entries.delete(eldest)
    const entry: Entry = { turn: Semaphore.makeUnsafe(1), fetched: undefined, attempted: undefined }
    entries.set(name, entry)
    return entry
  }
  return ({ organization, jwksUri, kid }) =>
    Effect.suspend(() => {
      const entry = entryOf(JSON.stringify([organization, jwksUri]))
      return entry.turn.withPermit(resolveFrom(entry, fetch(jwksUri), kid))
    })
}
