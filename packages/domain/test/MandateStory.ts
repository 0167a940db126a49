/** Given, when, then for the deciders: a mandate's life so far, told as commands with their instants. */
import type { CancellationBody, CommitBody, RefundBody } from "@svc/protocol/Authorization"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { commitmentOf } from "@svc/protocol/evidence/Commitment"
import { policyDigest } from "@svc/protocol/evidence/PolicyDigest"
import { formatIdentifier } from "@svc/protocol/Identifier"
import type { JsonValue } from "@svc/protocol/json/Json"
import { MAX_SAFE_INTEGER, type Period, type Policy } from "@svc/protocol/Mandate"
import { formatNanos, type Instant, parseTimestamp } from "@svc/protocol/Timestamp"
import { Result } from "effect"
import type { ApprovalRecord } from "../src/approval/ApprovalStatement.ts"
import { applyDue } from "../src/mandate/ApplyDue.ts"
import { type Command, type Decided, decide, type Refusal } from "../src/mandate/Decide.ts"
import { evolve } from "../src/mandate/Evolve.ts"
import type { JournalFact, MandateTerms } from "../src/mandate/JournalFact.ts"
import type { AuthorizationState, StreamState } from "../src/mandate/MandateState.ts"
import { utc } from "./ZoneTables.ts"

/** An instant from RFC 3339 text. */
export const at = (text: string): Instant => {
  const instant = parseTimestamp(text)
  if (instant === undefined) throw new RangeError(`not a timestamp: ${text}`)
  return instant
}

export const CREATED = at("2026-11-28T09:00:00Z")
export const STARTS = at("2026-12-01T00:00:00Z")
export const ENDS = at("2027-12-01T00:00:00Z")
export const DEADLINE = at("2026-11-30T00:00:00Z")
export const SECOND = 1_000_000_000n
export const MINUTE = 60n * SECOND
export const HOUR = 60n * MINUTE
export const DAY = 24n * HOUR

export const MANDATE_ID = "mnd_01jdxxxxxxxxxxxxxxxxxxxxxx"

const identifierOf = (prefix: "aut_" | "aps_", number: number): string =>
  formatIdentifier(prefix, number, new Uint8Array(10))

/** The identifier of the n-th authorization of a story, from 1. */
export const authorizationId = (number: number): string => identifierOf("aut_", number)

const openingBytes = (number: number): Uint8Array =>
  Uint8Array.from({ length: 32 }, (_, index) => (index < 4 ? (number >> (8 * index)) & 255 : 7))

/** The opening of the n-th authorization's commitment. */
export const openingOf = (number: number): string => encodeBase64Url(openingBytes(number))
export const commitmentOfNumber = (number: number): string => commitmentOf(openingBytes(number))

export const MONTHLY: Period = {
  unit: "MONTH",
  interval: 1,
  alignment: "CALENDAR",
  time_zone: "UTC",
  first_period: "FULL",
  max_amount: 20_000
}

const BASE_POLICY: Policy = {
  currency: "EUR",
  max_amount: 5000,
  min_amount: 1,
  allowed_actions: ["card.create"]
}

type TermsParts = Partial<Omit<MandateTerms, "policy" | "kind" | "policy_digest">> & {
  readonly policy?: Partial<Policy>
}

const termsOf = (kind: MandateTerms["kind"], base: Policy, parts: TermsParts): MandateTerms => {
  const policy = { ...base, ...parts.policy }
  return {
    organization_id: "org_01jdxxxxxxxxxxxxxxxxxxxxxx",
    environment: "test",
    mandate_id: MANDATE_ID,
    subject_reference: "user_8f2",
    window: { starts_at: "2026-12-01T00:00:00Z", ends_at: "2027-12-01T00:00:00Z" },
    approval_deadline: "2026-11-30T00:00:00Z",
    time_zones: kind === "SINGLE" ? [] : [utc],
    ...parts,
    kind,
    policy,
    policy_digest: policyDigest(policy as unknown as JsonValue)
  }
}

export const single = (parts: TermsParts = {}): MandateTerms => termsOf("SINGLE", BASE_POLICY, parts)
export const recurring = (parts: TermsParts = {}): MandateTerms =>
  termsOf("RECURRING", { ...BASE_POLICY, max_total_amount: MAX_SAFE_INTEGER, periods: [MONTHLY] }, parts)

/** A life so far. */
export interface Story {
  readonly stream: StreamState
  readonly facts: ReadonlyArray<JournalFact>
}

/** The instant a mandate was made, and nothing else. */
export const created = (terms: MandateTerms, when: Instant = CREATED): Story => {
  const fact: JournalFact = { type: "mandate.created", occurred_at: formatNanos(when), data: terms }
  return { stream: evolve(undefined, fact), facts: [fact] }
}

/** Time passes: what is due happens. */
export const until = (story: Story, when: Instant): Story => {
  const { facts, stream } = applyDue(story.stream, when)
  return { stream, facts: [...story.facts, ...facts] }
}

/** What a command would lead to. `journalBytes` defaults to a short journal. */
export const asked = (
  story: Story,
  command: Command,
  when: Instant,
  journalBytes = 10_000
): Result.Result<Decided, Refusal> => decide(until(story, when).stream, journalBytes, command, when)

/** The command happens, as a plain success or as a report put on record. */
export const after = (story: Story, command: Command, when: Instant): Story => {
  const waited = until(story, when)
  const verdict = decide(waited.stream, 10_000, command, when)
  if (Result.isFailure(verdict)) throw new Error(`the story breaks off: ${verdict.failure._tag}`)
  const { facts } = verdict.success
  return { stream: facts.reduce<StreamState>(evolve, waited.stream), facts: [...waited.facts, ...facts] }
}

/** The approval on record; its proof is of no consequence to the deciders. */
export const APPROVAL = { statement: { approval_session_id: "aps_1" } } as unknown as ApprovalRecord
export const approve: Command = { _tag: "Approve", approval: APPROVAL }
export const reject: Command = { _tag: "Reject", approvalSessionId: "aps_1" }
export const revoke = (reason = "no longer wanted"): Command => ({ _tag: "Revoke", reason })

export interface Proposal {
  readonly amount?: number
  readonly currency?: string
  readonly action?: string
  readonly attributes?: Readonly<Record<string, string>>
  readonly window?: number
  readonly grace?: number
}

/** Proposes as the n-th authorization of the story. */
export const propose = (number: number, proposal: Proposal = {}): Command => ({
  _tag: "Propose",
  authorizationId: authorizationId(number),
  reportGraceSeconds: proposal.grace ?? 0,
  body: {
    external_reference: `order ${number}`,
    execution_window_seconds: proposal.window ?? 300,
    commitment: commitmentOfNumber(number) as never,
    proposed_action: {
      action: proposal.action ?? "card.create",
      ...(proposal.attributes === undefined ? {} : { attributes: proposal.attributes }),
      payment: { amount: proposal.amount ?? 1000, currency: proposal.currency ?? "EUR" }
    }
  }
})

export const commitBody = (
  number: number,
  parts: Partial<Record<keyof CommitBody, string>> = {}
): CommitBody =>
  ({
    external_action_reference: "act_1",
    provider_transaction_reference: "txn_1",
    reported_accepted_at: "2026-12-01T00:00:01Z",
    commitment_opening: openingOf(number),
    ...parts
  }) as CommitBody

export const commit = (number: number, parts: Partial<Record<keyof CommitBody, string>> = {}): Command => ({
  _tag: "Commit",
  authorizationId: authorizationId(number),
  body: commitBody(number, parts)
})

export const cancelBody = (parts: Partial<CancellationBody> = {}): CancellationBody => ({
  reason: "EXECUTION_FAILED",
  execution_disposition: "NEVER_BECAME_POSSIBLE",
  ...parts
})

export const cancel = (number: number, parts: Partial<CancellationBody> = {}): Command => ({
  _tag: "Cancel",
  authorizationId: authorizationId(number),
  body: cancelBody(parts)
})

export const refund = (number: number, parts: Partial<Record<keyof RefundBody, unknown>> = {}): Command => ({
  _tag: "ReportRefund",
  authorizationId: authorizationId(number),
  body: {
    amount: 100,
    currency: "EUR",
    provider_refund_reference: "ref_1",
    reported_refunded_at: "2026-12-01T00:00:02Z",
    ...parts
  } as RefundBody
})

/** A verdict in the words of a table: types of the facts, or the refusal with its members. */
export const told = (verdict: Result.Result<Decided, Refusal>): unknown => {
  if (Result.isFailure(verdict)) return refusalOf(verdict.failure)
  const { facts, refusal } = verdict.success
  const types = facts.map((fact) => fact.type)
  return refusal === undefined ? types : { recorded: types, refused: refusalOf(refusal) }
}

const refusalOf = (refusal: Refusal): unknown => {
  switch (refusal._tag) {
    case "StateConflict":
    case "TerminalStateConflict":
      return [refusal._tag, refusal.currentState, refusal.resourceId]
    case "ValidationFailed":
      return [refusal._tag, ...refusal.errors.map((error) => `${error.pointer} ${error.code}`)]
    default:
      return [refusal._tag]
  }
}

/** The facts of a success; anything else ends the test. */
export const factsOf = (verdict: Result.Result<Decided, Refusal>): ReadonlyArray<JournalFact> => {
  if (Result.isFailure(verdict)) throw new Error(`refused: ${verdict.failure._tag}`)
  return verdict.success.facts
}

export const authorizationIn = (story: Story, number: number): AuthorizationState => {
  const found = story.stream.authorizations.get(authorizationId(number))
  if (found === undefined) throw new Error(`the story has no authorization ${number}`)
  return found
}

/** A decision's reasons without their prose. */
export const reasonsOf = (verdict: Result.Result<Decided, Refusal>): ReadonlyArray<unknown> => {
  const [fact] = factsOf(verdict)
  if (fact === undefined || !("authorization_id" in fact) || !("reasons" in fact.data)) {
    throw new Error("not a decision")
  }
  return fact.data.reasons.map(({ detail: _, ...rest }) => rest)
}

export const decisionOf = (verdict: Result.Result<Decided, Refusal>): string => {
  const [fact] = factsOf(verdict)
  if (fact === undefined || !("decision" in fact.data)) throw new Error("not a decision")
  return fact.data.decision
}
