import { type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import type { ApprovalSessionState } from "../approval/ApprovalSessionState.ts"
import { makeIdentifier } from "../Identifiers.ts"
import { applyDue, nextDueOf } from "../mandate/ApplyDue.ts"
import { evolve } from "../mandate/Evolve.ts"
import type { JournalFact } from "../mandate/JournalFact.ts"
import type { StreamHead, StreamState } from "../mandate/MandateState.ts"
import { type SealedEvent, sealEvent } from "../mandate/SealedEvent.ts"
import {
  type ClaimTaken,
  type Loaded,
  type LoadedStream,
  type LoadQuery,
  MandateStore,
  type OutOfTime,
  type Stale,
  StoreUnavailable,
  type StreamChange,
  type UniqueClaim
} from "../ports/MandateStore.ts"
import type { Randomness } from "../ports/Randomness.ts"
import { NotFound } from "../Refusals.ts"
import { StreamTurns } from "./StreamTurns.ts"

/** How long a decision may wait for its write before it is made again, in seconds. */
export const DECISION_LIFETIME_SECONDS = 5n
/** Races that a change may lose before it waits for its turn. */
export const RACES_BEFORE_TURN = 3
/** Tries after which a change is given up as 503: something else is wrong. */
export const MAX_TRIES = 100

/** A stream with everything due at `now` folded in, and what that takes to record. */
export interface CurrentStream extends LoadedStream {
  readonly now: Instant
  /** Transitions that came due and are not recorded yet. */
  readonly due: ReadonlyArray<JournalFact>
  /** `state` as it was loaded, before `due`. */
  readonly loadedState: StreamState
}

/** Folds in what is due. Nothing may be shown of it before it is recorded. */
export const bringUpToDate = (stream: LoadedStream, now: Instant): CurrentStream => {
  const { facts, stream: state } = applyDue(stream.state, now)
  return { ...stream, state, now, due: facts, loadedState: stream.state }
}

/** What a program adds to a stream beside what is due. */
export interface Addition {
  readonly facts: ReadonlyArray<JournalFact>
  readonly boundaries?: ReadonlyArray<Instant>
  readonly claims?: ReadonlyArray<UniqueClaim>
  readonly sessions?: ReadonlyArray<ApprovalSessionState>
  readonly subject?: StreamChange["subject"]
}

const earliest = (instants: ReadonlyArray<Instant | undefined>, latest: Instant): Instant =>
  instants.reduce<Instant>((least, at) => (at !== undefined && at < least ? at : least), latest)

/** Gives facts their identifiers and their place behind `head`. */
export const sealFacts = Effect.fnUntraced(function* (
  head: StreamHead | undefined,
  state: StreamState | undefined,
  facts: ReadonlyArray<JournalFact>,
  now: Instant
): Effect.fn.Return<
  {
    readonly events: ReadonlyArray<SealedEvent>
    readonly head: StreamHead | undefined
    readonly state: StreamState | undefined
  },
  never,
  Randomness
> {
  const events: Array<SealedEvent> = []
  let reached = { head, state }
  for (const fact of facts) {
    const next = evolve(reached.state, fact)
    const id = yield* makeIdentifier("evt_", now)
    const sealed = sealEvent(reached.head, fact, { id, mandate: next.mandate })
    events.push(sealed.sealed)
    reached = { head: sealed.head, state: next }
  }
  return { events, ...reached }
})

/**
 * Records what is due and an addition as one change, and gives the stream as it then is. Nothing happens between the
 * decision and the write.
 */
export const record = Effect.fnUntraced(function* (
  current: CurrentStream,
  addition: Addition
): Effect.fn.Return<
  CurrentStream,
  Stale | OutOfTime | ClaimTaken | StoreUnavailable,
  MandateStore | Randomness
> {
  const store = yield* MandateStore
  const { now, due, loadedState } = current
  const sealed = yield* sealFacts(current.head, loadedState, [...due, ...addition.facts], now)
  const state = sealed.state ?? current.state
  const head = sealed.head ?? current.head
  const authorizations = [...state.authorizations.values()].filter(
    (authorization) => loadedState.authorizations.get(authorization.id) !== authorization
  )
  const { revision } = yield* store.append({
    organization: current.organization,
    mandate: state.mandate.terms.mandate_id,
    expected: current.revision,
    decidedAt: now,
    recordBefore: earliest(
      [nextDueOf(current.state), nextDueOf(state), ...(addition.boundaries ?? [])],
      now + DECISION_LIFETIME_SECONDS * NANOS_PER_SECOND
    ),
    events: sealed.events,
    mandateState: state.mandate,
    headBefore: current.head,
    headAfter: head,
    nextDue: nextDueOf(state),
    authorizations,
    sessions: addition.sessions ?? [],
    ...(addition.subject === undefined ? {} : { subject: addition.subject }),
    claims: addition.claims ?? []
  })
  return { ...current, revision, head, state, loadedState: state, due: [] }
})

/** Records what is due, if anything is. */
export const settle = (
  current: CurrentStream
): Effect.Effect<
  CurrentStream,
  Stale | OutOfTime | ClaimTaken | StoreUnavailable,
  MandateStore | Randomness
> => (current.due.length === 0 ? Effect.succeed(current) : record(current, { facts: [] }))

const isRace = (error: unknown): boolean =>
  typeof error === "object" &&
  error !== null &&
  "_tag" in error &&
  (error._tag === "Stale" || error._tag === "OutOfTime" || error._tag === "ClaimTaken")

/**
 * Loads, decides and records again for as long as others are faster. A claim that is taken is a race too: the next load
 * sees its holder.
 */
export const untilRecorded = <A, E, R, R2>(
  turnKey: Effect.Effect<string, StoreUnavailable, R2>,
  attempt: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, Stale | OutOfTime | ClaimTaken> | StoreUnavailable, R | R2> => {
  const race = attempt.pipe(Effect.retry({ while: isRace, times: RACES_BEFORE_TURN }))
  const turn = Effect.flatMap(turnKey, (key) =>
    StreamTurns.use((turns) =>
      turns.inTurn(key)(attempt.pipe(Effect.retry({ while: isRace, times: MAX_TRIES })))
    )
  )
  return race.pipe(
    Effect.catchIf(isRace, () => turn),
    Effect.catchIf(isRace, (cause) => Effect.fail(new StoreUnavailable({ cause, retryAfterSeconds: 1 })))
  ) as Effect.Effect<A, Exclude<E, Stale | OutOfTime | ClaimTaken> | StoreUnavailable, R | R2>
}

/**
 * The turn of a stream: whatever names it, by its mandate, an authorization or a session, waits in one line. Looked up
 * only once races were lost.
 */
export const streamTurn = Effect.fnUntraced(function* (
  query: Pick<LoadQuery, "organization" | "stream">
): Effect.fn.Return<string, StoreUnavailable, MandateStore> {
  const store = yield* MandateStore
  const { stream } = yield* store.load(query)
  return JSON.stringify(
    stream === undefined
      ? [query.organization, query.stream]
      : [stream.organization, stream.state.mandate.terms.mandate_id]
  )
})

/** Loads a stream, records what is due, and gives it as it then is. */
export const readStream = (
  query: LoadQuery
): Effect.Effect<CurrentStream, NotFound | StoreUnavailable, MandateStore | Randomness> =>
  untilRecorded(
    streamTurn(query),
    Effect.gen(function* () {
      const store = yield* MandateStore
      const loaded: Loaded = yield* store.load(query)
      if (loaded.stream === undefined) return yield* new NotFound()
      return yield* settle(bringUpToDate(loaded.stream, loaded.now))
    })
  )
