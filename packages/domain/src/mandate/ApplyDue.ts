import { formatNanos, type Instant } from "@svc/protocol/Timestamp"
import { evolve } from "./Evolve.ts"
import type { JournalFact } from "./JournalFact.ts"
import type { MandateState, StreamState } from "./MandateState.ts"
import { prepareTerms } from "./PreparedTerms.ts"

/** A transition that time alone brings, and the instant at which it is due. */
export interface DueTransition {
  readonly at: Instant
  readonly fact: JournalFact
}

const mandateTransition = (mandate: MandateState): DueTransition | undefined => {
  const { startsAt, endsAt, approvalDeadline } = prepareTerms(mandate.terms)
  switch (mandate.state) {
    case "PENDING_APPROVAL":
      return expiry(approvalDeadline, "APPROVAL_DEADLINE_PASSED")
    case "SCHEDULED":
      return {
        at: startsAt,
        fact: { type: "mandate.activated", occurred_at: formatNanos(startsAt), data: {} }
      }
    case "ACTIVE":
      return expiry(endsAt, "WINDOW_ENDED")
    default:
      return undefined
  }
}

const expiry = (at: Instant, end_reason: "APPROVAL_DEADLINE_PASSED" | "WINDOW_ENDED"): DueTransition => ({
  at,
  fact: { type: "mandate.expired", occurred_at: formatNanos(at), data: { end_reason } }
})

const authorizationExpiry = (stream: StreamState): DueTransition | undefined => {
  // In order of creation, so the first of several that are due at one instant is the oldest.
  const [first, ...rest] = stream.open
  if (first === undefined) return undefined
  const next = rest.reduce((least, entry) => (entry.expiresAt < least.expiresAt ? entry : least), first)
  return {
    at: next.expiresAt,
    fact: {
      type: "authorization.expired",
      occurred_at: formatNanos(next.expiresAt),
      authorization_id: next.id,
      data: {}
    }
  }
}

/**
 * The next transition that time alone will bring. At one instant activation comes first, then authorizations in
 * order of creation, then the end of the mandate (part 4).
 */
export const nextTransition = (stream: StreamState): DueTransition | undefined => {
  const mandate = mandateTransition(stream.mandate)
  const authorization = authorizationExpiry(stream)
  if (mandate === undefined || authorization === undefined) return mandate ?? authorization
  if (mandate.at !== authorization.at) return mandate.at < authorization.at ? mandate : authorization
  return mandate.fact.type === "mandate.activated" ? mandate : authorization
}

/** When the stream's next transition is due, if one is to come. */
export const nextDueOf = (stream: StreamState): Instant | undefined => nextTransition(stream)?.at

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
  for (let next = nextTransition(state); next !== undefined && next.at <= now; next = nextTransition(state)) {
    facts.push(next.fact)
    state = evolve(state, next.fact)
  }
  return { facts, stream: state }
}
