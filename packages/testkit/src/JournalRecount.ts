/**
 * Counts journals again from their texts, and checks at each event what must hold there. It shares no code with the
 * domain, on purpose: hashes, canonical form, calendar and arithmetic are its own, and it trusts no recorded value
 * that it can work out.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import type { AuditLog } from "./AuditLog.ts"
import { type RecountBudget, recountBudget } from "./RecountBudget.ts"
import { type BudgetPeriod, nanosOf } from "./RecountCalendar.ts"

// biome-ignore lint/suspicious/noExplicitAny: read as the journal documents it, and compared
export type Recorded = any

/** JSON with sorted members, for values whose numbers are integers. A member that is undefined is absent. */
export const canonical = (value: Recorded): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  if (value === null || typeof value !== "object") return JSON.stringify(value)
  const members = Object.keys(value)
    .filter((name) => value[name] !== undefined)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)
  return `{${members.join(",")}}`
}

/** Differences that a message names at most. */
const TOLD_DIFFERENCES = 3

const differing = (shown: Recorded, counted: Recorded, place: string): ReadonlyArray<string> => {
  if (canonical(shown ?? null) === canonical(counted ?? null)) return []
  const isBranch = (value: Recorded): boolean => typeof value === "object" && value !== null
  if (!isBranch(shown) || !isBranch(counted)) {
    const words = (value: Recorded): string => (value === undefined ? "nothing" : canonical(value))
    return [`${place}: shown ${words(shown)}, recounted ${words(counted)}`]
  }
  const names = new Set([...Object.keys(shown), ...Object.keys(counted)])
  return [...names].flatMap((name) => {
    const at = Array.isArray(counted) ? `${place}[${name}]` : place === "" ? name : `${place}.${name}`
    return differing(shown[name], counted[name], at)
  })
}

/** In what two values differ, member by member: `reserved_amount: shown 0, recounted 500`. */
export const differencesOf = (shown: Recorded, counted: Recorded): string => {
  const all = differing(shown, counted, "")
  const more = all.length > TOLD_DIFFERENCES ? `; and ${all.length - TOLD_DIFFERENCES} more` : ""
  return all.slice(0, TOLD_DIFFERENCES).join("; ") + more
}

/** SHA-256 of a text in UTF-8, in base64url. */
export const digestOf = (text: string): string =>
  Buffer.from(sha256(new TextEncoder().encode(text))).toString("base64url")

const NANOS_PER_SECOND = 1_000_000_000n

/** Events that the caller reported; the service vouches for all others. */
const CALLER_REPORTED = new Set([
  "authorization.committed",
  "authorization.cancelled",
  "authorization.outcome_conflict",
  "authorization.refund_reported"
])

/** From which states an event moves a mandate, and where to. */
const MOVES: Readonly<Record<string, readonly [from: ReadonlyArray<string>, to: string]>> = {
  "mandate.created": [[""], "PENDING_APPROVAL"],
  "mandate.approved": [["PENDING_APPROVAL"], "ACTIVE"],
  "mandate.rejected": [["PENDING_APPROVAL"], "REJECTED"],
  "mandate.activated": [["SCHEDULED"], "ACTIVE"],
  "mandate.consumed": [["ACTIVE"], "CONSUMED"],
  "mandate.revoked": [["PENDING_APPROVAL", "SCHEDULED", "ACTIVE"], "REVOKED"],
  "mandate.expired": [["PENDING_APPROVAL", "ACTIVE"], "EXPIRED"]
}

/** Events that come by themselves, when they are due and before any other. */
const DUE_EVENTS = new Set([
  "mandate.activated",
  "mandate.consumed",
  "mandate.expired",
  "authorization.expired"
])

const DECISIONS: Readonly<Record<string, readonly [decision: string, state: string]>> = {
  "authorization.reserved": ["ALLOW", "RESERVED"],
  "authorization.denied": ["DENY", "DENIED"],
  "authorization.indeterminate": ["INDETERMINATE", "INDETERMINATE"]
}

const OUTCOMES: Readonly<Record<string, string>> = {
  "authorization.committed": "COMMITTED",
  "authorization.cancelled": "CANCELLED",
  "authorization.expired": "EXPIRED"
}

/** Outcomes that a report can contradict. */
const OUTCOMES_ON_RECORD = new Set(Object.values(OUTCOMES))

export interface CountedAuthorization {
  readonly id: string
  /** Of creation within the mandate, from 1. */
  readonly order: number
  readonly amount: bigint
  readonly commitment: string
  /** The periods of its decision, which hold its use. */
  readonly periods: ReadonlyArray<BudgetPeriod>
  /** Nanoseconds since the epoch; with `expiresAt` of use for an ALLOW alone. */
  readonly executeBefore: bigint
  readonly expiresAt: bigint
  state: string
  terminalEvents: number
  late: boolean
  refunded: bigint
}

/** What the journal of one mandate adds up to. */
export interface CountedMandate {
  readonly id: string
  /** The data of `mandate.created`. */
  readonly terms: Recorded
  readonly budget: RecountBudget
  readonly texts: Array<string>
  readonly events: Array<Recorded>
  /** In order of creation. */
  readonly authorizations: Map<string, CountedAuthorization>
  /** Those of them that are RESERVED, in the same order. */
  readonly open: Map<string, CountedAuthorization>
  state: string
  version: number
}

interface Due {
  readonly type: string
  readonly at: bigint
  readonly authorization?: string
}

/**
 * What comes next without a command: a mandate whose budget was used up is consumed at once; then by instant, and at
 * one instant activation, authorizations in order of creation, the mandate's end (part 4).
 */
export const nextDue = ({ budget, events, open, state, terms }: CountedMandate): Due | undefined => {
  const { approval_deadline, window } = terms
  if (state === "ACTIVE" && budget.isUsedUp()) {
    return { type: "mandate.consumed", at: nanosOf(events.at(-1).occurred_at) }
  }
  const due: Array<Due> = []
  if (state === "SCHEDULED") due.push({ type: "mandate.activated", at: nanosOf(window.starts_at) })
  for (const { expiresAt, id } of open.values()) {
    due.push({ type: "authorization.expired", at: expiresAt, authorization: id })
  }
  if (state === "PENDING_APPROVAL") due.push({ type: "mandate.expired", at: nanosOf(approval_deadline) })
  if (state === "ACTIVE") due.push({ type: "mandate.expired", at: nanosOf(window.ends_at) })
  const [first, ...others] = due
  return first && others.reduce((next, one) => (one.at < next.at ? one : next), first)
}

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/u

/** The place of an event in its stream: numbers without gaps, a canonical text, hashes that chain, order of time. */
const checkChain = (
  previous: Recorded,
  event: Recorded,
  text: string,
  about: string,
  { check }: AuditLog
) => {
  const { hash, ...rest } = event
  const source = CALLER_REPORTED.has(event.type) ? "CALLER_REPORTED" : "SERVICE_VERIFIED"
  check("streams without gaps", event.seq === (previous?.seq ?? 0) + 1, `${about} after ${previous?.seq}`)
  check("canonical texts", canonical(event) === text, about)
  check("event hashes", digestOf(`svc:journal:event:v1\n${canonical(rest)}`) === hash, about)
  check("links of the chain", event.previous_hash === previous?.hash, about)
  check("order of time", previous === undefined || previous.occurred_at <= event.occurred_at, about)
  check("instants with nine digits", INSTANT.test(event.occurred_at), `${about}: ${event.occurred_at}`)
  check("sources of events", event.source === source, `${about}: ${event.type} from ${event.source}`)
}

/** One event of a mandate, to be counted. */
interface Entry {
  readonly mandate: CountedMandate
  readonly event: Recorded
  readonly at: bigint
  readonly check: (name: string, holds: boolean, about?: string) => void
}

/** What is due comes when it is due and in its order, and nothing comes before it. */
const checkDue = ({ at, check, event, mandate }: Entry): void => {
  const due = nextDue(mandate)
  const isInTurn = DUE_EVENTS.has(event.type)
    ? due?.type === event.type && due?.at === at && due?.authorization === event.authorization_id
    : due === undefined || due.at > at
  check("what is due comes first", isInTurn, `before ${due?.type} ${due?.authorization ?? ""}`)
}

const moveMandate = ({ at, check, event, mandate }: Entry): void => {
  const [from, to] = MOVES[event.type] ?? [[], mandate.state]
  check("moves between states", from.includes(mandate.state), `from ${mandate.state}`)
  const isEarly = event.type === "mandate.approved" && at < nanosOf(mandate.terms.window.starts_at)
  mandate.state = isEarly ? "SCHEDULED" : to
  mandate.version++
}

const checkAllow = ({ at, check, event, mandate }: Entry, authorization: CountedAuthorization): void => {
  const { policy, window } = mandate.terms
  const { amount, executeBefore, expiresAt } = authorization
  const { execute_before, expires_at, proposed_action } = event.data
  check("ALLOW of active mandates only", mandate.state === "ACTIVE", `in state ${mandate.state}`)
  check("ALLOW within the window", nanosOf(window.starts_at) <= at && at < nanosOf(window.ends_at))
  check(
    "ALLOW within the policy's bounds",
    amount >= BigInt(policy.min_amount) &&
      amount <= BigInt(policy.max_amount) &&
      proposed_action.payment.currency === policy.currency,
    `${amount} ${proposed_action.payment.currency}`
  )
  check(
    "deadlines of an ALLOW",
    nanosOf(execute_before) === executeBefore && nanosOf(expires_at) === expiresAt,
    `${execute_before}, ${expires_at}`
  )
}

/** The authorization that a decision makes, its deadlines worked out from what was asked for. */
const authorizationOf = ({ at, event, mandate }: Entry): CountedAuthorization => {
  const { commitment, execution_window_seconds, proposed_action, report_grace_seconds = 0 } = event.data
  const asked = at + BigInt(execution_window_seconds) * NANOS_PER_SECOND
  const end = nanosOf(mandate.terms.window.ends_at)
  const executeBefore = asked < end ? asked : end
  return {
    id: event.authorization_id,
    order: mandate.authorizations.size + 1,
    amount: BigInt(proposed_action.payment.amount),
    commitment,
    periods: mandate.budget.periodsAt(at),
    executeBefore,
    expiresAt: executeBefore + BigInt(report_grace_seconds) * NANOS_PER_SECOND,
    state: DECISIONS[event.type]?.[1] ?? "",
    terminalEvents: 0,
    late: false,
    refunded: 0n
  }
}

const decide = (entry: Entry): void => {
  const { at, check, event, mandate } = entry
  const { authorizations, budget, open } = mandate
  const { decision, reasons, usage } = event.data
  const counted = budget.usageAt(at)
  const authorization = authorizationOf(entry)
  const { amount, id, periods, state } = authorization
  check("decisions under their type", decision === DECISIONS[event.type]?.[0], decision)
  check("reasons of all but ALLOW", (reasons.length === 0) === (state === "RESERVED"), canonical(reasons))
  const isAsCounted = canonical(usage) === canonical(counted)
  check("usage as decided on", isAsCounted, isAsCounted ? "" : differencesOf(usage, counted))
  check("one decision per authorization", !authorizations.has(id), id)
  authorizations.set(id, authorization)
  if (state !== "RESERVED") return
  open.set(id, authorization)
  checkAllow(entry, authorization)
  budget.spend("reserved", amount, periods)
  // A late report may leave an earlier period over its cap, which denies nothing in this one.
  const over = budget.overspent(["committed", "reserved", "late"], periods)
  check("budgets kept, late use counted, at each ALLOW", over.length === 0, `over ${over.join(", ")}`)
}

const close = ({ check, event, mandate }: Entry, authorization: CountedAuthorization): void => {
  const { amount, id, periods } = authorization
  authorization.terminalEvents++
  check(
    "one terminal event per authorization",
    authorization.terminalEvents === 1 && authorization.state === "RESERVED",
    `${id} was ${authorization.state}`
  )
  authorization.state = OUTCOMES[event.type] ?? ""
  mandate.open.delete(id)
  mandate.budget.spend("reserved", amount, periods, -1)
  if (authorization.state === "COMMITTED") mandate.budget.spend("committed", amount, periods)
}

/** The first commit reported after a reservation was given up counts as late use, in the periods that go on (part 5). */
const contradict = ({ at, check, event, mandate }: Entry, authorization: CountedAuthorization): void => {
  const { amount, id, late, periods, state } = authorization
  const isLate = event.data.reported === "COMMITTED" && !late && ["EXPIRED", "CANCELLED"].includes(state)
  check("conflicts with an outcome", OUTCOMES_ON_RECORD.has(state), `${id} is ${state}`)
  check("late use counted once", event.data.late === isLate, `${id} is ${state}`)
  if (event.data.late !== true) return
  authorization.late = true
  mandate.budget.spend(
    "late",
    amount,
    periods.filter(({ endsAt }) => endsAt > at)
  )
}

const refund = ({ check, event }: Entry, authorization: CountedAuthorization): void => {
  const { amount, id, state } = authorization
  authorization.refunded += BigInt(event.data.amount)
  const isWithin = state === "COMMITTED" && authorization.refunded <= amount
  check("refunds within the committed amount", isWithin, `${id} is ${state}: ${authorization.refunded}`)
}

const count = (entry: Entry): void => {
  const { check, event, mandate } = entry
  checkDue(entry)
  if (DECISIONS[event.type] !== undefined) decide(entry)
  else if (MOVES[event.type] !== undefined) moveMandate(entry)
  else {
    const authorization = mandate.authorizations.get(event.authorization_id)
    check("outcomes of known authorizations", authorization !== undefined, event.authorization_id)
    if (authorization === undefined) return
    if (OUTCOMES[event.type] !== undefined) close(entry, authorization)
    else if (event.type === "authorization.outcome_conflict") contradict(entry, authorization)
    else if (event.type === "authorization.refund_reported") refund(entry, authorization)
    else check("events of known types", false)
  }
}

/** Whether the mandate is as its last event says. */
const checkAfter = ({ check, event, mandate }: Entry): void => {
  const over = mandate.budget.overspent(["committed", "reserved"])
  check("budgets kept at each event", over.length === 0, `over ${over.join(", ")}`)
  check(
    "versions",
    event.mandate_version === mandate.version,
    `${event.mandate_version}, not ${mandate.version}`
  )
}

const begin = (id: string, terms: Recorded): CountedMandate => ({
  id,
  terms,
  budget: recountBudget(terms),
  texts: [],
  events: [],
  authorizations: new Map(),
  open: new Map(),
  state: "",
  version: 0
})

export interface JournalRecount {
  /** Counts one more event of a mandate. */
  readonly append: (mandate: string, text: string) => void
  readonly mandates: ReadonlyMap<string, CountedMandate>
}

/** A recount of the journals of one organization, to which each event is given once, in the order of its stream. */
export const recountJournals = (log: AuditLog): JournalRecount => {
  const mandates = new Map<string, CountedMandate>()
  const identifiers = new Set<string>()
  const commitments = new Set<string>()

  const once = (name: string, seen: Set<string>, value: string, about: string): void => {
    log.check(name, !seen.has(value), `${about}: ${value}`)
    seen.add(value)
  }
  const append = (id: string, text: string): void => {
    const event = JSON.parse(text)
    const about = `${id} ${event.seq} (${event.type})`
    checkChain(mandates.get(id)?.events.at(-1), event, text, about, log)
    once("one event per identifier", identifiers, event.id, about)
    if (!mandates.has(id)) {
      log.check("journals begin with the creation", event.type === "mandate.created", about)
      if (event.type !== "mandate.created") return
      mandates.set(id, begin(id, event.data))
    }
    const mandate = mandates.get(id)
    if (mandate === undefined || !INSTANT.test(event.occurred_at)) return
    if (DECISIONS[event.type] !== undefined) {
      once("one authorization per commitment", commitments, event.data.commitment, about)
    }
    const entry: Entry = {
      mandate,
      event,
      at: nanosOf(event.occurred_at),
      check: (name, holds, what = "") => log.check(name, holds, `${about} ${what}`)
    }
    count(entry)
    mandate.texts.push(text)
    mandate.events.push(event)
    checkAfter(entry)
  }
  return { append, mandates }
}
