import { createHash, randomUUID } from "node:crypto"

/** A mandate as its row has it. */
export interface Mandate {
  readonly id: string
  readonly status: string
  readonly currency: string
  readonly maxAmount: number
  readonly allowedActions: ReadonlyArray<string>
  readonly endsAt: Date
  readonly monthLimit: number
  readonly seq: number
  readonly head: string
}

/** What is reserved and spent of a mandate's budget of a month. */
export interface Budget {
  readonly mandate: string
  /** Its first day, as `YYYY-MM-DD`. */
  readonly month: string
  readonly reserved: number
  readonly committed: number
  readonly executions: number
}

export interface AuthorizationRow {
  readonly id: string
  readonly mandate: string
  readonly state: string
  readonly amount: number
  readonly month: string
  readonly commitment: string
  readonly expiresAt: Date
  readonly resource: string
}

export interface EventRow {
  readonly mandate: string
  readonly seq: number
  readonly hash: string
  readonly type: string
  readonly text: string
}

export interface Answer {
  readonly status: number
  readonly body: string
}

/** The rows that a step writes. */
export interface Change {
  readonly mandate: Mandate
  readonly budget: Budget
  readonly authorization: AuthorizationRow
  readonly isNew: boolean
  readonly event: EventRow
}

export interface Proposal {
  readonly external_reference: string
  readonly proposed_action: {
    readonly action: string
    readonly payment: { readonly amount: number; readonly currency: string }
  }
  readonly execution_window_seconds: number
  readonly commitment: string
}

export interface Report {
  readonly external_action_reference: string
  readonly provider_transaction_reference: string
  readonly reported_accepted_at: string
  readonly commitment_opening: string
}

const sha256 = (...parts: ReadonlyArray<string | Buffer>): string => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest("base64url")
}

export const fingerprintOf = (line: string, body: unknown): string => sha256(line, "\n", JSON.stringify(body))

export const hashOf = (previous: string, text: string): string => sha256(previous, "\n", text)

export const refusal = (status: number, code: string): Answer => ({ status, body: JSON.stringify({ code }) })

export const monthOf = (now: Date): string => `${now.toISOString().slice(0, 7)}-01`

const reasonsAgainst = (
  mandate: Mandate,
  budget: Budget,
  { proposed_action }: Proposal,
  now: Date
): ReadonlyArray<string> => {
  const { action, payment } = proposed_action
  const isOpen = mandate.status === "ACTIVE" && now < mandate.endsAt
  if (!isOpen) return ["MANDATE_NOT_ACTIVE"]
  const isWithinBudget = budget.reserved + budget.committed + payment.amount <= mandate.monthLimit
  return [
    ...(payment.currency === mandate.currency ? [] : ["CURRENCY_NOT_ALLOWED"]),
    ...(payment.amount <= mandate.maxAmount ? [] : ["AMOUNT_ABOVE_MAXIMUM"]),
    ...(mandate.allowedActions.includes(action) ? [] : ["ACTION_NOT_ALLOWED"]),
    ...(isWithinBudget ? [] : ["PERIOD_AMOUNT_EXCEEDED"])
  ]
}

/** The next event of a mandate, and the mandate with it at the head of its chain. */
const withEvent = (mandate: Mandate, type: string, now: Date, data: object) => {
  const seq = mandate.seq + 1
  const text = JSON.stringify({
    id: `evt_${randomUUID()}`,
    mandate_id: mandate.id,
    sequence: seq,
    type,
    occurred_at: now.toISOString(),
    previous: mandate.head,
    data
  })
  const event: EventRow = { mandate: mandate.id, seq, hash: hashOf(mandate.head, text), type, text }
  return { event, mandate: { ...mandate, seq, head: event.hash } }
}

/** Decides on a proposal; what is allowed is reserved of this month's budget. */
export const decideProposal = (mandate: Mandate, budget: Budget, proposal: Proposal, now: Date): Change => {
  const reasons = reasonsAgainst(mandate, budget, proposal, now)
  const isAllowed = reasons.length === 0
  const expiresAt = new Date(now.getTime() + proposal.execution_window_seconds * 1000)
  const { amount } = proposal.proposed_action.payment
  const state = isAllowed ? "RESERVED" : "DENIED"
  const id = `aut_${randomUUID()}`
  const resource = {
    id,
    mandate_id: mandate.id,
    external_reference: proposal.external_reference,
    decision: isAllowed ? "ALLOW" : "DENY",
    reasons,
    state,
    can_execute: isAllowed,
    ...(isAllowed ? { execute_before: expiresAt.toISOString() } : {}),
    proposed_action: proposal.proposed_action,
    commitment: proposal.commitment,
    created_at: now.toISOString()
  }
  return {
    authorization: {
      id,
      mandate: mandate.id,
      state,
      amount,
      month: budget.month,
      commitment: proposal.commitment,
      expiresAt,
      resource: JSON.stringify(resource)
    },
    isNew: true,
    budget: isAllowed ? { ...budget, reserved: budget.reserved + amount } : budget,
    ...withEvent(mandate, `authorization.${state.toLowerCase()}`, now, resource)
  }
}

/** Decides on the report that an authorization was executed: its reservation is then spent. */
export const decideReport = (
  mandate: Mandate,
  budget: Budget,
  authorization: AuthorizationRow,
  report: Report,
  now: Date
): Change | Answer => {
  const opening = Buffer.from(report.commitment_opening, "base64url")
  if (sha256("svc:authorization:commitment:v1\n", opening) !== authorization.commitment)
    return refusal(422, "commitment_mismatch")
  if (authorization.state !== "RESERVED" || now >= authorization.expiresAt)
    return refusal(409, "state_conflict")
  const { commitment_opening: _, ...commit } = report
  const resource = {
    ...JSON.parse(authorization.resource),
    state: "COMMITTED",
    can_execute: false,
    closed_at: now.toISOString(),
    commit
  }
  return {
    authorization: { ...authorization, state: "COMMITTED", resource: JSON.stringify(resource) },
    isNew: false,
    budget: {
      ...budget,
      reserved: budget.reserved - authorization.amount,
      committed: budget.committed + authorization.amount,
      executions: budget.executions + 1
    },
    ...withEvent(mandate, "authorization.committed", now, { ...resource, report })
  }
}

/** Releases a reservation whose time is over. */
export const expire = (
  mandate: Mandate,
  budget: Budget,
  authorization: AuthorizationRow,
  now: Date
): Change => {
  const resource = {
    ...JSON.parse(authorization.resource),
    state: "EXPIRED",
    can_execute: false,
    closed_at: authorization.expiresAt.toISOString()
  }
  return {
    authorization: { ...authorization, state: "EXPIRED", resource: JSON.stringify(resource) },
    isNew: false,
    budget: { ...budget, reserved: budget.reserved - authorization.amount },
    ...withEvent(mandate, "authorization.expired", now, resource)
  }
}
