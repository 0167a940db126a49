import type {
  CancellationBody,
  CommitBody,
  CreateAuthorizationBody,
  RefundBody
} from "@svc/protocol/Authorization"
import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { openingMatches } from "@svc/protocol/evidence/Commitment"
import type { MandateStateName } from "@svc/protocol/Mandate"
import { MAX_BODY_BYTES } from "@svc/protocol/request/MaxBodyBytes"
import { formatNanos, type Instant, NANOS_PER_SECOND, normalizeTimestamp } from "@svc/protocol/Timestamp"
import { utf8Length } from "@svc/protocol/Utf8"
import { Result } from "effect"
import type { ApprovalRecord } from "../approval/ApprovalStatement.ts"
import { evaluatePolicy } from "../policy/PolicyEvaluation.ts"
import {
  CommitmentMismatch,
  MandateLimitReached,
  NotFound,
  RefundExceedsCommitted,
  StateConflict,
  TerminalStateConflict,
  ValidationFailed
} from "../Refusals.ts"
import { commitReserved } from "./Counters.ts"
import {
  type DecisionData,
  type JournalFact,
  type OutcomeConflictData,
  RULES_VERSION
} from "./JournalFact.ts"
import {
  CLOSING_EVENT_BYTES,
  MAX_AUTHORIZATIONS,
  MAX_JOURNAL_BYTES,
  MAX_OPEN_RESERVATIONS,
  MAX_OUTCOME_CONFLICTS,
  MAX_REFUND_REPORTS,
  REPORT_LEAD_SECONDS
} from "./MandateLimits.ts"
import type { AuthorizationState, MandateState, StreamState } from "./MandateState.ts"
import { outcomeDigest } from "./OutcomeDigest.ts"
import { instantOf, prepareTerms } from "./PreparedTerms.ts"
import { usageAt } from "./Usage.ts"

/** What may be asked of a mandate that exists. Bodies are checked against their schemas before. */
export type Command =
  | { readonly _tag: "Approve"; readonly approval: ApprovalRecord }
  | { readonly _tag: "Reject"; readonly approvalSessionId: string }
  | { readonly _tag: "Revoke"; readonly reason: string }
  | {
      readonly _tag: "Propose"
      readonly authorizationId: string
      readonly body: CreateAuthorizationBody
      readonly reportGraceSeconds: number
    }
  | { readonly _tag: "Commit"; readonly authorizationId: string; readonly body: CommitBody }
  | { readonly _tag: "Cancel"; readonly authorizationId: string; readonly body: CancellationBody }
  | { readonly _tag: "ReportRefund"; readonly authorizationId: string; readonly body: RefundBody }

/** Why a command has no effect. */
export type Refusal =
  | ValidationFailed
  | NotFound
  | StateConflict
  | TerminalStateConflict
  | CommitmentMismatch
  | MandateLimitReached
  | RefundExceedsCommitted

/** What a command leads to. */
export interface Decided {
  /** Empty when the command asks for what already is. */
  readonly facts: ReadonlyArray<JournalFact>
  /** Instants at or after which the decision may differ. */
  readonly boundaries: ReadonlyArray<Instant>
  /** Set when the facts only put a contradicting report on record: the answer is a refusal. */
  readonly refusal?: TerminalStateConflict
}

type Verdict = Result.Result<Decided, Refusal>

const accepted = (facts: ReadonlyArray<JournalFact>, boundaries: ReadonlyArray<Instant> = []): Verdict =>
  Result.succeed({ facts, boundaries })

const alreadySo = accepted([])

const mandateConflict = ({ mandate }: StreamState, needed: ReadonlyArray<MandateStateName>): Verdict =>
  Result.fail(
    new StateConflict({ currentState: mandate.state, resourceId: mandate.terms.mandate_id, needed })
  )

const tooFarAhead = (text: string, now: Instant): boolean =>
  instantOf(text) > now + BigInt(REPORT_LEAD_SECONDS) * NANOS_PER_SECOND

const leadFault = (member: string): Verdict =>
  Result.fail(
    new ValidationFailed({
      errors: [
        {
          pointer: `/${member}`,
          code: "in_future",
          detail: `must not be more than ${REPORT_LEAD_SECONDS} seconds in the future`
        }
      ]
    })
  )

/**
 * More than any event has, in bytes: a number of a body may be written in four times the bytes that it was sent in, and a refusal may name
 * every authorization of the mandate, each in less than 64 bytes.
 */
const AMPLE_EVENT_BYTES = 4 * MAX_BODY_BYTES + 64 * MAX_AUTHORIZATIONS

/** Whether the journal has room for one more event beside those that will close the mandate and its open reservations. */
const fitsJournal = (stream: StreamState, journalBytes: number, data: unknown, opens: number): boolean => {
  const closing = (stream.open.length + opens + 1) * CLOSING_EVENT_BYTES
  const left = MAX_JOURNAL_BYTES - journalBytes - closing
  // Most journals are short, so that the event need not be written to see that it fits.
  if (left >= AMPLE_EVENT_BYTES) return true
  // The canonical text has the same members in another order, so it is as long.
  return utf8Length(JSON.stringify(data)) + CLOSING_EVENT_BYTES <= left
}

const limitReached = (detail: string): Verdict => Result.fail(new MandateLimitReached({ detail }))

const DECISION_EVENT = {
  ALLOW: "authorization.reserved",
  DENY: "authorization.denied",
  INDETERMINATE: "authorization.indeterminate"
} as const

const executionDeadlines = (
  stream: StreamState,
  command: Extract<Command, { _tag: "Propose" }>,
  now: Instant
): Pick<DecisionData, "execute_before" | "expires_at" | "report_grace_seconds"> => {
  const { terms } = stream.mandate
  const { endsAt } = prepareTerms(terms)
  const asked = now + BigInt(command.body.execution_window_seconds) * NANOS_PER_SECOND
  // The end of the window appears as the caller wrote it.
  const execute_before = asked < endsAt ? formatNanos(asked) : terms.window.ends_at
  const grace = BigInt(command.reportGraceSeconds) * NANOS_PER_SECOND
  return {
    execute_before,
    expires_at: grace === 0n ? execute_before : formatNanos(instantOf(execute_before) + grace),
    report_grace_seconds: command.reportGraceSeconds
  }
}

const propose = (
  stream: StreamState,
  journalBytes: number,
  command: Extract<Command, { _tag: "Propose" }>,
  now: Instant
): Verdict => {
  if (stream.mandate.authorizationCount >= MAX_AUTHORIZATIONS) {
    return limitReached(`The mandate has ${MAX_AUTHORIZATIONS} authorizations, as many as it may.`)
  }
  const { body } = command
  const { decision, reasons, periods } = evaluatePolicy(stream, body.proposed_action, now)
  const allowed = decision === "ALLOW"
  if (allowed && stream.open.length >= MAX_OPEN_RESERVATIONS) {
    return limitReached(`The mandate has ${MAX_OPEN_RESERVATIONS} open reservations, as many as it may.`)
  }
  const data: DecisionData = {
    rules_version: RULES_VERSION,
    external_reference: body.external_reference,
    proposed_action: body.proposed_action,
    commitment: body.commitment,
    execution_window_seconds: body.execution_window_seconds,
    decision,
    reasons,
    ...(allowed ? executionDeadlines(stream, command, now) : {}),
    usage: usageAt(stream.mandate, now)
  }
  if (!fitsJournal(stream, journalBytes, data, allowed ? 1 : 0)) {
    return limitReached("The mandate's journal has no room for another authorization.")
  }
  const fact: JournalFact = {
    type: DECISION_EVENT[decision],
    occurred_at: formatNanos(now),
    authorization_id: command.authorizationId,
    data
  }
  // After the window the periods shown are its last ones, whose ends may have passed: they bound nothing.
  const ends = periods.map((period) => period.endsAt).filter((end) => end > now)
  return accepted([fact], ends)
}

const sameCommit = (authorization: AuthorizationState, body: CommitBody): boolean =>
  authorization.commit?.external_action_reference === body.external_action_reference &&
  authorization.commit.provider_transaction_reference === body.provider_transaction_reference &&
  authorization.commit.reported_accepted_at === body.reported_accepted_at

const sameCancellation = (authorization: AuthorizationState, body: CancellationBody): boolean =>
  authorization.cancellation?.reason === body.reason &&
  authorization.cancellation.execution_disposition === body.execution_disposition &&
  authorization.cancellation.external_credential_reference === body.external_credential_reference

type Report =
  | { readonly reported: "COMMITTED"; readonly content: CommitBody }
  | { readonly reported: "CANCELLED"; readonly content: CancellationBody }

/**
 * A report that contradicts the outcome on record: refused, and put on record once per content. The first late commit
 * also counts as late use, because money may have moved (part 5).
 */
const contradict = (
  stream: StreamState,
  journalBytes: number,
  authorization: AuthorizationState,
  report: Report,
  now: Instant
): Verdict => {
  const refusal = new TerminalStateConflict({
    currentState: authorization.state,
    resourceId: authorization.id
  })
  if (authorization.state === "DENIED" || authorization.state === "INDETERMINATE") return Result.fail(refusal)
  const late =
    report.reported === "COMMITTED" &&
    (authorization.state === "EXPIRED" || authorization.state === "CANCELLED") &&
    !authorization.late
  const known = authorization.conflicts.includes(outcomeDigest(report))
  const full =
    authorization.conflicts.length >= MAX_OUTCOME_CONFLICTS ||
    !fitsJournal(stream, journalBytes, report.content, 0)
  if (known || (full && !late)) return Result.fail(refusal)
  const fact: JournalFact = {
    type: "authorization.outcome_conflict",
    occurred_at: formatNanos(now),
    authorization_id: authorization.id,
    data: { ...report, late } satisfies OutcomeConflictData
  }
  return Result.succeed({ facts: [fact], boundaries: [], refusal })
}

/** Whether the commit of a reservation uses the mandate up (part 4). */
const isConsumedBy = ({ terms, state, totals }: MandateState, amount: bigint): boolean => {
  if (state !== "ACTIVE") return false
  if (terms.kind === "SINGLE") return true
  const { max_total_amount, max_executions } = terms.policy
  const { committedAmount, committedExecutions } = commitReserved(totals, amount)
  return (
    (max_total_amount !== undefined && committedAmount >= BigInt(max_total_amount)) ||
    (max_executions !== undefined && committedExecutions >= max_executions)
  )
}

const commit = (
  stream: StreamState,
  journalBytes: number,
  authorization: AuthorizationState,
  given: CommitBody,
  now: Instant
): Verdict => {
  const opening = decodeBase64Url(given.commitment_opening)
  if (opening === undefined || !openingMatches(opening, authorization.commitment)) {
    return Result.fail(new CommitmentMismatch())
  }
  if (tooFarAhead(given.reported_accepted_at, now)) return leadFault("reported_accepted_at")
  const content = {
    ...given,
    reported_accepted_at: normalizeTimestamp(given.reported_accepted_at)
  } as CommitBody
  if (authorization.state === "COMMITTED" && sameCommit(authorization, content)) return alreadySo
  if (authorization.state !== "RESERVED") {
    return contradict(stream, journalBytes, authorization, { reported: "COMMITTED", content }, now)
  }
  const occurred_at = formatNanos(now)
  const committed: JournalFact = {
    type: "authorization.committed",
    occurred_at,
    authorization_id: authorization.id,
    data: content
  }
  const amount = BigInt(authorization.proposedAction.payment.amount)
  if (!isConsumedBy(stream.mandate, amount)) return accepted([committed])
  return accepted([
    committed,
    { type: "mandate.consumed", occurred_at, data: { authorization_id: authorization.id } }
  ])
}

const cancel = (
  stream: StreamState,
  journalBytes: number,
  authorization: AuthorizationState,
  content: CancellationBody,
  now: Instant
): Verdict => {
  if (authorization.state === "CANCELLED" && sameCancellation(authorization, content)) return alreadySo
  if (authorization.state !== "RESERVED") {
    return contradict(stream, journalBytes, authorization, { reported: "CANCELLED", content }, now)
  }
  return accepted([
    {
      type: "authorization.cancelled",
      occurred_at: formatNanos(now),
      authorization_id: authorization.id,
      data: content
    }
  ])
}

const reportRefund = (
  stream: StreamState,
  journalBytes: number,
  authorization: AuthorizationState,
  given: RefundBody,
  now: Instant
): Verdict => {
  const { payment } = authorization.proposedAction
  if (tooFarAhead(given.reported_refunded_at, now)) return leadFault("reported_refunded_at")
  if (authorization.state !== "COMMITTED") {
    const { id: resourceId, state: currentState } = authorization
    return Result.fail(new StateConflict({ currentState, resourceId, needed: ["COMMITTED"] }))
  }
  if (given.currency !== payment.currency) {
    return Result.fail(
      new ValidationFailed({
        errors: [
          { pointer: "/currency", code: "invalid_value", detail: "must be the currency of the authorization" }
        ]
      })
    )
  }
  const refunded = authorization.refunds.reduce((sum, refund) => sum + BigInt(refund.amount), 0n)
  if (refunded + BigInt(given.amount) > BigInt(payment.amount))
    return Result.fail(new RefundExceedsCommitted())
  if (authorization.refunds.length >= MAX_REFUND_REPORTS) {
    return limitReached(`The authorization has ${MAX_REFUND_REPORTS} refund reports, as many as it may.`)
  }
  const data = {
    ...given,
    reported_refunded_at: normalizeTimestamp(given.reported_refunded_at)
  } as RefundBody
  if (!fitsJournal(stream, journalBytes, data, 0)) {
    return limitReached("The mandate's journal has no room for another report.")
  }
  return accepted([
    {
      type: "authorization.refund_reported",
      occurred_at: formatNanos(now),
      authorization_id: authorization.id,
      data
    }
  ])
}

/** The states in which a mandate can be revoked. */
const REVOCABLE: ReadonlyArray<MandateStateName> = ["PENDING_APPROVAL", "SCHEDULED", "ACTIVE"]

const revoke = (stream: StreamState, reason: string, now: Instant): Verdict => {
  switch (stream.mandate.state) {
    case "PENDING_APPROVAL":
    case "SCHEDULED":
    case "ACTIVE":
      return accepted([{ type: "mandate.revoked", occurred_at: formatNanos(now), data: { reason } }])
    case "REVOKED":
      return stream.mandate.revocationReason === reason ? alreadySo : mandateConflict(stream, REVOCABLE)
    default:
      return mandateConflict(stream, REVOCABLE)
  }
}

const onAuthorization = (
  stream: StreamState,
  id: string,
  then: (authorization: AuthorizationState) => Verdict
): Verdict => {
  const authorization = stream.authorizations.get(id)
  return authorization === undefined ? Result.fail(new NotFound()) : then(authorization)
}

/**
 * Decides a command on a stream in which everything due at `now` is recorded. Pure: the same stream, command and
 * instant give the same facts. `journalBytes` is the length of the stream's journal.
 */
export const decide = (
  stream: StreamState,
  journalBytes: number,
  command: Command,
  now: Instant
): Verdict => {
  switch (command._tag) {
    case "Approve":
      if (stream.mandate.state !== "PENDING_APPROVAL") return mandateConflict(stream, ["PENDING_APPROVAL"])
      return accepted([
        { type: "mandate.approved", occurred_at: formatNanos(now), data: { approval: command.approval } }
      ])
    case "Reject":
      if (stream.mandate.state !== "PENDING_APPROVAL") return mandateConflict(stream, ["PENDING_APPROVAL"])
      return accepted([
        {
          type: "mandate.rejected",
          occurred_at: formatNanos(now),
          data: { approval_session_id: command.approvalSessionId }
        }
      ])
    case "Revoke":
      return revoke(stream, command.reason, now)
    case "Propose":
      return propose(stream, journalBytes, command, now)
    case "Commit":
      return onAuthorization(stream, command.authorizationId, (authorization) =>
        commit(stream, journalBytes, authorization, command.body, now)
      )
    case "Cancel":
      return onAuthorization(stream, command.authorizationId, (authorization) =>
        cancel(stream, journalBytes, authorization, command.body, now)
      )
    case "ReportRefund":
      return onAuthorization(stream, command.authorizationId, (authorization) =>
        reportRefund(stream, journalBytes, authorization, command.body, now)
      )
  }
}
