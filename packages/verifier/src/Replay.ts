import { type DueTransition, nextTransition } from "@svc/domain/mandate/ApplyDue"
import { type Command, type Decided, decide, type Refusal } from "@svc/domain/mandate/Decide"
import { evolveAll } from "@svc/domain/mandate/Evolve"
import type { JournalFact } from "@svc/domain/mandate/JournalFact"
import { proposeTerms } from "@svc/domain/mandate/MandateRequest"
import type { StreamState } from "@svc/domain/mandate/MandateState"
import type { EventSource } from "@svc/protocol/Journal"
import { canonicalJson } from "@svc/protocol/json/CanonicalJson"
import type { JsonValue } from "@svc/protocol/json/Json"
import type { CreateMandateBody } from "@svc/protocol/Mandate"
import { formatNanos, type Instant, normalizeTimestamp, parseTimestamp } from "@svc/protocol/Timestamp"
import * as Result from "effect/Result"
import type { CheckName, Fault } from "./Report.ts"

/** An event whose form was checked. */
export type JournalEntry = JournalFact & {
  readonly seq: number
  readonly id: string
  readonly source: EventSource
  readonly mandate_version: number
  readonly hash: string
}

type DecisionEntry = Extract<
  JournalEntry,
  { readonly type: "authorization.reserved" | "authorization.denied" | "authorization.indeterminate" }
>

/** A fault of a check, found by the replay. */
export interface ReplayFault extends Fault {
  readonly check: CheckName
}

/** One event of a replay: what it leads to, and what is wrong with it. */
export interface ReplayStep {
  readonly event: JournalEntry
  /** As the event leaves it. Shares what it holds with later states: look at it before asking for the next. */
  readonly state: StreamState | undefined
  readonly faults: ReadonlyArray<ReplayFault>
  /** The event cannot follow the ones before it at all: there is nothing to go on from. */
  readonly isBroken: boolean
}

const textOf = (value: unknown): string => canonicalJson(value as JsonValue)

/** Whether two values are the same JSON. */
export const isSame = (left: unknown, right: unknown): boolean =>
  left === right || (left !== undefined && right !== undefined && textOf(left) === textOf(right))

/** An instant from text whose form was checked. */
export const instantIn = (text: string): Instant => {
  const instant = parseTimestamp(text)
  if (instant === undefined) throw new RangeError("a timestamp whose form was checked does not parse")
  return instant
}

export const isDecision = (event: JournalEntry): event is DecisionEntry =>
  event.type === "authorization.reserved" ||
  event.type === "authorization.denied" ||
  event.type === "authorization.indeterminate"

/** The command that an event records; none for what comes with time, or from another event. */
const commandOf = (event: JournalEntry): Command | undefined => {
  switch (event.type) {
    case "mandate.approved":
      return { _tag: "Approve", approval: event.data.approval }
    case "mandate.rejected":
      return { _tag: "Reject", approvalSessionId: event.data.approval_session_id }
    case "mandate.revoked":
      return { _tag: "Revoke", reason: event.data.reason }
    case "authorization.reserved":
    case "authorization.denied":
    case "authorization.indeterminate": {
      const { commitment, execution_window_seconds, external_reference, proposed_action } = event.data
      return {
        _tag: "Propose",
        authorizationId: event.authorization_id,
        reportGraceSeconds: event.data.report_grace_seconds ?? 0,
        body: {
          external_reference,
          proposed_action,
          execution_window_seconds,
          commitment: commitment as never
        }
      }
    }
    case "authorization.committed":
      return { _tag: "Commit", authorizationId: event.authorization_id, body: event.data }
    case "authorization.cancelled":
      return { _tag: "Cancel", authorizationId: event.authorization_id, body: event.data }
    case "authorization.refund_reported":
      return { _tag: "ReportRefund", authorizationId: event.authorization_id, body: event.data }
    case "authorization.outcome_conflict": {
      const { data } = event
      return data.reported === "COMMITTED"
        ? { _tag: "Commit", authorizationId: event.authorization_id, body: data.content }
        : { _tag: "Cancel", authorizationId: event.authorization_id, body: data.content }
    }
    default:
      return undefined
  }
}

const withoutDetail = (reasons: ReadonlyArray<{ readonly detail: string }>) =>
  reasons.map(({ detail: _, ...rest }) => rest)

/** Members of a decision by the check that they belong to; the others are its inputs from the caller. */
const DECIDED_MEMBERS = [
  ["decisions", "decision"],
  ["decision_inputs", "usage"],
  ["deadlines", "execute_before"],
  ["deadlines", "expires_at"],
  ["deadlines", "report_grace_seconds"]
] as const

const decisionFaults = (event: DecisionEntry, again: JournalFact | undefined): ReadonlyArray<ReplayFault> => {
  const { seq } = event
  if (again === undefined || !("decision" in again.data)) {
    return [
      { check: "decisions", seq, member: "/data/decision", detail: "decided again, there is no decision" }
    ]
  }
  const { data } = event
  const made = again.data
  const faults: Array<ReplayFault> = DECIDED_MEMBERS.filter(
    ([, member]) => !isSame(data[member], made[member])
  ).map(([check, member]) => ({
    check,
    seq,
    member: `/data/${member}`,
    detail: `recorded ${textOf(data[member] ?? null)}, decided again ${textOf(made[member] ?? null)}`
  }))
  if (!isSame(withoutDetail(data.reasons), withoutDetail(made.reasons))) {
    const detail = `recorded ${data.reasons.map(({ code }) => code).join()}, decided again ${made.reasons.map(({ code }) => code).join()}`
    faults.push({ check: "decisions", seq, member: "/data/reasons", detail })
  }
  return faults
}

const REFUSED: Readonly<Record<Refusal["_tag"], readonly [check: CheckName, member: string]>> = {
  CommitmentMismatch: ["commitments", "/data/commitment_opening"],
  MandateLimitReached: ["transitions", ""],
  NotFound: ["transitions", "/authorization_id"],
  RefundExceedsCommitted: ["transitions", "/data/amount"],
  StateConflict: ["transitions", "/type"],
  TerminalStateConflict: ["transitions", "/type"],
  ValidationFailed: ["transitions", "/data"]
}

const refusalFault = (seq: number, refusal: Refusal): ReplayFault => {
  const [check, member] = REFUSED[refusal._tag]
  const state = "currentState" in refusal ? ` in state ${refusal.currentState}` : ""
  return { check, seq, member, detail: `it would be refused: ${refusal._tag}${state}` }
}

const factOf = ({ data, occurred_at, type, ...rest }: JournalEntry | JournalFact): unknown => ({
  type,
  occurred_at,
  data,
  ...("authorization_id" in rest ? { authorization_id: rest.authorization_id } : {})
})

const isFact = (event: JournalEntry, fact: JournalFact | undefined): boolean =>
  fact !== undefined && isSame(factOf(event), factOf(fact))

/** A time as a caller gave it, which is recorded without trailing zeros; undefined if the service filled it in. */
const givenTime = (recorded: string): string | undefined =>
  normalizeTimestamp(recorded) === recorded ? recorded : undefined

/** Stands for that of a mandate, which may have been withdrawn since. */
const ANY_CURRENCY = "EUR"

/** What is wrong with the terms of a mandate, apart from its currency, which may have been withdrawn since. */
const termsFaults = (event: Extract<JournalEntry, { readonly type: "mandate.created" }>) => {
  const { approval_deadline, description, kind, policy, subject_reference, window } = event.data
  const given = {
    approval_deadline: givenTime(approval_deadline),
    description,
    kind,
    policy: { ...policy, currency: ANY_CURRENCY },
    subject_reference,
    window: { ...window, starts_at: givenTime(window.starts_at) }
  }
  const proposed = proposeTerms(
    given as unknown as CreateMandateBody,
    instantIn(event.occurred_at),
    () => true
  )
  const faultAt = (member: string, detail: string): ReplayFault => ({
    check: "terms",
    seq: event.seq,
    member: `/data${member}`,
    detail
  })
  if (Result.isFailure(proposed)) {
    return proposed.failure.map(({ detail, pointer }) => faultAt(pointer, detail))
  }
  const recorded = proposed.success
  return [
    ...(isSame({ ...recorded.policy, currency: policy.currency }, policy)
      ? []
      : [faultAt("/policy", "a policy is recorded with its defaults")]),
    ...(isSame(recorded.window, window) && recorded.approval_deadline === approval_deadline
      ? []
      : [
          faultAt(
            "/window",
            "times are recorded as they were given, without trailing zeros, or as the defaults"
          )
        ])
  ]
}

/** Decides the command that an event records. Returns the fact that was recorded in the same write, if there is one. */
const decideAgain = (
  event: JournalEntry,
  state: StreamState,
  { faults, journalBytes }: { readonly journalBytes: number; readonly faults: Array<ReplayFault> }
): JournalFact | undefined => {
  const { seq } = event
  const command = commandOf(event)
  if (command === undefined) {
    faults.push({ check: "due_transitions", seq, member: "/type", detail: "nothing like it was due" })
    return undefined
  }
  const verdict: Result.Result<Decided, Refusal> = decide(
    state,
    journalBytes,
    command,
    instantIn(event.occurred_at)
  )
  if (Result.isFailure(verdict)) {
    faults.push(refusalFault(seq, verdict.failure))
    return undefined
  }
  const [again, next] = verdict.success.facts
  if (isDecision(event)) {
    faults.push(...decisionFaults(event, again))
    return undefined
  }
  if (isFact(event, again)) return next
  const member = again?.type === event.type ? "/data" : "/type"
  const detail = `the same command leads to ${again === undefined ? "nothing" : again.type}`
  faults.push({ check: "transitions", seq, member, detail })
  return undefined
}

/** What is due by an instant and not recorded, in words. */
export const unrecordedBy = (state: StreamState, instant: Instant): string | undefined => {
  const due = nextTransition(state)
  return due === undefined || due.at > instant
    ? undefined
    : `${due.fact.type} was due at ${formatNanos(due.at)}`
}

const dueFault = (event: JournalEntry, { at, fact }: DueTransition): ReplayFault => {
  const whose = "authorization_id" in fact ? ` of ${fact.authorization_id}` : ""
  const detail = `${fact.type}${whose} was due at ${formatNanos(at)} and is not there`
  return { check: "due_transitions", seq: event.seq, member: "", detail }
}

const SAME_WRITE = "is recorded in the same write as the event before it, and is missing"

/** Folds one fact after another; undefined if a fact cannot follow. */
const makeFold = (): ((fact: JournalFact) => StreamState | undefined) => {
  let folding = undefined as unknown as JournalFact
  const states = evolveAll(
    (function* () {
      for (;;) yield folding
    })()
  )
  return (fact) => {
    folding = fact
    try {
      return states.next().value as StreamState
    } catch {
      return undefined
    }
  }
}

/** A replay of a journal, event by event. */
export interface Replay {
  /**
   * Takes the next event, and the length of its canonical text in bytes, which counts towards the limit on a journal. Goes
   * on after a fault with what is recorded.
   */
  readonly next: (event: JournalEntry, bytes: number) => ReplayStep
  /** What the last write recorded and the journal lacks. */
  readonly missing: () => ReplayFault | undefined
}

/**
 * Makes every event again from the state before it, with the decider of the service: what is due by its instant comes first,
 * then the command that it records, whose facts it must be.
 */
export const beginReplay = (): Replay => {
  const authorizations = new Set<string>()
  const commitments = new Set<string>()
  const fold = makeFold()
  let state: StreamState | undefined
  let following: JournalFact | undefined
  let journalBytes = 0

  const usedOnce = (event: DecisionEntry): ReadonlyArray<ReplayFault> => {
    const { authorization_id, data, seq } = event
    const faults: Array<ReplayFault> = []
    const once = (seen: Set<string>, value: string, fault: Omit<ReplayFault, "seq">) => {
      if (seen.has(value)) faults.push({ seq, ...fault })
      seen.add(value)
    }
    once(authorizations, authorization_id, {
      check: "transitions",
      member: "/authorization_id",
      detail: "the authorization was decided before"
    })
    once(commitments, data.commitment, {
      check: "commitments",
      member: "/data/commitment",
      detail: "another authorization carries the commitment"
    })
    return faults
  }

  const faultsOf = (event: JournalEntry): Array<ReplayFault> => {
    const { seq } = event
    if ((state === undefined) !== (event.type === "mandate.created")) {
      const detail = "a journal has mandate.created as its first event, and only there"
      return [{ check: "transitions", seq, member: "/type", detail }]
    }
    if (event.type === "mandate.created") return [...termsFaults(event)]
    if (state === undefined) return []
    if (following !== undefined) {
      const expected = following
      following = undefined
      if (isFact(event, expected)) return []
      return [{ check: "transitions", seq, member: "/type", detail: `${expected.type} ${SAME_WRITE}` }]
    }
    const due = nextTransition(state)
    if (due !== undefined && due.at <= instantIn(event.occurred_at)) {
      return isFact(event, due.fact) ? [] : [dueFault(event, due)]
    }
    const faults: Array<ReplayFault> = []
    following = decideAgain(event, state, { journalBytes, faults })
    return faults
  }

  return {
    next: (event, bytes) => {
      const { seq } = event
      const faults = faultsOf(event)
      if (isDecision(event)) faults.push(...usedOnce(event))
      const after = fold(event)
      if (after === undefined) {
        if (faults.length === 0) {
          faults.push({ check: "transitions", seq, member: "/type", detail: "the event cannot follow" })
        }
        return { event, state, faults, isBroken: true }
      }
      state = after
      journalBytes += bytes
      const { version } = state.mandate
      if (event.mandate_version !== version) {
        const detail = `the version is ${version} once the event is applied`
        faults.push({ check: "mandate", seq, member: "/mandate_version", detail })
      }
      return { event, state, faults, isBroken: false }
    },
    missing: () =>
      following === undefined
        ? undefined
        : { check: "transitions", member: "/events", detail: `${following.type} ${SAME_WRITE}` }
  }
}
