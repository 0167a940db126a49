import { makeSlotSet } from "@svc/domain/engine/SlotSet"
import type { Appended, ClaimTaken, OutOfTime, Stale, StreamChange } from "@svc/domain/ports/MandateStore"
import { StoreUnavailable } from "@svc/domain/ports/MandateStore"
import { Context, Deferred, type Duration, Effect, Exit, Fiber, Option, type Scope, Tracer } from "effect"
import { StoreObserver } from "../connection/StoreObserver.ts"

export type AppendRefusal = Stale | OutOfTime | ClaimTaken | StoreUnavailable

/** The outcome of one change of a group: recorded, refused, or to be retried alone. */
export type GroupOutcome = Exit.Exit<Appended, AppendRefusal> | "alone"

/** How changes that arrive at the same time share statements. */
export interface LaneOptions {
  /** Concurrent statements, unless one takes long. A stream is always on the same lane. */
  readonly lanes: number
  /** Most changes that one statement records. */
  readonly changes: number
}

/** One statement at a time takes in the most changes: with two the same load cost an eighth more. */
export const DEFAULT_LANES: LaneOptions = { lanes: 1, changes: 64 }

/** Most text of one statement, unless a single change has more, in UTF-16 units. */
export const MAX_GROUP_LENGTH = 1_048_576

/**
 * Longest that queued changes wait for the statement under way before they are sent too. That statement may itself be
 * waiting for a lock or for a server that does not respond.
 */
export const LANE_PATIENCE: Duration.Input = "100 millis"

interface Waiting<Written> {
  /** The change as it is sent. */
  readonly written: Written
  /** The stream and the claims, which no two changes of a statement may share. */
  readonly names: ReadonlyArray<string>
  /** Approximate length that it adds to the text of a statement. */
  readonly length: number
  readonly outcome: Deferred.Deferred<Appended, AppendRefusal>
  /** Takes it out of those that are to be told when the store closes. */
  readonly leave: () => void
  /** The span that it was sent from. */
  readonly span: Tracer.AnySpan | undefined
}

interface Lane<Written> {
  waiting: Array<Waiting<Written>>
  isRunning: boolean
  /** How many changes the statement before took. */
  taken: number
}

/** Whether a change may share a statement with others. Those that may not are rare. */
export const mayShare = ({ claims, sessions, subject }: StreamChange): boolean =>
  subject === undefined && sessions.length === 0 && claims.every(({ expiresAt }) => expiresAt === undefined)

const streamOf = ({ mandate, organization }: StreamChange): string => JSON.stringify([organization, mandate])

const namesOf = (change: StreamChange): ReadonlyArray<string> => [
  streamOf(change),
  ...change.claims.map(({ kind, name }) => JSON.stringify([change.organization, kind, name]))
]

/** Characters that a row beside the events takes, about. */
const ROW_LENGTH = 2048

/** About what a change sends, in characters: each event goes as a text and, in its notification, once more. */
const lengthOf = ({ authorizations, events }: StreamChange): number =>
  events.reduce((sum, { text }) => sum + 2 * text.length, 0) + ROW_LENGTH * (1 + authorizations.length)

/**
 * The changes to send next: the first in the queue, and those after it that share no stream or claim with an earlier one.
 * Those of one statement come again together, so that a large one and a small one would alternate for ever, and the database
 * and this process wait for each other in turn: of what both have, each takes half.
 */
const takeGroup = <Written>(lane: Lane<Written>, limit: number): ReadonlyArray<Waiting<Written>> => {
  const most = Math.min(limit, Math.ceil((lane.waiting.length + lane.taken) / 2))
  const taken: Array<Waiting<Written>> = []
  const left: Array<Waiting<Written>> = []
  const names = new Set<string>()
  let length = 0
  for (const entry of lane.waiting) {
    const longer = length + entry.length
    const fits = taken.length < most && (taken.length === 0 || longer <= MAX_GROUP_LENGTH)
    // A stream or claim of a change that stays queued blocks later changes, which keeps their order.
    const isFree = entry.names.every((name) => !names.has(name))
    for (const name of entry.names) names.add(name)
    if (fits && isFree) {
      taken.push(entry)
      length = longer
    } else left.push(entry)
  }
  lane.waiting = left
  lane.taken = taken.length
  return taken
}

const HASH_FACTOR = 31

const laneNumber = ({ mandate }: StreamChange, lanes: number): number => {
  let hash = 0
  for (let at = 0; at < mandate.length; at++) hash = (hash * HASH_FACTOR + mandate.charCodeAt(at)) | 0
  return Math.abs(hash) % lanes
}

/** The statement for a group is part of the trace of its first change, whoever's fiber sends it. */
const withinTraceOf = <A>(
  group: ReadonlyArray<Waiting<unknown>>,
  statement: Effect.Effect<A>
): Effect.Effect<A> => {
  const span = group[0]?.span
  return span === undefined ? statement : Effect.withParentSpan(statement, span)
}

/**
 * Collects the changes that arrive while a statement is under way and sends them in the next one, so that they share a
 * round trip and a commit. A change that finds its lane idle is sent at once, alone.
 */
export const makeLanes = <Written>(
  options: LaneOptions,
  appends: {
    /** Writes a change when it arrives, most often while the database is at work on the statement before. */
    readonly write: (change: StreamChange) => Written
    readonly alone: (written: Written) => Effect.Effect<Appended, AppendRefusal>
    readonly together: (
      changes: ReadonlyArray<Written>
    ) => Effect.Effect<ReadonlyArray<GroupOutcome>, StoreUnavailable>
  }
): Effect.Effect<(change: StreamChange) => Effect.Effect<Appended, AppendRefusal>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const lanes = Array.from(
      { length: options.lanes },
      (): Lane<Written> => ({ waiting: [], isRunning: false, taken: 0 })
    )
    const observer = yield* StoreObserver
    observer?.offer("queued_changes", () => lanes.reduce((sum, { waiting }) => sum + waiting.length, 0))

    const pending = makeSlotSet<Waiting<Written>["outcome"]>()

    const settle = (entry: Waiting<Written>, exit: Exit.Exit<Appended, AppendRefusal>): void => {
      entry.leave()
      Deferred.doneUnsafe(entry.outcome, exit)
    }

    const tryAlone = (entry: Waiting<Written>): Effect.Effect<void> =>
      Effect.map(Effect.exit(appends.alone(entry.written)), (exit) => settle(entry, exit))

    /** Sends a group, and gives the outcome of each, which nobody has been told yet. */
    const outcomesOf = (
      group: ReadonlyArray<Waiting<Written>>
    ): Effect.Effect<ReadonlyArray<GroupOutcome>> =>
      group.length === 1
        ? Effect.map(Effect.exit(appends.alone(group[0]!.written)), (exit) => [exit])
        : Effect.map(Effect.exit(appends.together(group.map(({ written }) => written))), (exit) =>
            Exit.isSuccess(exit) ? exit.value : group.map(() => Exit.failCause(exit.cause))
          )

    const settleGroup = Effect.fnUntraced(function* (
      group: ReadonlyArray<Waiting<Written>>,
      outcomes: ReadonlyArray<GroupOutcome>
    ) {
      for (const [at, entry] of group.entries()) {
        const outcome = outcomes[at]!
        // Outside the lane, which must not wait for a lock of another session.
        if (outcome === "alone") yield* Effect.forkIn(tryAlone(entry), scope)
        else settle(entry, outcome)
      }
    })

    /** Begins the next statement, if anything waits for it; ends with the effect that settles its changes. */
    const begin = (lane: Lane<Written>) => {
      const group = takeGroup(lane, options.changes)
      if (group.length === 0) return Effect.undefined
      observer?.appending(group.length)
      return Effect.map(
        Effect.forkIn(withinTraceOf(group, outcomesOf(group)), scope, { startImmediately: true }),
        (statement) => ({
          ended: Fiber.await(statement),
          settled: Effect.flatMap(Fiber.join(statement), (outcomes) => settleGroup(group, outcomes))
        })
      )
    }

    const drain = Effect.fnUntraced(function* (lane: Lane<Written>) {
      let settled: Effect.Effect<void> | undefined
      for (;;) {
        const statement = yield* begin(lane)
        if (settled !== undefined) {
          // What the callers of the last statement do next takes time, in which the database works on the one that was begun.
          if (statement !== undefined) yield* Effect.yieldNow
          yield* settled
          settled = undefined
        }
        if (statement !== undefined) {
          const ended = yield* Effect.timeoutOption(statement.ended, LANE_PATIENCE)
          if (Option.isSome(ended)) settled = statement.settled
          else yield* Effect.forkIn(statement.settled, scope)
        } else if (lane.waiting.length === 0) {
          lane.isRunning = false
          return
        }
      }
    })

    let isClosed = false
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        isClosed = true
        const closed = Exit.fail(new StoreUnavailable({ cause: "the store is closing" }))
        for (const outcome of pending.items()) Deferred.doneUnsafe(outcome, closed)
      })
    )

    return (change) =>
      // A lane that is marked as running must get who drains it, so nothing is interrupted but the waiting.
      Effect.uninterruptibleMask((restore) => {
        if (isClosed) return Effect.fail(new StoreUnavailable({ cause: "the store is closed" }))
        if (!mayShare(change)) {
          observer?.appending(1)
          return restore(appends.alone(appends.write(change)))
        }
        const lane = lanes[laneNumber(change, options.lanes)]!
        const outcome: Waiting<Written>["outcome"] = Deferred.makeUnsafe()
        const entry: Waiting<Written> = {
          written: appends.write(change),
          names: namesOf(change),
          length: lengthOf(change),
          outcome,
          leave: pending.add(outcome),
          span: Context.getOrUndefined(Fiber.getCurrent()!.context, Tracer.ParentSpan)
        }
        lane.waiting.push(entry)
        const wait = Effect.onInterrupt(restore(Deferred.await(outcome)), () =>
          Effect.sync(() => {
            lane.waiting = lane.waiting.filter((other) => other !== entry)
            entry.leave()
          })
        )
        if (lane.isRunning) return wait
        lane.isRunning = true
        return Effect.andThen(Effect.forkIn(drain(lane), scope), wait)
      })
  })
