import { sharedRun } from "@svc/domain/engine/SharedRun"
import { DueLeases } from "@svc/domain/ports/DueLeases"
import { EndedMandates } from "@svc/domain/ports/EndedMandates"
import { EventFeed } from "@svc/domain/ports/EventFeed"
import { MandateStore, StoreUnavailable, type StreamChange } from "@svc/domain/ports/MandateStore"
import type { Organizations } from "@svc/domain/ports/Organizations"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import { StoreCleaning } from "@svc/domain/ports/StoreCleaning"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { type DatabaseIdentity, type HistoryState, StoreHistory } from "@svc/domain/ports/StoreHistory"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { WaitingDeliveries } from "@svc/domain/ports/WaitingDeliveries"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import { NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Clock, Context, Effect, type Scope } from "effect"
import type { PostgresClients } from "../connection/PostgresClients.ts"
import { untilClosed } from "../connection/StoreFault.ts"
import { admissionBy, historyUnacknowledged } from "./PostgresHistory.ts"
import { type MissingHead, makeMissingHeads, makeRecordedHeads, type RecordedHeads } from "./RecordedHeads.ts"

/** How often a process checks the history by itself, so that a change is logged even without requests. */
const CHECK_INTERVAL = "1 second"

/** How old the last check may be when something is recorded, in seconds. */
const CHECK_LIFETIME_SECONDS = 2n

/** What `GET /readyz` says until an operator has acknowledged the change. */
export const HISTORY_FAULT =
  "The history of the store changed: the database is another one, or lost what was recorded last. Nothing is decided or recorded until an operator has acknowledged it with svc store acknowledge-history (with --restored, where the database is an earlier one that knows of no change)."

/** Mandates that lack acknowledged events and are logged, each on a line of its own. */
const LOGGED_MANDATES = 100

/** What a process can say of what it acknowledged itself. */
const comparisonText = ({ compared, missing }: Comparison): string =>
  compared === 0
    ? ""
    : ` Of the ${compared} mandates that this process recorded to last, ${missing === 0 ? "none lacks" : `${missing} lack`} acknowledged events${missing === 0 ? "." : ": its log names them."}`

interface Comparison {
  readonly compared: number
  readonly missing: number
}

const logMissing = (compared: number, missing: ReadonlyArray<MissingHead>): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (const { event, found, mandate, organization, seq } of missing.slice(0, LOGGED_MANDATES)) {
      yield* Effect.annotateLogs(
        Effect.logError("acknowledged events of a mandate are missing from the store"),
        {
          organization_id: organization,
          mandate_id: mandate,
          acknowledged_events: seq,
          last_event_id: event,
          found_events: found
        }
      )
    }
    const told =
      missing.length === 0
        ? Effect.logWarning(
            "of the mandates that this process recorded to last, none lacks acknowledged events"
          )
        : Effect.logError("acknowledged events are missing from the store")
    yield* Effect.annotateLogs(told, { mandates_compared: compared, mandates_lacking: missing.length })
  })

const identityText = ({ cluster = "unknown", timeline = "unknown" }: DatabaseIdentity): string =>
  `${cluster}/${timeline}`

/** Logs each change once, and once that it was acknowledged. `onChange` runs after a change was logged. */
const makeReport = (onChange: Effect.Effect<void>) => {
  let last: string | undefined
  return ({ found, history, isAcknowledged, known }: HistoryState): Effect.Effect<void> => {
    const change = isAcknowledged ? undefined : `${history} ${identityText(found)}`
    if (change === last) return Effect.void
    last = change
    const told = Effect.annotateLogs(
      isAcknowledged
        ? Effect.logInfo("the change of the store's history is acknowledged")
        : Effect.logError(
            "the history of the store changed: nothing is decided or recorded until svc store acknowledge-history"
          ),
      { history, recorded_on: identityText(known), found_on: identityText(found) }
    )
    return isAcknowledged ? told : Effect.andThen(told, onChange)
  }
}

type GuardedPorts = Exclude<StoragePorts, Organizations> | StoreHistory | EndedMandates | WaitingDeliveries

interface Watch {
  readonly state: Effect.Effect<HistoryState, StoreUnavailable>
  /** Fails while a change is unacknowledged, or when the store cannot say whether there is one. */
  readonly demand: Effect.Effect<void, StoreUnavailable>
  /** Makes the next write check the history again; used after a failure, which may come from another database. */
  readonly forget: Effect.Effect<void>
  /** The acknowledged history that was seen last. */
  readonly lastSeen: () => string | undefined
  /** What the comparison with what this process acknowledged gave, while a change is unacknowledged. */
  readonly comparison: () => Comparison
  /** Judges what was asked elsewhere. */
  readonly judge: (seen: HistoryState) => boolean
}

interface WatchOptions {
  readonly isEmbedded: boolean
  /** How many acknowledged ends of mandates are remembered, and those that the store does not have. */
  readonly missing: Effect.Effect<
    { readonly compared: number; readonly lacking: ReadonlyArray<MissingHead> },
    StoreUnavailable
  >
  readonly scope: Scope.Scope
}

const makeWatch = (history: StoreHistory["Service"], { isEmbedded, missing, scope }: WatchOptions): Watch => {
  let comparison: Comparison = { compared: 0, missing: 0 }
  // Once for each change. A store that cannot say it is asked again by the operator.
  const compare = Effect.ignore(
    Effect.tap(missing, ({ compared, lacking }) => {
      comparison = { compared, missing: lacking.length }
      return compared === 0 ? Effect.void : logMissing(compared, lacking)
    })
  )
  const report = makeReport(compare)
  let acknowledgedAt: bigint | undefined
  const forget = Effect.sync(() => {
    acknowledgedAt = undefined
  })
  // The last acknowledged history that this process saw, and the one of a database that never had it.
  let lastSeenHistory: string | undefined
  let revertedTo: string | undefined
  /**
   * A database that was the store earlier, such as an old primary, holds no sign of what it lacks and reports itself as
   * acknowledged. Only a process that has seen a later history can tell.
   */
  const rejectReverted = (seen: HistoryState): HistoryState => {
    if (seen.hasKnown) revertedTo = undefined
    else revertedTo ??= seen.history
    const isAcknowledged = seen.isAcknowledged && seen.history !== revertedTo
    if (isAcknowledged) lastSeenHistory = seen.history
    return { ...seen, isAcknowledged }
  }
  /** Asked again if another history was seen meanwhile, since the answer does not say whether the database has that one. */
  const ask: Effect.Effect<HistoryState, StoreUnavailable> = Effect.suspend(() => {
    const asked = lastSeenHistory
    return Effect.flatMap(history.state(asked), (seen) =>
      lastSeenHistory === asked || lastSeenHistory === seen.history ? Effect.succeed(seen) : ask
    )
  })
  const state = Effect.gen(function* () {
    // Read before the query, because its result may be as old as that.
    const at = yield* Clock.monotonicTimeNanos
    const seen = rejectReverted(yield* ask)
    acknowledgedAt = seen.isAcknowledged ? at : undefined
    yield* report(seen)
    return seen
  }).pipe(Effect.tapError(() => forget))
  // Concurrent writes share one check.
  const sharedState = untilClosed(sharedRun(state, scope))
  // An embedded database cannot become another one while it is open.
  const isFresh = (now: bigint): boolean =>
    acknowledgedAt !== undefined &&
    (isEmbedded || now - acknowledgedAt < CHECK_LIFETIME_SECONDS * NANOS_PER_SECOND)
  const demand = Effect.flatMap(Clock.monotonicTimeNanos, (now) =>
    isFresh(now)
      ? Effect.void
      : Effect.flatMap(sharedState, ({ isAcknowledged }) =>
          isAcknowledged ? Effect.void : historyUnacknowledged
        )
  )
  return {
    state,
    demand,
    forget,
    comparison: () => comparison,
    lastSeen: () => lastSeenHistory,
    judge: (seen) => rejectReverted(seen).isAcknowledged
  }
}

/**
 * Guards every operation that records or removes something, answers for an idempotency key, or returns positions. Releases of leases are let
 * through, because they decide nothing.
 */
const withWatch = <Others>(
  ports: Context.Context<GuardedPorts | Others>,
  { comparison, demand, forget, state }: Watch,
  heads: RecordedHeads
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
  const cleaning = Context.get(ports, StoreCleaning)
  const health = Context.get(ports, StoreHealth)
  const ended = Context.get(ports, EndedMandates)
  const waiting = Context.get(ports, WaitingDeliveries)
  return ports.pipe(
    Context.add(MandateStore, {
      ...mandates,
      // What a held key answers can be an authorization, which an old primary has though it was lost.
      load: (query) =>
        Effect.tap(mandates.load(query), ({ held }) =>
          held.some(({ kind }) => kind === "idempotency_key") ? demand : Effect.void
        ),
      append: guard((change: StreamChange) =>
        Effect.tap(mandates.append(change), () => Effect.sync(() => heads.note(change)))
      )
    }),
    Context.add(EventFeed, { read: guard(feed.read) }),
    Context.add(SubjectStore, { ...subjects, replace: guard(subjects.replace) }),
    Context.add(DueLeases, { ...leases, take: guard(leases.take) }),
    Context.add(WebhookStore, {
      ...webhooks,
      changeEndpoint: guard(webhooks.changeEndpoint),
      addDelivery: guard(webhooks.addDelivery),
      leaseDue: guard(webhooks.leaseDue),
      recordAttempts: guard(webhooks.recordAttempts)
    }),
    Context.add(StoreCleaning, { clean: guard(cleaning.clean) }),
    Context.add(EndedMandates, { ...ended, remove: guard(ended.remove) }),
    Context.add(WaitingDeliveries, { ...waiting, giveUp: guard(waiting.giveUp) }),
    Context.add(StoreHealth, {
      faults: Effect.gen(function* () {
        const faults = yield* health.faults
        return (yield* state).isAcknowledged
          ? faults
          : [...faults, `${HISTORY_FAULT}${comparisonText(comparison())}`]
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
  isEmbedded: boolean,
  clients?: Pick<PostgresClients, "schema" | "reads" | "server">
): Effect.Effect<Context.Context<GuardedPorts | Others>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const heads = makeRecordedHeads()
    const missingOf = clients === undefined ? undefined : makeMissingHeads(clients)
    const missing = Effect.suspend(() => {
      const noted = missingOf === undefined ? [] : heads.list()
      return Effect.map(missingOf?.(noted) ?? Effect.succeed([]), (lacking) => ({
        compared: noted.length,
        lacking
      }))
    })
    const watch = makeWatch(Context.get(ports, StoreHistory), { isEmbedded, missing, scope })
    // An unreachable store is reported by the operations that need it.
    const look = Effect.ignore(watch.state)
    yield* look
    // Between two looks a new session may be on another database.
    if (clients?.server !== undefined) {
      yield* clients.server.admitBy(admissionBy(clients, watch.lastSeen, watch.judge))
    }
    if (!isEmbedded)
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(CHECK_INTERVAL), look)))
    return withWatch(ports, watch, heads)
  })
