import { type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import type { ApprovalSessionState } from "../approval/ApprovalSessionState.ts"
import { nextDueOf } from "../mandate/ApplyDue.ts"
import type { JournalFact } from "../mandate/JournalFact.ts"
import type { MandateState } from "../mandate/MandateState.ts"
import type { SealedEvent } from "../mandate/SealedEvent.ts"
import {
  type ClaimTaken,
  MandateStore,
  type OutOfTime,
  type Stale,
  type StoreUnavailable,
  type StreamChange,
  type UniqueClaim
} from "../ports/MandateStore.ts"
import { Randomness } from "../ports/Randomness.ts"
import type { CurrentStream } from "./CurrentStream.ts"
import { type StreamEnd, sealFacts } from "./SealFacts.ts"

/** How long a decision may wait to be appended before it is made again, in seconds. */
const DECISION_LIFETIME_SECONDS = 5n

/** Why an append recorded nothing. */
export type AppendFailure = Stale | OutOfTime | ClaimTaken | StoreUnavailable

/** What a program appends to a stream beside what is due. */
export interface Addition {
  readonly facts: ReadonlyArray<JournalFact>
  /** Instants at or after which the decision may differ. */
  readonly boundaries?: ReadonlyArray<Instant>
  readonly claims?: ReadonlyArray<UniqueClaim>
  readonly sessions?: ReadonlyArray<ApprovalSessionState>
  readonly subject?: StreamChange["subject"]
}

/** The instant before which a decision made at `now` must be appended: no boundary may have come by then. */
const recordBefore = (now: Instant, boundaries: ReadonlyArray<Instant | undefined>): Instant =>
  boundaries.reduce<Instant>(
    (least, at) => (at !== undefined && at < least ? at : least),
    now + DECISION_LIFETIME_SECONDS * NANOS_PER_SECOND
  )

/** Appends the first fact of a new mandate, and gives the mandate. */
export const appendFirst = Effect.fnUntraced(function* (
  creation: JournalFact & { readonly type: "mandate.created" },
  now: Instant,
  claims: ReadonlyArray<UniqueClaim>
): Effect.fn.Return<MandateState, AppendFailure, MandateStore | Randomness> {
  const store = yield* MandateStore
  const { after, events } = sealFacts(undefined, [creation], now, yield* Randomness)
  if (after === undefined) return yield* Effect.die("a mandate was created without an event")
  const { head, state } = after
  const nextDue = nextDueOf(state)
  yield* store.append({
    organization: creation.data.organization_id,
    mandate: creation.data.mandate_id,
    expected: "absent",
    decidedAt: now,
    recordBefore: recordBefore(now, [nextDue]),
    events,
    mandateState: state.mandate,
    headAfter: head,
    nextDue,
    authorizations: [],
    sessions: [],
    claims
  })
  return state.mandate
})

/** Sealed events that follow what is recorded, and where they lead. */
interface Sealed {
  readonly events: ReadonlyArray<SealedEvent>
  readonly after: StreamEnd
}

/**
 * Appends events that were sealed behind the loaded end of a stream, and gives the stream's next revision. `boundaries` has
 * every instant at or after which one of the decisions may differ.
 */
export const appendSealed = (
  current: CurrentStream,
  { after, events }: Sealed,
  addition: Omit<Addition, "facts">
): Effect.Effect<number, AppendFailure, MandateStore> => {
  const { head: headBefore, loadedState, now } = current
  const { head, state } = after
  const nextDue = nextDueOf(state)
  const change: StreamChange = {
    organization: current.organization,
    mandate: state.mandate.terms.mandate_id,
    expected: current.revision,
    decidedAt: now,
    recordBefore: recordBefore(now, [nextDueOf(current.state), nextDue, ...(addition.boundaries ?? [])]),
    events,
    mandateState: state.mandate,
    headBefore,
    headAfter: head,
    nextDue,
    authorizations: [...state.authorizations.values()].filter(
      (authorization) => loadedState.authorizations.get(authorization.id) !== authorization
    ),
    sessions: addition.sessions ?? [],
    ...(addition.subject === undefined ? {} : { subject: addition.subject }),
    claims: addition.claims ?? []
  }
  return MandateStore.use((store) => Effect.map(store.append(change), ({ revision }) => revision))
}

/**
 * Appends what is due and an addition as one change, and gives the stream as it then is. Nothing happens between the
 * decision and the append.
 */
export const appendFacts = Effect.fnUntraced(function* (
  current: CurrentStream,
  addition: Addition
): Effect.fn.Return<CurrentStream, AppendFailure, MandateStore | Randomness> {
  const { due, head, loadedState, now } = current
  const sealed = sealFacts({ head, state: loadedState }, [...due, ...addition.facts], now, yield* Randomness)
  const revision = yield* appendSealed(current, sealed, addition)
  const { after } = sealed
  return { ...current, revision, head: after.head, state: after.state, loadedState: after.state, due: [] }
})

/** Appends what is due, if anything is. */
export const appendDue = (
  current: CurrentStream
): Effect.Effect<CurrentStream, AppendFailure, MandateStore | Randomness> =>
  current.due.length === 0 ? Effect.succeed(current) : appendFacts(current, { facts: [] })
