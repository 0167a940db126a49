import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Context, Effect, Exit, Layer } from "effect"
import { makeLeastRecentlySet } from "../engine/LeastRecentlySet.ts"
import { isActiveApiKey } from "../organization/ApiKey.ts"
import type { ApiKey, Organization } from "../organization/Organization.ts"
import type { StoreUnavailable } from "../ports/MandateStore.ts"
import { type Moment, mostPassed, thisMoment } from "../ports/Moment.ts"
import { type FoundApiKey, Organizations } from "../ports/Organizations.ts"
import type { ApiKeyInvalid, BillingAccountRequired } from "../Refusals.ts"

/**
 * How long a look-up that let somebody in is remembered, in seconds since it was sent. A revocation acts within 5 s in every
 * process (part 9), and some of them belong to the requests themselves: one that was let in waits for its body without
 * another look-up for up to 1 s.
 */
export const API_KEY_CACHE_SECONDS = 2n

/** How many keys are remembered. */
const MAX_REMEMBERED = 10_000

/** A key that lets its caller in, and for whom. */
export interface KeyHolder {
  readonly apiKey: ApiKey
  readonly organization: Organization
}

/** Look-ups of API keys in one process that let somebody in, by the hash of the key. */
export interface KeyLookUps {
  /** What a look-up found that is still good: recent, of a key that has certainly not expired since. */
  readonly recent: (hash: string) => Effect.Effect<KeyHolder | undefined>
  /**
   * Looks a key up, and remembers what is found. What is refused or fails is not remembered, so that the next request asks the
   * store again, and nobody fills the memory with guesses.
   */
  readonly remembering: <R>(
    hash: string,
    lookUp: Effect.Effect<FoundApiKey, ApiKeyInvalid | BillingAccountRequired | StoreUnavailable, R>
  ) => Effect.Effect<FoundApiKey, ApiKeyInvalid | BillingAccountRequired | StoreUnavailable, R>
  /** Forgets all, also what look-ups under way will find. */
  readonly forget: () => void
}

/** A look-up that has been sent. */
interface Sent {
  readonly at: Moment
  /** Another that was sent later has been answered, or the records have changed since: its answer may be no longer true. */
  isOvertaken: boolean
}

const remembersNothing: KeyLookUps = {
  recent: () => Effect.undefined,
  remembering: (_hash, lookUp) => lookUp,
  forget: () => undefined
}

export const makeKeyLookUps = (): KeyLookUps => {
  let remembered = makeLeastRecentlySet<{ readonly found: FoundApiKey; readonly sentAt: Moment }>(
    MAX_REMEMBERED
  )
  /** In the order in which they were sent. */
  const underWay = new Map<string, Set<Sent>>()

  const send = (hash: string): Effect.Effect<Sent> =>
    Effect.map(thisMoment, (at) => {
      const sent: Sent = { at, isOvertaken: false }
      underWay.set(hash, (underWay.get(hash) ?? new Set()).add(sent))
      return sent
    })

  const leave = (hash: string, sent: Sent): void => {
    const others = underWay.get(hash)!
    others.delete(sent)
    if (others.size === 0) underWay.delete(hash)
  }

  const overtakeEarlier = (hash: string, sent: Sent): void => {
    for (const other of underWay.get(hash)!) {
      if (other === sent) return
      other.isOvertaken = true
    }
  }

  return {
    recent: (hash) =>
      Effect.map(thisMoment, (now) => {
        const one = remembered.get(hash)
        if (one === undefined) return undefined
        const { found, sentAt } = one
        const age = mostPassed(sentAt, now)
        // The store read its clock after the look-up was sent, so its clock shows at most this; it decides about the rest.
        const latest = found.now + age
        if (age < API_KEY_CACHE_SECONDS * NANOS_PER_SECOND && isActiveApiKey(found.apiKey, latest)) {
          return { apiKey: found.apiKey, organization: found.organization }
        }
        remembered.delete(hash)
        return undefined
      }),
    remembering: (hash, lookUp) =>
      Effect.acquireUseRelease(
        send(hash),
        () => lookUp,
        (sent, exit) =>
          Effect.sync(() => {
            const isAnswer = Exit.isSuccess(exit) || isRefusal(exit)
            if (isAnswer) overtakeEarlier(hash, sent)
            leave(hash, sent)
            if (!isAnswer || sent.isOvertaken) return
            if (Exit.isSuccess(exit)) remembered.set(hash, { found: exit.value, sentAt: sent.at })
            else remembered.delete(hash)
          })
      ),
    forget: () => {
      remembered = makeLeastRecentlySet(MAX_REMEMBERED)
      for (const sent of underWay.values()) for (const one of sent) one.isOvertaken = true
    }
  }
}

/** Whether the store has answered, and its answer lets nobody in. */
const isRefusal = ({
  cause
}: Exit.Failure<FoundApiKey, ApiKeyInvalid | BillingAccountRequired | StoreUnavailable>): boolean =>
  cause.reasons.every((reason) => reason._tag === "Fail" && reason.error._tag !== "StoreUnavailable")

/**
 * The look-ups of API keys that this process remembers; by default none, so every request asks the store. Services on different
 * stores in one process must not share them: a key of one store is nothing in another.
 */
export class ApiKeyCache extends Context.Reference<KeyLookUps>("@svc/domain/programs/ApiKeyCache", {
  defaultValue: () => remembersNothing
}) {}

/**
 * Remembers look-ups of API keys for the service that is built on this layer. What its own process records of an organization or
 * a key acts at once; `findApiKey` itself asks the store.
 */
export const cachedApiKeys: Layer.Layer<Organizations, never, Organizations> = Layer.effectContext(
  Effect.map(Organizations, (organizations) => {
    const lookUps = makeKeyLookUps()
    // Whatever the outcome: an answer that was lost does not say that nothing was recorded.
    const forget = Effect.sync(lookUps.forget)
    return Context.make(Organizations, {
      ...organizations,
      put: (organization) => Effect.ensuring(organizations.put(organization), forget),
      putApiKey: (apiKey) => Effect.ensuring(organizations.putApiKey(apiKey), forget)
    }).pipe(Context.add(ApiKeyCache, lookUps))
  })
)
