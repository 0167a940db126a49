import { formatNanos, type Instant } from "@svc/protocol/Timestamp"
import { evolve } from "./Evolve.ts"
import type { JournalFact } from "./JournalFact.ts"
import type { MandateState, OpenReservation, StreamState } from "./MandateState.ts"
import { prepareTerms } from "./PreparedTerms.ts"

/** A transition that time alone brings, and the instant at which it is due. */
export interface DueTransition {
  readonly at: Instant
  readonly fact: JournalFact
}

/** What is due next: the expiry of a reservation, or without one the mandate's own transition. */
interface NextDue {
  readonly at: Instant
  readonly expiring?: OpenReservation
}

/** When time alone changes the state of the mandate itself, if it will. */
const mandateDue = ({ state, terms }: MandateState): Instant | undefined => {
  switch (state) {
    case "PENDING_APPROVAL":
      return prepareTerms(terms).approvalDeadline
    case "SCHEDULED":
      return prepareTerms(terms).startsAt
    case "ACTIVE":
      return prepareTerms(terms).endsAt
    default:
      return undefined
  }
}

/** Reservations are in order of creation, so the first of several that are due at one instant is the oldest. */
const firstToExpire = (open: ReadonlyArray<OpenReservation>): OpenReservation | undefined => {
  let first = open[0]
  for (const entry of open) if (entry.expiresAt < first!.expiresAt) first = entry
  return first
}

/**
 * At one instant activation comes first, then authorizations in order of creation, then the end of the mandate (part 4).
 * Asked for several times for each command, so the fact is made only where it is wanted.
 */
const nextDue = ({ mandate, open }: StreamState): NextDue | undefined => {
  const at = mandateDue(mandate)
  const expiring = firstToExpire(open)
  if (expiring === undefined) return at === undefined ? undefined : { at }
  const mandateIsFirst =
    at !== undefined &&
    (at < expiring.expiresAt || (at === expiring.expiresAt && mandate.state === "SCHEDULED"))
  return mandateIsFirst ? { at } : { at: expiring.expiresAt, expiring }
}

const factOf = ({ state }: MandateState, { at, expiring }: NextDue): JournalFact => {
  const occurred_at = formatNanos(at)
  if (expiring !== undefined) {
    return { type: "authorization.expired", occurred_at, authorization_id: expiring.id, data: {} }
  }
  if (state === "SCHEDULED") return { type: "mandate.activated", occurred_at, data: {} }
  const end_reason = state === "PENDING_APPROVAL" ? "APPROVAL_DEADLINE_PASSED" : "WINDOW_ENDED"
  return { type: "mandate.expired", occurred_at, data: { end_reason } }
}

/** The next transition that time alone will bring, by the order of {@link applyDue}. */
export const nextTransition = (stream: StreamState): DueTransition | undefined => {
  const next = nextDue(stream)
  return next && { at: next.at, fact: factOf(stream.mandate, next) }
}

/** When the stream's next transition is due, if one is to come. */
export const nextDueOf = (stream: StreamState): Instant | undefined => nextDue(stream)?.at

/**
 * The transitions that are due at `now`, in their order, and the state they lead to. Each carries its due instant as
 * `occurred_at`, and is folded before the next is looked for. At the instant itself the new state holds.
 */
export const applyDue = (
  stream: StreamState,
  now: Instant
): { readonly facts: ReadonlyArray<JournalFact>; readonly stream: StreamState } => {
  const facts: Array<JournalFact> = []
  let state = stream
  for (let next = nextDue(state); next !== undefined && next.at <= now; next = nextDue(state)) {
    const fact = factOf(state.mandate, next)
    facts.push(fact)
    state = evolve(state, fact)
  }
  return { facts, stream: state }
}
