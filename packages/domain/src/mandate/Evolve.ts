import type { AuthorizationStateName } from "@svc/protocol/Authorization"
import type { Instant } from "@svc/protocol/Timestamp"
import { addLate, commitReserved, NO_USE, release, reserve } from "./Counters.ts"
import type { DecisionData, JournalFact, MandateTerms, OutcomeConflictData } from "./JournalFact.ts"
import type {
  AuthorizationState,
  Counters,
  MandateState,
  OpenReservation,
  PeriodCounters,
  PinnedPeriod,
  StreamState
} from "./MandateState.ts"
import { openReservationOf } from "./OpenReservation.ts"
import { outcomeDigest } from "./OutcomeDigest.ts"
import { clampToWindowEnd, currentPeriods, instantOf, prepareTerms } from "./PreparedTerms.ts"
import { stateAfter } from "./StateAfter.ts"

type AuthorizationFact = Extract<JournalFact, { readonly authorization_id: string }>
type FactOf<T extends JournalFact["type"]> = Extract<JournalFact, { readonly type: T }>

/** What one fact changes: the aggregates, the open reservations, and at most one authorization. */
interface Step {
  readonly mandate: MandateState
  readonly open: ReadonlyArray<OpenReservation>
  readonly authorization?: AuthorizationState
}

const begin = (terms: MandateTerms, at: string): Step => ({
  mandate: {
    terms,
    state: stateAfter({ type: "mandate.created", occurred_at: at }, terms.window.starts_at),
    version: 1,
    createdAt: at,
    updatedAt: at,
    totals: NO_USE,
    periods: [],
    authorizationCount: 0,
    lateAuthorizations: []
  },
  open: []
})

const updatePeriods = (
  periods: ReadonlyArray<PeriodCounters>,
  pins: ReadonlyArray<PinnedPeriod>,
  update: (counters: Counters) => Counters
): ReadonlyArray<PeriodCounters> => {
  const next = [...periods]
  for (const pin of pins) {
    const index = next.findIndex((entry) => entry.period === pin.period && entry.startsAt === pin.startsAt)
    const counters = update(next[index]?.counters ?? NO_USE)
    const entry = { period: pin.period, startsAt: pin.startsAt, endsAt: pin.endsAt, counters }
    if (index < 0) next.push(entry)
    else next[index] = entry
  }
  return next
}

/** Drops periods that ended with nothing reserved, since they affect no decision. The last one stays to be shown. */
const prune = (mandate: MandateState, instant: Instant): MandateState => {
  const reached = clampToWindowEnd(prepareTerms(mandate.terms), instant)
  const periods = mandate.periods.filter(
    (entry) => entry.endsAt > reached || entry.counters.reservedExecutions > 0
  )
  return periods.length === mandate.periods.length ? mandate : { ...mandate, periods }
}

const use = (
  mandate: MandateState,
  pins: ReadonlyArray<PinnedPeriod>,
  update: (counters: Counters) => Counters
): MandateState => ({
  ...mandate,
  totals: update(mandate.totals),
  periods: updatePeriods(mandate.periods, pins, update)
})

const DECIDED: Readonly<Record<DecisionData["decision"], AuthorizationStateName>> = {
  ALLOW: "RESERVED",
  DENY: "DENIED",
  INDETERMINATE: "INDETERMINATE"
}

const decided = (
  stream: StreamState,
  fact: FactOf<"authorization.reserved" | "authorization.denied" | "authorization.indeterminate">
): Step => {
  const { data } = fact
  const order = stream.mandate.authorizationCount + 1
  const reserved = data.decision === "ALLOW"
  const pins = reserved ? currentPeriods(stream.mandate.terms, instantOf(fact.occurred_at)) : []
  const authorization: AuthorizationState = {
    id: fact.authorization_id,
    order,
    externalReference: data.external_reference,
    decision: data.decision,
    reasons: data.reasons,
    state: DECIDED[data.decision],
    ...(data.execute_before === undefined ? {} : { executeBefore: data.execute_before }),
    ...(data.expires_at === undefined ? {} : { expiresAt: data.expires_at }),
    proposedAction: data.proposed_action,
    commitment: data.commitment,
    createdAt: fact.occurred_at,
    refunds: [],
    periods: pins,
    conflicts: [],
    late: false
  }
  const counted = { ...stream.mandate, authorizationCount: order }
  if (!reserved) {
    return { mandate: counted, open: stream.open, authorization }
  }
  const opened = openReservationOf(authorization)
  return {
    mandate: use(counted, pins, (counters) => reserve(counters, opened.amount)),
    open: [...stream.open, opened],
    authorization
  }
}

const close = (
  stream: StreamState,
  fact: FactOf<"authorization.committed" | "authorization.cancelled" | "authorization.expired">,
  ending: Partial<AuthorizationState>
): Step => {
  const reservation = stream.open.find(
    (entry): entry is OpenReservation => entry.id === fact.authorization_id
  )
  if (reservation === undefined) throw new Error("an authorization that is not open was closed")
  const update = fact.type === "authorization.committed" ? commitReserved : release
  const authorization = stream.authorizations.get(fact.authorization_id)
  return {
    mandate: use(stream.mandate, reservation.periods, (counters) => update(counters, reservation.amount)),
    open: stream.open.filter((entry) => entry !== reservation),
    ...(authorization === undefined
      ? {}
      : { authorization: { ...authorization, ...ending, closedAt: fact.occurred_at } })
  }
}

const countLate = (
  mandate: MandateState,
  authorization: AuthorizationState,
  instant: Instant
): MandateState => {
  const amount = BigInt(authorization.proposedAction.payment.amount)
  const current = authorization.periods.filter((pin) => pin.endsAt > instant)
  const used = use(mandate, current, (counters) => addLate(counters, amount))
  return mandate.terms.kind === "SINGLE"
    ? { ...used, lateAuthorizations: [...mandate.lateAuthorizations, authorization.id] }
    : used
}

const conflicted = (stream: StreamState, fact: FactOf<"authorization.outcome_conflict">): Step => {
  const authorization = stream.authorizations.get(fact.authorization_id)
  if (authorization === undefined) throw new Error("a conflict was recorded on an unknown authorization")
  const data: OutcomeConflictData = fact.data
  return {
    mandate: data.late
      ? countLate(stream.mandate, authorization, instantOf(fact.occurred_at))
      : stream.mandate,
    open: stream.open,
    authorization: {
      ...authorization,
      late: authorization.late || data.late,
      conflicts: [...authorization.conflicts, outcomeDigest(data)]
    }
  }
}

const refunded = (stream: StreamState, fact: FactOf<"authorization.refund_reported">): Step => {
  const authorization = stream.authorizations.get(fact.authorization_id)
  if (authorization === undefined) throw new Error("a refund was recorded on an unknown authorization")
  return {
    mandate: stream.mandate,
    open: stream.open,
    authorization: { ...authorization, refunds: [...authorization.refunds, fact.data] }
  }
}

const evolveAuthorization = (stream: StreamState, fact: AuthorizationFact): Step => {
  switch (fact.type) {
    case "authorization.reserved":
    case "authorization.denied":
    case "authorization.indeterminate":
      return decided(stream, fact)
    case "authorization.committed": {
      const { commitment_opening: _, ...commit } = fact.data
      return close(stream, fact, { state: "COMMITTED", commit })
    }
    case "authorization.cancelled":
      return close(stream, fact, { state: "CANCELLED", cancellation: fact.data })
    case "authorization.expired":
      return close(stream, fact, { state: "EXPIRED" })
    case "authorization.outcome_conflict":
      return conflicted(stream, fact)
    case "authorization.refund_reported":
      return refunded(stream, fact)
  }
}

const evolveMandate = (
  mandate: MandateState,
  fact: Exclude<JournalFact, AuthorizationFact | FactOf<"mandate.created">>
): MandateState => {
  const at = fact.occurred_at
  const state = stateAfter(fact, mandate.terms.window.starts_at)
  const next: MandateState = { ...mandate, state, version: mandate.version + 1 }
  switch (fact.type) {
    case "mandate.approved":
      return { ...next, approvedAt: at }
    case "mandate.activated":
      return next
    case "mandate.rejected":
    case "mandate.consumed":
      return { ...next, endedAt: at }
    case "mandate.revoked":
      return { ...next, endedAt: at, revocationReason: fact.data.reason }
    case "mandate.expired":
      return { ...next, endedAt: at, endReason: fact.data.end_reason }
  }
}

const apply = (stream: StreamState | undefined, fact: JournalFact): Step => {
  if (fact.type === "mandate.created") {
    if (stream !== undefined) throw new Error("a mandate was created twice")
    return begin(fact.data, fact.occurred_at)
  }
  if (stream === undefined) throw new Error("a stream began with something other than its creation")
  return "authorization_id" in fact
    ? evolveAuthorization(stream, fact)
    : { mandate: evolveMandate(stream.mandate, fact), open: stream.open }
}

const step = (stream: StreamState | undefined, fact: JournalFact): Step => {
  const next = apply(stream, fact)
  const mandate = prune(next.mandate, instantOf(fact.occurred_at))
  return { ...next, mandate: { ...mandate, updatedAt: fact.occurred_at } }
}

const NO_AUTHORIZATIONS: StreamState["authorizations"] = new Map()

/**
 * Folds one fact into the state of its stream. Total over the streams that the deciders of this package make; a
 * fact that cannot follow is a broken journal and throws.
 */
export const evolve = (stream: StreamState | undefined, fact: JournalFact): StreamState => {
  const { mandate, open, authorization } = step(stream, fact)
  const known = stream?.authorizations ?? NO_AUTHORIZATIONS
  return {
    mandate,
    open,
    authorizations: authorization === undefined ? known : new Map(known).set(authorization.id, authorization)
  }
}

/**
 * Folds facts one after another and yields the state after each, as {@link evolve} does, in time that grows with their
 * number alone: all states share one map of authorizations, so each is to be looked at before the next is asked for.
 */
export function* evolveAll(facts: Iterable<JournalFact>): Generator<StreamState, void> {
  const authorizations = new Map<string, AuthorizationState>()
  let stream: StreamState | undefined
  for (const fact of facts) {
    const { mandate, open, authorization } = step(stream, fact)
    if (authorization !== undefined) authorizations.set(authorization.id, authorization)
    stream = { mandate, open, authorizations }
    yield stream
  }
}
