import { sharedRun } from "@svc/domain/engine/SharedRun"
import { DueLeases } from "@svc/domain/ports/DueLeases"
import { EventFeed } from "@svc/domain/ports/EventFeed"
import { MandateStore, StoreUnavailable } from "@svc/domain/ports/MandateStore"
import type { Organizations } from "@svc/domain/ports/Organizations"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { type DatabaseIdentity, type HistoryState, StoreHistory } from "@svc/domain/ports/StoreHistory"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Clock, Context, Effect, type Scope } from "effect"
import { historyUnacknowledged } from "./PostgresHistory.ts"

/** How often a process looks by itself, so that a change is told while nobody asks for anything. */
const LOOK_INTERVAL = "1 second"

/** How old what was seen may be when something is recorded, in seconds. */
const SIGHT_LIFETIME_SECONDS = 2n

/** What `GET /readyz` says until an operator has acknowledged the change. */
export const HISTORY_FAULT =
  "The history of the store changed: the database is another one, or lost what was recorded last. Nothing is decided or recorded until an operator has acknowledged it with svc store acknowledge-history (with --restored, where the database is an earlier one that knows of no change)."

const told = ({ cluster = "unknown", timeline = "unknown" }: DatabaseIdentity): string =>
  `${cluster}/${timeline}`

/** Tells each change once, and once that it was acknowledged. */
const makeReport = () => {
  let last: string | undefined
  return ({ found, history, isAcknowledged, known }: HistoryState): Effect.Effect<void> => {
    const change = isAcknowledged ? undefined : `${history} ${told(found)}`
    if (change === last) return Effect.void
    last = change
    return Effect.annotateLogs(
      isAcknowledged
        ? Effect.logInfo("the change of the store's history is acknowledged")
        : Effect.logError(
            "the history of the store changed: nothing is decided or recorded until svc store acknowledge-history"
          ),
      { history, recorded_on: told(known), found_on: told(found) }
    )
  }
}

type GuardedPorts = Exclude<StoragePorts, Organizations> | StoreHistory

interface Watch {
  readonly state: Effect.Effect<HistoryState, StoreUnavailable>
  /** Fails while a change is unacknowledged, and when nobody knows whether there is one. */
  readonly demand: Effect.Effect<void, StoreUnavailable>
  /** What failed may have met another database: the next to record something looks again. */
  readonly forget: Effect.Effect<void>
}

const makeWatch = (
  history: StoreHistory["Service"],
  { isEmbedded, scope }: { readonly isEmbedded: boolean; readonly scope: Scope.Scope }
): Watch => {
  const report = makeReport()
  let soundAt: bigint | undefined
  const forget = Effect.sync(() => {
    soundAt = undefined
  })
  // The last history that this process saw go on, and the one that it found where the store had never had that.
  let goesOn: string | undefined
  let wentBackTo: string | undefined
  /** A database that was the store once, such as an old primary, has nothing to hold against itself: it lacks what came after. */
  const judged = (seen: HistoryState): HistoryState => {
    if (seen.hasKnown) wentBackTo = undefined
    else wentBackTo ??= seen.history
    const isAcknowledged = seen.isAcknowledged && seen.history !== wentBackTo
    if (isAcknowledged) goesOn = seen.history
    return { ...seen, isAcknowledged }
  }
  const state = Effect.gen(function* () {
    // As of before the question, since the answer is no younger than that.
    const at = yield* Clock.monotonicTimeNanos
    const seen = judged(yield* history.state(goesOn))
    soundAt = seen.isAcknowledged ? at : undefined
    yield* report(seen)
    return seen
  }).pipe(Effect.tapError(() => forget))
  // One look serves all who wait to record something.
  const sharedState = sharedRun(state, scope)
  // An embedded database cannot become another one while it is open.
  const isFresh = (now: bigint): boolean =>
    soundAt !== undefined && (isEmbedded || now - soundAt < SIGHT_LIFETIME_SECONDS * NANOS_PER_SECOND)
  const demand = Effect.flatMap(Clock.monotonicTimeNanos, (now) =>
    isFresh(now)
      ? Effect.void
      : Effect.flatMap(sharedState, ({ isAcknowledged }) =>
          isAcknowledged ? Effect.void : historyUnacknowledged
        )
  )
  return { state, demand, forget }
}

/**
 * What records something and what gives positions, behind the watch. Ends of webhook attempts and of leases are let
 * through: they decide nothing.
 */
const withWatch = <Others>(
  ports: Context.Context<GuardedPorts | Others>,
  { demand, forget, state }: Watch
): Context.Context<GuardedPorts | Others> => {
  const guard =
    <Query, A, E>(operation: (query: Query) => Effect.Effect<A, E | StoreUnavailable>) =>
    (query: Query): Effect.Effect<A, E | StoreUnavailable> =>
      Effect.tapError(
        Effect.flatMap(demand, () => operation(query)),
        (error) => (error instanceof StoreUnavailable ? forget : Effect.void)
      )
  const mandates = Context.get(ports, MandateStore)
  const feed = Context.get(ports, EventFeed)
  const subjects = Context.get(ports, SubjectStore)
  const leases = Context.get(ports, DueLeases)
  const webhooks = Context.get(ports, WebhookStore)
  const health = Context.get(ports, StoreHealth)
  return ports.pipe(
    Context.add(MandateStore, { ...mandates, append: guard(mandates.append) }),
    Context.add(EventFeed, { read: guard(feed.read) }),
    Context.add(SubjectStore, { ...subjects, replace: guard(subjects.replace) }),
    Context.add(DueLeases, { ...leases, take: guard(leases.take) }),
    Context.add(WebhookStore, {
      ...webhooks,
      changeEndpoint: guard(webhooks.changeEndpoint),
      addDelivery: guard(webhooks.addDelivery),
      leaseDue: guard(webhooks.leaseDue)
    }),
    Context.add(StoreHealth, {
      faults: Effect.gen(function* () {
        const faults = yield* health.faults
        return (yield* state).isAcknowledged ? faults : [...faults, HISTORY_FAULT]
      })
    })
  )
}

/**
 * The ports, which notice that the database's history is not the one that was acknowledged: at once, and while they are
 * in use. From then on nothing is decided or recorded, until an operator says what was lost: spending that is forgotten
 * could be allowed a second time, and what is written could be in the way of the history that is to go on.
 */
export const guardHistory = <Others>(
  ports: Context.Context<GuardedPorts | Others>,
  isEmbedded: boolean
): Effect.Effect<Context.Context<GuardedPorts | Others>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const watch = makeWatch(Context.get(ports, StoreHistory), { isEmbedded, scope })
    // A store that is out of reach is told of by whoever needs it.
    const look = Effect.ignore(watch.state)
    yield* look
    if (!isEmbedded)
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(LOOK_INTERVAL), look)))
    return withWatch(ports, watch)
  })
