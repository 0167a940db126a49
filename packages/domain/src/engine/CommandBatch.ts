import type { Instant } from "@svc/protocol/Timestamp"
import { Clock, Effect, Exit, Result } from "effect"
import { nextDueOf } from "../mandate/ApplyDue.ts"
import type { PinnedPeriod, StreamState } from "../mandate/MandateState.ts"
import { currentPeriods } from "../mandate/PreparedTerms.ts"
import type { SealedEvent } from "../mandate/SealedEvent.ts"
import {
  type ClaimHolder,
  type ClaimName,
  type ClaimTaken,
  type HeldClaim,
  type Loaded,
  type LoadedStream,
  type LoadQuery,
  MandateStore,
  type OutOfTime,
  Stale,
  StoreUnavailable,
  type UniqueClaim
} from "../ports/MandateStore.ts"
import { Randomness } from "../ports/Randomness.ts"
import { CommitmentReused, NotFound } from "../Refusals.ts"
import { type AppendFailure, appendSealed } from "./AppendFacts.ts"
import { asOf, type CurrentStream } from "./CurrentStream.ts"
import { type StreamEnd, sealFacts } from "./SealFacts.ts"
import type { Answer, CommandRefusal, Outcome, StreamCommand } from "./StreamCommand.ts"
import { type MandatePlace, mandateTurnKey, StreamTurns } from "./StreamTurns.ts"
import { isRace, MAX_TRIES } from "./UntilAppended.ts"

/** Bytes of events after which an append takes no further command. */
export const MAX_BATCH_BYTES = 256 * 1024
/** Time of deciding after which an append takes no further command, so that other requests are not kept waiting. */
export const MAX_BATCH_MILLISECONDS = 20

/** The claims that are held, by earlier requests or by earlier commands of the same batch. */
class HeldClaims {
  readonly #holders = new Map<string, ClaimHolder>()

  add(claims: ReadonlyArray<HeldClaim>): void {
    for (const claim of claims) this.#holders.set(`${claim.kind} ${claim.name}`, claim)
  }

  holder({ kind, name }: ClaimName): ClaimHolder | undefined {
    return this.#holders.get(`${kind} ${name}`)
  }
}

const commitmentOf = ({ commitment }: StreamCommand): ReadonlyArray<ClaimName> =>
  commitment === undefined ? [] : [{ kind: "commitment", name: commitment }]

/** A reply from what is held or from the body alone, which needs no stream and changes nothing. */
const replyBefore = (
  { invalid, key }: StreamCommand,
  held: HeldClaims
): Exit.Exit<Answer, CommandRefusal> | undefined => {
  const holder = key === undefined ? undefined : held.holder(key.claimName)
  if (holder !== undefined) {
    return Exit.map(key!.check(holder), () => ({ _tag: "Replay", resource: holder.resource }))
  }
  return invalid === undefined ? undefined : Exit.fail(invalid)
}

/** Commands decided one after another, and what is to be appended for them. */
interface Batch {
  readonly current: CurrentStream
  readonly held: HeldClaims
  readonly events: Array<SealedEvent>
  readonly claims: Array<UniqueClaim>
  /** Instants at or after which one of the decisions may differ. */
  readonly boundaries: Array<Instant>
  end: StreamEnd
  /** Whether a reply shows the stream, so that what is due must be recorded before. */
  isShown: boolean
}

const newBatch = (current: CurrentStream, held: HeldClaims, randomness: Randomness["Service"]): Batch => {
  const { due, head, loadedState: state, now } = current
  const { after, events } = sealFacts({ head, state }, due, now, randomness)
  return { current, held, events: [...events], claims: [], boundaries: [], end: after, isShown: false }
}

const decideNext = (
  batch: Batch,
  command: StreamCommand,
  randomness: Randomness["Service"]
): Exit.Exit<Answer, CommandRefusal> => {
  const reply = replyBefore(command, batch.held)
  if (reply !== undefined) return reply
  const { now } = batch.current
  batch.isShown = true
  const decided = command.decide(batch.end.state, batch.end.head.bytes, now, randomness)
  if (Exit.isFailure(decided)) return Exit.failCause(decided.cause)
  const { boundaries, facts, refusal, resource } = decided.value
  const commitments = refusal === undefined ? commitmentOf(command) : []
  if (commitments.some((claim) => batch.held.holder(claim) !== undefined))
    return Exit.fail(new CommitmentReused())
  const { after, events } = sealFacts(batch.end, facts, now, randomness)
  const nextDue = nextDueOf(after.state)
  const claims =
    refusal === undefined
      ? [
          ...(command.key === undefined ? [] : [command.key.claim(resource)]),
          ...commitments.map((claim) => ({ ...claim, fingerprint: "", resource }))
        ]
      : []
  // Nothing fails from here on, so that no events are appended without their claims.
  batch.end = after
  batch.events.push(...events)
  batch.boundaries.push(...boundaries, ...(nextDue === undefined ? [] : [nextDue]))
  batch.claims.push(...claims)
  batch.held.add(claims)
  return refusal === undefined
    ? Exit.succeed({ _tag: "Recorded", stream: { ...after, now }, resource })
    : Exit.fail(refusal)
}

/** What becomes of a command; one whose decision fails by a defect does not make those beside it fail. */
const outcomeOf = (decision: () => Exit.Exit<Answer, CommandRefusal>): Outcome => {
  try {
    return decision()
  } catch (defect) {
    return Exit.die(defect)
  }
}

/** Decides commands in order until an append has enough of them, and at least the first. */
const decideInOrder = (
  batch: Batch,
  commands: ReadonlyArray<StreamCommand>,
  clock: Clock.Clock,
  randomness: Randomness["Service"]
): ReadonlyArray<Outcome> => {
  const began = clock.currentTimeMillisUnsafe()
  const outcomes: Array<Outcome> = []
  for (const command of commands) {
    outcomes.push(outcomeOf(() => decideNext(batch, command, randomness)))
    if (batch.end.head.bytes - batch.current.head.bytes >= MAX_BATCH_BYTES) break
    if (Math.abs(clock.currentTimeMillisUnsafe() - began) >= MAX_BATCH_MILLISECONDS) break
  }
  return outcomes
}

/** Appends what commands lead to, if anything, and gives the stream as it is then. */
const appendBatch = Effect.fnUntraced(function* ({
  boundaries,
  claims,
  current,
  end: after,
  events,
  isShown
}: Batch): Effect.fn.Return<LoadedStream | undefined, AppendFailure, MandateStore> {
  if (!isShown || (events.length === 0 && claims.length === 0)) return undefined
  const revision = yield* appendSealed(current, { after, events }, { boundaries, claims })
  return { organization: current.organization, revision, head: after.head, state: after.state }
})

interface Recorded {
  readonly outcomes: ReadonlyArray<Outcome>
  /** The stream as it is by then; absent if nothing was appended. */
  readonly stream: LoadedStream | undefined
}

/** Decides commands on what was loaded, and appends what they lead to in one change, before any of them is replied to. */
const decideAndAppend = Effect.fnUntraced(function* (
  commands: ReadonlyArray<StreamCommand>,
  loaded: Loaded,
  taken: ReadonlyArray<HeldClaim>
): Effect.fn.Return<Recorded, AppendFailure, MandateStore | Randomness> {
  const held = new HeldClaims()
  held.add(loaded.held)
  held.add(taken)
  if (loaded.stream === undefined) {
    const outcomes = commands.map((command) => replyBefore(command, held) ?? Exit.fail(new NotFound()))
    return { outcomes, stream: undefined }
  }
  const randomness = yield* Randomness
  const batch = newBatch(asOf(loaded.stream, loaded.now), held, randomness)
  const outcomes = decideInOrder(batch, commands, yield* Clock.Clock, randomness)
  return { outcomes, stream: yield* appendBatch(batch) }
})

/**
 * Whether `now` is the store's clock: while that is behind the journal, it is the last event's instant, which says nothing of
 * the time for other streams, and from which time does not go on.
 */
const showsClock = ({ now, stream }: Loaded): boolean => stream === undefined || now > stream.head.occurredAt

/** Loads, and notes the store's clock where the answer shows it. */
const load = (query: LoadQuery): Effect.Effect<Loaded, StoreUnavailable, MandateStore> =>
  Effect.gen(function* () {
    const store = yield* MandateStore
    const loaded = yield* store.load(query)
    const { known } = yield* StreamTurns
    if (showsClock(loaded)) known.noteClock({ store, now: loaded.now, at: yield* Clock.monotonicTimeNanos })
    return loaded
  })

/** The load of a lone command. */
export const loadAlone = ({
  key,
  organization,
  stream
}: StreamCommand): Effect.Effect<Loaded, StoreUnavailable, MandateStore> =>
  load({
    organization,
    ...(key === undefined ? {} : { claims: [key.claimName] }),
    ...(stream === undefined ? {} : { stream })
  })

/** One load with everything that several commands to a mandate need. */
const loadTogether = (
  { mandate, organization }: MandatePlace,
  commands: ReadonlyArray<StreamCommand>
): Effect.Effect<Loaded, StoreUnavailable, MandateStore> =>
  load({
    organization,
    stream: { mandate },
    authorizations: commands.flatMap(({ stream }) =>
      stream !== undefined && "authorization" in stream ? [stream.authorization] : []
    ),
    claims: commands.flatMap((command) => [
      ...(command.key === undefined ? [] : [command.key.claimName]),
      ...commitmentOf(command)
    ])
  })

/** Whether the authorization that a command names, if it names one, is known in full: else deciding it is in vain. */
const knowsAuthorization = ({ authorizations }: StreamState, { stream }: StreamCommand): boolean =>
  stream === undefined || !("authorization" in stream) || authorizations.has(stream.authorization)

/**
 * Whether something came due or a period ended since the store's clock was read. That it did is for that clock to say: the
 * clock of the process is ahead of it when that was turned back or goes slower.
 */
const hasChangedSince = ({ state }: LoadedStream, lastRead: Instant, now: Instant): boolean => {
  const nextDue = nextDueOf(state)
  const isBetween = ({ endsAt }: PinnedPeriod): boolean => endsAt > lastRead && endsAt <= now
  return (
    (nextDue !== undefined && nextDue <= now) || currentPeriods(state.mandate.terms, lastRead).some(isBetween)
  )
}

/**
 * Decides commands on what this process knows of their stream, without a load, and appends what they lead to: the append is
 * refused if that is not what the store has. Gives nothing if they have to be decided on a load: when the stream is not known
 * well enough, has changed, by time too, when nothing is appended, as by reads, and when one of them would be
 * refused, since whether its key is held is not known.
 */
const decideOnKnown = Effect.fnUntraced(function* (
  commands: ReadonlyArray<StreamCommand>,
  key: string
): Effect.fn.Return<ReadonlyArray<Outcome> | undefined, StoreUnavailable, MandateStore | Randomness> {
  const store = yield* MandateStore
  const { known } = yield* StreamTurns
  const clock = yield* Clock.Clock
  const at = clock.monotonicTimeNanosUnsafe()
  const found = known.find(key, store, at)
  if (found === undefined) return undefined
  const { now, lastRead, stream } = found
  if (hasChangedSince(stream, lastRead, now)) return undefined
  if (!commands.every((command) => knowsAuthorization(stream.state, command))) return undefined
  const randomness = yield* Randomness
  const batch = newBatch(asOf(stream, now), new HeldClaims(), randomness)
  const outcomes = decideInOrder(batch, commands, clock, randomness)
  if (!outcomes.every(Exit.isSuccess)) return undefined
  const appended = yield* Effect.result(appendBatch(batch)).pipe(
    // What is known may be of a history that a failover has replaced, which the store takes for a fault of ours.
    Effect.catchDefect((defect) =>
      Effect.as(
        Effect.logWarning("a change is decided again on what the store has", defect),
        Result.fail(new Stale())
      )
    )
  )
  if (Result.isSuccess(appended)) {
    if (appended.success === undefined) return undefined
    known.know(key, { store, stream: appended.success }, at)
    return outcomes
  }
  if (appended.failure._tag !== "ClaimTaken") known.doubt(key, at)
  return isRace(appended.failure) ? undefined : yield* Effect.fail(appended.failure)
})

/** What commands are run with. */
interface Run {
  /** The mandate whose turn they have. */
  readonly place?: MandatePlace
  readonly loadAgain: Effect.Effect<Loaded, StoreUnavailable, MandateStore>
  readonly loadedBefore?: Loaded | undefined
}

/**
 * Decides and appends until no other process is faster. A claim that is taken is known from then on, so that it turns the
 * command that made it into a replay or a refusal, and the others are decided again.
 */
const untilRecorded = Effect.fnUntraced(function* (
  commands: ReadonlyArray<StreamCommand>,
  { loadAgain, loadedBefore, place }: Run
): Effect.fn.Return<ReadonlyArray<Outcome>, StoreUnavailable, MandateStore | Randomness> {
  const key = place === undefined ? undefined : mandateTurnKey(place)
  if (key !== undefined && loadedBefore === undefined) {
    const outcomes = yield* decideOnKnown(commands, key)
    if (outcomes !== undefined) return outcomes
  }
  const taken: Array<HeldClaim> = []
  let loaded = loadedBefore
  let race: Stale | OutOfTime | ClaimTaken | undefined
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    loaded ??= yield* loadAgain
    const result = yield* Effect.result(decideAndAppend(commands, loaded, taken))
    if (Result.isSuccess(result)) {
      const { outcomes, stream } = result.success
      if (key !== undefined && stream !== undefined) yield* know(key, stream, loaded)
      return outcomes
    }
    if (!isRace(result.failure)) return yield* Effect.fail(result.failure)
    race = result.failure
    if (race._tag === "ClaimTaken") taken.push({ kind: race.kind, name: race.name, ...race.holder })
    else loaded = undefined
  }
  return yield* new StoreUnavailable({ cause: race, retryAfterSeconds: 1 })
})

/** While the store's clock is behind the journal, the stream is loaded each time. */
const know = Effect.fnUntraced(function* (
  key: string,
  stream: LoadedStream,
  loaded: Loaded
): Effect.fn.Return<void, never, MandateStore> {
  const { known } = yield* StreamTurns
  if (!showsClock(loaded)) return
  known.know(key, { store: yield* MandateStore, stream }, yield* Clock.monotonicTimeNanos)
})

/** Runs a command alone, at first on what was loaded before if anything was. */
export const runAlone = (command: StreamCommand, place?: MandatePlace, loadedBefore?: Loaded) =>
  untilRecorded([command], {
    loadAgain: loadAlone(command),
    loadedBefore,
    ...(place === undefined ? {} : { place })
  })

/** Runs commands to one mandate in order, with one load and one append for all that fit, and gives the outcomes of those. */
export const runTogether = (place: MandatePlace, commands: ReadonlyArray<StreamCommand>) =>
  untilRecorded(commands, { loadAgain: loadTogether(place, commands), place })
