import { createHash, randomUUID } from "node:crypto"

/** A mandate as its row has it. */
export interface Mandate {
  readonly id: string
  readonly status: string
  readonly currency: string
  readonly maxAmount: number
  readonly allowedActions: ReadonlyArray<string>
  readonly endsAt: Date
  /** That the counters are of, as `YYYY-MM-DD`. */
  readonly month: string
  readonly monthLimit: number
  readonly reserved: number
  readonly committed: number
  readonly executions: number
  readonly seq: number
  readonly head: string
}

export interface AuthorizationRow {
  readonly id: string
  readonly mandate: string
  readonly state: string
  readonly amount: number
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

/** Changes that go into one transaction, and the answer to give once it is durable. */
export interface Decided {
  readonly answer: Answer
  readonly change?: {
    readonly mandate: Mandate
    readonly authorization: AuthorizationRow
    readonly event: EventRow
  }
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

const monthOf = (now: Date): string => `${now.toISOString().slice(0, 7)}-01`

/** The mandate in the month of the instant, whose budget begins anew. */
const inMonthOf = (mandate: Mandate, now: Date): Mandate => {
  const month = monthOf(now)
  return month === mandate.month ? mandate : { ...mandate, month, reserved: 0, committed: 0 }
}

const reasonsAgainst = (
  mandate: Mandate,
  { proposed_action }: Proposal,
  now: Date
): ReadonlyArray<string> => {
  const { action, payment } = proposed_action
  const isOpen = mandate.status === "ACTIVE" && now < mandate.endsAt
  if (!isOpen) return ["MANDATE_NOT_ACTIVE"]
  const isWithinBudget = mandate.reserved + mandate.committed + payment.amount <= mandate.monthLimit
  return [
    ...(payment.currency === mandate.currency ? [] : ["CURRENCY_NOT_ALLOWED"]),
    ...(payment.amount <= mandate.maxAmount ? [] : ["AMOUNT_ABOVE_MAXIMUM"]),
    ...(mandate.allowedActions.includes(action) ? [] : ["ACTION_NOT_ALLOWED"]),
    ...(isWithinBudget ? [] : ["PERIOD_AMOUNT_EXCEEDED"])
  ]
}

const nextEvent = (mandate: Mandate, type: string, now: Date, data: object): EventRow => {
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
  return { mandate: mandate.id, seq, hash: hashOf(mandate.head, text), type, text }
}

/** Decides on a proposal; what is allowed is reserved. */
export const decideProposal = (stored: Mandate, proposal: Proposal, now: Date): Decided => {
  const mandate = inMonthOf(stored, now)
  const reasons = reasonsAgainst(mandate, proposal, now)
  const isAllowed = reasons.length === 0
  const expiresAt = new Date(now.getTime() + proposal.execution_window_seconds * 1000)
  const { amount } = proposal.proposed_action.payment
  const state = isAllowed ? "RESERVED" : "DENIED"
  const id = `aut_${randomUUID()}`
  const resource = JSON.stringify({
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
  })
  const event = nextEvent(mandate, `authorization.${state.toLowerCase()}`, now, JSON.parse(resource))
  return {
    answer: { status: 201, body: resource },
    change: {
      authorization: {
        id,
        mandate: mandate.id,
        state,
        amount,
        commitment: proposal.commitment,
        expiresAt,
        resource
      },
      event,
      mandate: {
        ...mandate,
        reserved: mandate.reserved + (isAllowed ? amount : 0),
        seq: event.seq,
        head: event.hash
      }
    }
  }
}

/** Decides on the report that an authorization was executed: its reservation is then spent. */
export const decideReport = (
  stored: Mandate,
  authorization: AuthorizationRow,
  report: Report,
  now: Date
): Decided => {
  const opening = Buffer.from(report.commitment_opening, "base64url")
  if (sha256("svc:authorization:commitment:v1\n", opening) !== authorization.commitment)
    return { answer: refusal(422, "commitment_mismatch") }
  if (authorization.state !== "RESERVED" || now >= authorization.expiresAt)
    return { answer: refusal(409, "state_conflict") }
  const mandate = inMonthOf(stored, now)
  const { commitment_opening: _, ...commit } = report
  const resource = JSON.stringify({
    ...JSON.parse(authorization.resource),
    state: "COMMITTED",
    can_execute: false,
    closed_at: now.toISOString(),
    commit
  })
  const event = nextEvent(mandate, "authorization.committed", now, { ...JSON.parse(resource), report })
  return {
    answer: { status: 200, body: resource },
    change: {
      authorization: { ...authorization, state: "COMMITTED", resource },
      event,
      mandate: {
        ...mandate,
        reserved: mandate.reserved - authorization.amount,
        committed: mandate.committed + authorization.amount,
        executions: mandate.executions + 1,
        seq: event.seq,
        head: event.hash
      }
    }
  }
}
