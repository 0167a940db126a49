import { DueLeases } from "@svc/domain/ports/DueLeases"
import { EventFeed } from "@svc/domain/ports/EventFeed"
import {
  type Appended,
  type ClaimTaken,
  MandateStore,
  type OutOfTime,
  type Stale,
  StoreUnavailable,
  type StreamChange
} from "@svc/domain/ports/MandateStore"
import { Organizations } from "@svc/domain/ports/Organizations"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import { StoreCleaning } from "@svc/domain/ports/StoreCleaning"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import type { Instant } from "@svc/protocol/Timestamp"
import { MemoryState } from "@svc/store-memory/MemoryState"
import { storagePortsOn } from "@svc/store-memory/MemoryStore"
import type { GroupOutcome } from "@svc/store-postgres/append/AppendLanes"
import { Clock, Context, Effect, Exit, References } from "effect"
import type { Micros } from "../time/Micros.ts"
import type { SimulatedTime } from "../time/SimulatedTime.ts"

const NANOS_PER_MICRO = 1000n

export type AppendExit = Exit.Exit<Appended, Stale | OutOfTime | ClaimTaken | StoreUnavailable>
type Query<Service, Method extends keyof Service> = Service[Method] extends (query: infer Q) => unknown
  ? Q
  : never
type Answer<Service, Method extends keyof Service> = Service[Method] extends (
  query: never
) => Effect.Effect<infer A, infer E>
  ? Exit.Exit<A, E>
  : never
type Webhooks = WebhookStore["Service"]

/** Another server took over, and its operator acknowledged that. */
export interface Takeover {
  readonly isTailLost: boolean
  /** Endpoints and subjects are given no lesser revision from now on, as by `next_revision` of the Postgres store. */
  readonly revisionsFrom: number
}

/** Told of what the store has done, in the same step. */
export interface StoreWatch {
  readonly appended: (change: StreamChange, exit: AppendExit) => void
  readonly leased: (query: Query<Webhooks, "leaseDue">, exit: Answer<Webhooks, "leaseDue">) => void
  readonly recorded: (
    ended: Query<Webhooks, "recordAttempts">,
    exit: Answer<Webhooks, "recordAttempts">
  ) => void
  readonly endpointChanged: (
    change: Query<Webhooks, "changeEndpoint">,
    exit: Answer<Webhooks, "changeEndpoint">
  ) => void
  readonly deliveryAdded: (
    addition: Query<Webhooks, "addDelivery">,
    exit: Answer<Webhooks, "addDelivery">
  ) => void
  readonly subjectReplaced: (
    change: Query<SubjectStore["Service"], "replace">,
    exit: Answer<SubjectStore["Service"], "replace">
  ) => void
  readonly replicated: () => void
  /** Another server has taken over, without what was recorded since it was replicated if `isTailLost`. */
  readonly failedOver: (takeover: Takeover) => void
}

/** The ports on one state. */
export interface StorePorts {
  readonly mandates: MandateStore["Service"]
  readonly feed: EventFeed["Service"]
  readonly subjects: SubjectStore["Service"]
  readonly organizations: Organizations["Service"]
  readonly dueLeases: DueLeases["Service"]
  readonly webhooks: Webhooks
  readonly cleaning: StoreCleaning["Service"]
}

const portsOn = (state: MemoryState): StorePorts => {
  const context: Context.Context<StoragePorts> = storagePortsOn(state)
  return {
    mandates: Context.get(context, MandateStore),
    feed: Context.get(context, EventFeed),
    subjects: Context.get(context, SubjectStore),
    organizations: Context.get(context, Organizations),
    dueLeases: Context.get(context, DueLeases),
    webhooks: Context.get(context, WebhookStore),
    cleaning: Context.get(context, StoreCleaning)
  }
}

const byStream = (left: StreamChange, right: StreamChange): number =>
  `${left.organization} ${left.mandate}` < `${right.organization} ${right.mandate}` ? -1 : 1

/** The one store that all processes share, a memory store with a clock of its own, and its replica. */
export class StoreServer {
  isUp = true
  /** Counts takeovers: what was sent to an earlier server does not arrive. */
  generation = 0
  /** How far its wall clock is from the simulated time. */
  clockOffset: Micros = 0
  ports: StorePorts
  #state = new MemoryState()
  #replica: MemoryState | undefined
  readonly #time: SimulatedTime
  readonly #watch: StoreWatch
  readonly #run: <A, E>(effect: Effect.Effect<A, E>) => Exit.Exit<A, E>

  constructor(time: SimulatedTime, watch: StoreWatch) {
    this.#time = time
    this.#watch = watch
    this.ports = portsOn(this.#state)
    const nanos = (): Instant => this.#wall
    const clock: Clock.Clock = {
      currentTimeMillisUnsafe: () => Number(nanos() / 1_000_000n),
      currentTimeMillis: Effect.sync(() => Number(nanos() / 1_000_000n)),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: nanos,
      monotonicTimeNanos: Effect.sync(nanos),
      sleep: () => Effect.die(new Error("the store does not sleep"))
    }
    this.#run = Effect.runSyncExitWith(
      Context.make(Clock.Clock, clock).pipe(Context.add(References.TracerEnabled, false))
    )
  }

  get #wall(): Instant {
    return BigInt(this.#time.now + this.clockOffset) * NANOS_PER_MICRO
  }

  /** The store's clock, which never turns back. */
  get clock(): Instant {
    return this.#state.advance(this.#wall)
  }

  /** Carries out an operation that nobody needs to be told of. */
  run<A, E>(operation: (ports: StorePorts) => Effect.Effect<A, E>): Exit.Exit<A, E> {
    return this.#run(operation(this.ports))
  }

  append(change: StreamChange): AppendExit {
    const exit = this.#run(this.ports.mandates.append(change))
    this.#watch.appended(change, exit)
    return exit
  }

  /**
   * What the Postgres store's `append_changes` does: each change entirely or not at all, in the order of their streams, and
   * `alone` where another session has locked the stream or a claim is taken.
   */
  appendTogether(
    changes: ReadonlyArray<StreamChange>,
    isLocked: (change: StreamChange) => boolean
  ): ReadonlyArray<GroupOutcome> {
    const outcomes = new Map<StreamChange, GroupOutcome>()
    for (const change of changes.toSorted(byStream)) {
      const exit = isLocked(change) ? undefined : this.append(change)
      const isRefused = exit !== undefined && Exit.isFailure(exit) && !isPlainRefusal(exit)
      outcomes.set(change, exit === undefined || isRefused ? "alone" : exit)
    }
    return changes.map((change) => outcomes.get(change)!)
  }

  leaseDue(query: Query<Webhooks, "leaseDue">): Answer<Webhooks, "leaseDue"> {
    const exit = this.#run(this.ports.webhooks.leaseDue(query))
    this.#watch.leased(query, exit)
    return exit
  }

  recordAttempts(ended: Query<Webhooks, "recordAttempts">): Answer<Webhooks, "recordAttempts"> {
    const exit = this.#run(this.ports.webhooks.recordAttempts(ended))
    this.#watch.recorded(ended, exit)
    return exit
  }

  changeEndpoint(change: Query<Webhooks, "changeEndpoint">): Answer<Webhooks, "changeEndpoint"> {
    const exit = this.#run(this.ports.webhooks.changeEndpoint(change))
    this.#watch.endpointChanged(change, exit)
    return exit
  }

  addDelivery(addition: Query<Webhooks, "addDelivery">): Answer<Webhooks, "addDelivery"> {
    const exit = this.#run(this.ports.webhooks.addDelivery(addition))
    this.#watch.deliveryAdded(addition, exit)
    return exit
  }

  replaceSubject(
    change: Query<SubjectStore["Service"], "replace">
  ): Answer<SubjectStore["Service"], "replace"> {
    const exit = this.#run(this.ports.subjects.replace(change))
    this.#watch.subjectReplaced(change, exit)
    return exit
  }

  /** Brings the replica up to date. What is recorded from now on is lost if the next takeover loses the tail. */
  replicate(): void {
    this.#replica = this.#state.copy()
    this.#watch.replicated()
  }

  /** The replica takes over. Connections to the old server break, whatever became of their statements. */
  failOver(isTailLost: boolean): void {
    this.generation += 1
    this.isUp = true
    if (isTailLost && this.#replica !== undefined) {
      this.#state = this.#replica
      this.#replica = undefined
    } else this.#state = this.#state.copy()
    this.ports = portsOn(this.#state)
    const revisionsFrom = Number(this.clock / NANOS_PER_MICRO)
    this.#state.revisionsFrom = revisionsFrom
    this.#watch.failedOver({ isTailLost, revisionsFrom })
  }
}

const PLAIN_REFUSALS = new Set(["Stale", "OutOfTime"])

const isPlainRefusal = (exit: Exit.Failure<Appended, { readonly _tag: string }>): boolean =>
  exit.cause.reasons.every((reason) => reason._tag === "Fail" && PLAIN_REFUSALS.has(reason.error._tag))

export const unavailable = (cause: string): Exit.Exit<never, StoreUnavailable> =>
  Exit.fail(new StoreUnavailable({ cause }))
