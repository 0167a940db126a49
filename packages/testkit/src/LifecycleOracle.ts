import { type MandateShape, type ProposalShape, shapeTimes } from "./Arbitraries.ts"

/*
 * A small model of what callers are told: written from the interface, in milliseconds and plain numbers, and sharing
 * nothing with the deciders. It keeps every authorization for good and adds sums up anew each time.
 */

export interface OracleAuthorization {
  readonly number: number
  readonly mandate: OracleMandate
  readonly amount: number
  readonly createdAt: number
  readonly executeBefore: number
  readonly expiresAt: number
  readonly conflicts: Set<string>
  id: string
  state: "RESERVED" | "COMMITTED" | "CANCELLED" | "EXPIRED" | "DENIED" | "INDETERMINATE"
  /** The content of the outcome on record. */
  report: string | undefined
  late: boolean
  refunded: number
}

export interface OracleMandate {
  readonly shape: MandateShape
  readonly startsAt: number
  readonly endsAt: number
  readonly deadline: number
  readonly authorizations: Array<OracleAuthorization>
  id: string
  state: string
  version: number
  events: number
  reason: string | undefined
}

/** The expected result of a step: `ok`, or the refusal with the state that it names. */
export type Expected = string

const MAX_CONFLICTS = 10

export const newMandate = (shape: MandateShape, now: number): OracleMandate => ({
  shape,
  ...shapeTimes(shape, now),
  authorizations: [],
  id: "",
  state: "PENDING_APPROVAL",
  version: 1,
  events: 1,
  reason: undefined
})

const move = (mandate: OracleMandate, state: string): void => {
  mandate.state = state
  mandate.version += 1
  mandate.events += 1
}

interface Due {
  readonly at: number
  readonly rank: number
  readonly apply: () => void
}

const dueOf = (mandate: OracleMandate): ReadonlyArray<Due> => {
  const due: Array<Due> = []
  if (mandate.state === "SCHEDULED") {
    due.push({ at: mandate.startsAt, rank: 0, apply: () => move(mandate, "ACTIVE") })
  }
  for (const authorization of mandate.authorizations) {
    if (authorization.state !== "RESERVED") continue
    const apply = () => {
      authorization.state = "EXPIRED"
      mandate.events += 1
    }
    due.push({ at: authorization.expiresAt, rank: 1, apply })
  }
  if (mandate.state === "PENDING_APPROVAL") {
    due.push({ at: mandate.deadline, rank: 2, apply: () => move(mandate, "EXPIRED") })
  }
  if (mandate.state === "ACTIVE") {
    due.push({ at: mandate.endsAt, rank: 2, apply: () => move(mandate, "EXPIRED") })
  }
  return due.sort((left, right) => left.at - right.at || left.rank - right.rank)
}

/** Lets happen what time brings until `now`. */
export const settleMandate = (mandate: OracleMandate, now: number): void => {
  for (let [next] = dueOf(mandate); next !== undefined && next.at <= now; [next] = dueOf(mandate)) {
    next.apply()
  }
}

/** The instants at which something about the mandate changes by itself. */
const turningPoints = (mandate: OracleMandate): ReadonlyArray<number> => [
  mandate.startsAt,
  mandate.endsAt,
  mandate.deadline,
  ...mandate.authorizations.flatMap(({ executeBefore, expiresAt }) => [executeBefore, expiresAt])
]

const DAY = 86_400_000

/** How long a run waits: so many milliseconds, or until just before, at or just after the next instant that matters. */
export type Wait = number | "before" | "at" | "after"

/** What time it is after waiting. Midnights matter, too: periods end there. */
export const timeAfter = (wait: Wait, mandates: ReadonlyArray<OracleMandate>, now: number): number => {
  if (typeof wait === "number") return now + wait
  const midnight = (Math.floor(now / DAY) + 1) * DAY
  const next = Math.min(midnight, ...mandates.flatMap(turningPoints).filter((at) => at > now + 1))
  return Math.max(now, next + { before: -1, at: 0, after: 1 }[wait])
}

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)
const monthOf = (at: number): string => dayOf(at).slice(0, 7)

const used = (mandate: OracleMandate, within: (authorization: OracleAuthorization) => boolean) => {
  const counted = mandate.authorizations.filter(
    (entry) => (entry.state === "RESERVED" || entry.state === "COMMITTED" || entry.late) && within(entry)
  )
  return { amount: counted.reduce((sum, { amount }) => sum + amount, 0), executions: counted.length }
}

const INACTIVE: Readonly<Record<string, string>> = {
  PENDING_APPROVAL: "MANDATE_NOT_APPROVED",
  SCHEDULED: "MANDATE_NOT_STARTED",
  CONSUMED: "MANDATE_CONSUMED",
  REVOKED: "MANDATE_REVOKED",
  REJECTED: "MANDATE_REJECTED",
  EXPIRED: "MANDATE_EXPIRED"
}

const budgetCodes = (mandate: OracleMandate, amount: number, inEuro: boolean, now: number): Array<string> => {
  const { shape } = mandate
  if (shape.kind === "SINGLE") return []
  const codes: Array<string> = []
  const check = (
    name: "TOTAL" | "PERIOD",
    caps: { readonly amount?: number | undefined; readonly executions?: number | undefined },
    sums: { readonly amount: number; readonly executions: number }
  ) => {
    if (inEuro && caps.amount !== undefined && sums.amount + amount > caps.amount) {
      codes.push(`${name}_AMOUNT_EXCEEDED`)
    }
    if (caps.executions !== undefined && sums.executions + 1 > caps.executions) {
      codes.push(`${name}_EXECUTIONS_EXCEEDED`)
    }
  }
  check(
    "TOTAL",
    { amount: shape.total, executions: shape.executions },
    used(mandate, () => true)
  )
  check(
    "PERIOD",
    shape.day,
    used(mandate, ({ createdAt }) => dayOf(createdAt) === dayOf(now))
  )
  check(
    "PERIOD",
    shape.month,
    used(mandate, ({ createdAt }) => monthOf(createdAt) === monthOf(now))
  )
  return codes
}

/** The codes of the reasons, in order; none is an ALLOW. */
export const reasonCodes = (
  mandate: OracleMandate,
  proposal: ProposalShape,
  now: number
): ReadonlyArray<string> => {
  const inactive = INACTIVE[mandate.state]
  if (inactive !== undefined) return [inactive]
  const { shape, authorizations } = mandate
  const codes: Array<string> = []
  if (shape.kind === "SINGLE" && authorizations.some(({ late }) => late)) codes.push("CAPACITY_UNRESOLVED")
  if (shape.kind === "SINGLE" && authorizations.some(({ state }) => state === "RESERVED")) {
    codes.push("MANDATE_RESERVED")
  }
  const inEuro = proposal.currency === "EUR"
  if (!inEuro) codes.push("CURRENCY_NOT_ALLOWED")
  else if (proposal.amount > shape.maxAmount) codes.push("AMOUNT_ABOVE_MAXIMUM")
  else if (proposal.amount < shape.minAmount) codes.push("AMOUNT_BELOW_MINIMUM")
  if (proposal.action !== "card.create") codes.push("ACTION_NOT_ALLOWED")
  if (shape.merchants && proposal.merchant === undefined) codes.push("ATTRIBUTE_MISSING")
  else if (shape.merchants && proposal.merchant !== "m") codes.push("MERCHANT_NOT_ALLOWED")
  return [...codes, ...budgetCodes(mandate, proposal.amount, inEuro, now)]
}

const decisionOf = (codes: ReadonlyArray<string>): "RESERVED" | "DENIED" | "INDETERMINATE" => {
  if (codes.length === 0) return "RESERVED"
  const undecidable = new Set(["ATTRIBUTE_MISSING", "CAPACITY_UNRESOLVED"])
  return codes.every((code) => undecidable.has(code)) ? "INDETERMINATE" : "DENIED"
}

/** Decides a proposal and keeps it. */
export const decideProposal = (
  mandate: OracleMandate,
  number: number,
  proposal: ProposalShape,
  at: { readonly now: number; readonly grace: number }
): { readonly authorization: OracleAuthorization; readonly codes: ReadonlyArray<string> } => {
  const { now, grace } = at
  settleMandate(mandate, now)
  const codes = reasonCodes(mandate, proposal, now)
  const executeBefore = Math.min(now + proposal.window * 1000, mandate.endsAt)
  const authorization: OracleAuthorization = {
    number,
    mandate,
    amount: proposal.amount,
    createdAt: now,
    executeBefore,
    expiresAt: executeBefore + grace,
    conflicts: new Set(),
    id: "",
    state: decisionOf(codes),
    report: undefined,
    late: false,
    refunded: 0
  }
  mandate.authorizations.push(authorization)
  mandate.events += 1
  return { authorization, codes }
}

const contradict = (authorization: OracleAuthorization, report: string): Expected => {
  const { conflicts, mandate, state } = authorization
  const answer = `TerminalStateConflict ${state}`
  if (state === "DENIED" || state === "INDETERMINATE" || conflicts.has(report)) return answer
  const late = report.startsWith("commit") && state !== "COMMITTED" && !authorization.late
  if (!late && conflicts.size >= MAX_CONFLICTS) return answer
  conflicts.add(report)
  authorization.late ||= late
  mandate.events += 1
  return answer
}

const consume = (mandate: OracleMandate): void => {
  const { shape } = mandate
  const committed = mandate.authorizations.filter(({ state }) => state === "COMMITTED")
  const amount = committed.reduce((sum, entry) => sum + entry.amount, 0)
  const filled =
    shape.kind === "SINGLE" ||
    (shape.total !== undefined && amount >= shape.total) ||
    (shape.executions !== undefined && committed.length >= shape.executions)
  if (mandate.state === "ACTIVE" && filled) move(mandate, "CONSUMED")
}

/** Reports an outcome: a commit or a cancellation with content that the text stands for. */
export const reportOutcome = (authorization: OracleAuthorization, report: string, now: number): Expected => {
  const { mandate } = authorization
  settleMandate(mandate, now)
  if (authorization.report === report) return "ok"
  if (authorization.state !== "RESERVED") return contradict(authorization, report)
  authorization.state = report.startsWith("commit") ? "COMMITTED" : "CANCELLED"
  authorization.report = report
  mandate.events += 1
  if (authorization.state === "COMMITTED") consume(mandate)
  return "ok"
}

export const reportRefund = (authorization: OracleAuthorization, amount: number, now: number): Expected => {
  settleMandate(authorization.mandate, now)
  if (authorization.state !== "COMMITTED") return `StateConflict ${authorization.state}`
  if (authorization.refunded + amount > authorization.amount) return "RefundExceedsCommitted"
  authorization.refunded += amount
  authorization.mandate.events += 1
  return "ok"
}

export const revoke = (mandate: OracleMandate, reason: string, now: number): Expected => {
  settleMandate(mandate, now)
  if (mandate.state === "REVOKED" && mandate.reason === reason) return "ok"
  if (!["PENDING_APPROVAL", "SCHEDULED", "ACTIVE"].includes(mandate.state)) {
    return `StateConflict ${mandate.state}`
  }
  mandate.reason = reason
  move(mandate, "REVOKED")
  return "ok"
}

export const answer = (mandate: OracleMandate, approved: boolean, now: number): Expected => {
  settleMandate(mandate, now)
  if (mandate.state !== "PENDING_APPROVAL") return `StateConflict ${mandate.state}`
  move(mandate, approved ? (now >= mandate.startsAt ? "ACTIVE" : "SCHEDULED") : "REJECTED")
  return "ok"
}
