import { mandateRecordOf } from "@svc/domain/mandate/MandateResource"
import type { StreamState } from "@svc/domain/mandate/MandateState"
import { policyDigest } from "@svc/protocol/evidence/PolicyDigest"
import type { JsonObject, JsonValue } from "@svc/protocol/json/Json"
import { NANOS_PER_MILLISECOND, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { type ApprovalEntry, checkApproval } from "./ApprovalProof.ts"
import { checkChain, checkForm } from "./EventChain.ts"
import { checkExpectations, type Expectations } from "./Expectations.ts"
import { type Evidence, openEvidence, type Payload } from "./OpenEvidence.ts"
import { outcomesOf, refundedIn, warningsOf } from "./Outcomes.ts"
import { beginReplay, instantIn, isDecision, isSame, type JournalEntry, unrecordedBy } from "./Replay.ts"
import {
  type CheckName,
  type CheckRecorder,
  type EvidenceReport,
  type Proved,
  recordChecks,
  type Warning
} from "./Report.ts"
import { checkZones, checkZoneTables, intlZones } from "./ZoneDatabase.ts"

/** How far clocks may differ before evidence counts as of the future, or as no longer fresh, in seconds. */
const CLOCK_LEEWAY_SECONDS = 300

interface Replayed {
  readonly state: StreamState
  readonly decisions: number
  readonly approval: ApprovalEntry | undefined
  readonly warnings: ReadonlyArray<Warning>
}

const REPLAY_CHECKS = [
  "terms",
  "transitions",
  "due_transitions",
  "decisions",
  "decision_inputs",
  "deadlines",
  "commitments",
  "mandate"
] as const

/** Makes every event again; undefined if that came to an end before the journal did. */
const replayAll = (
  events: ReadonlyArray<JournalEntry>,
  bytes: ReadonlyArray<number>,
  checks: CheckRecorder
): Replayed | undefined => {
  const replay = beginReplay()
  const warnings: Array<Warning> = []
  let decisions = 0
  let state: StreamState | undefined
  let approval: ApprovalEntry | undefined
  checks.made(...REPLAY_CHECKS)
  for (const [index, event] of events.entries()) {
    const step = replay.next(event, bytes[index] ?? 0)
    for (const { check, ...fault } of step.faults) checks.fault(check, fault)
    if (step.isBroken || step.state === undefined) return undefined
    state = step.state
    if (isDecision(event)) decisions += 1
    if (event.type === "mandate.approved") approval ??= event
    warnings.push(...warningsOf(event, state))
  }
  const missing = replay.missing()
  if (missing !== undefined) checks.fault(missing.check, missing)
  return state && { state, decisions, approval, warnings }
}

const checkSummary = (payload: Payload, { state }: Replayed, checks: CheckRecorder): void => {
  const { environment, generated_at, head, mandate, organization_id } = payload
  const { terms } = state.mandate
  const last = payload.events.at(-1)
  checks.made("head", "tenant", "policy_digest", "mandate", "generated_at")
  const fault = (name: CheckName, member: string, detail: string) => checks.fault(name, { member, detail })
  if (head.seq !== last?.seq || head.hash !== last.hash) fault("head", "/head", "it is not the last event")
  if (organization_id !== terms.organization_id) {
    fault("tenant", "/organization_id", `the mandate is of ${terms.organization_id}`)
  }
  if (environment !== terms.environment) {
    fault("tenant", "/environment", `the mandate is of ${terms.environment}`)
  }
  if (policyDigest(terms.policy as unknown as JsonValue) !== terms.policy_digest) {
    checks.fault("policy_digest", {
      seq: 1,
      member: "/data/policy_digest",
      detail: "it is of another policy"
    })
  }
  const record = mandateRecordOf(state.mandate) as unknown as JsonObject
  for (const member of new Set([...Object.keys(record), ...Object.keys(mandate)])) {
    if (!isSame(record[member], mandate[member])) {
      fault("mandate", `/mandate/${member}`, "it is not what the events add up to")
    }
  }
  if (generated_at < state.mandate.updatedAt)
    fault("generated_at", "/generated_at", "the last event is later")
  const unrecorded = unrecordedBy(state, instantIn(generated_at))
  if (unrecorded !== undefined) fault("generated_at", "/generated_at", `${unrecorded} and is not there`)
}

const TERMINAL: ReadonlySet<string> = new Set(["CONSUMED", "REVOKED", "REJECTED", "EXPIRED"])

const ageWarnings = ({ mandate, open }: StreamState, ageSeconds: number): ReadonlyArray<Warning> => {
  if (ageSeconds < -CLOCK_LEEWAY_SECONDS) {
    return [{ code: "generated_in_future", detail: `generated ${-ageSeconds} s ahead of this clock` }]
  }
  const isOver = TERMINAL.has(mandate.state) && open.length === 0
  return isOver || ageSeconds <= CLOCK_LEEWAY_SECONDS
    ? []
    : [{ code: "may_have_changed", detail: `generated ${ageSeconds} s ago: what came after is not in it` }]
}

const provedBy = (payload: Payload, replayed: Replayed, ageSeconds: number): Proved => {
  const { approval, decisions, state } = replayed
  const record = approval?.data.approval
  return {
    organization_id: payload.organization_id,
    environment: state.mandate.terms.environment,
    mandate: mandateRecordOf(state.mandate),
    ...(approval === undefined || record === undefined
      ? {}
      : {
          approval: {
            approved_at: approval.occurred_at,
            organization_name: record.statement.organization_name,
            locale: record.statement.display.locale,
            lines: record.statement.display.lines,
            rp_id: record.rp_id,
            origin: record.origin,
            credential_id: record.credential.id,
            identity_issuer: record.identity.issuer
          }
        }),
    generated_at: payload.generated_at,
    age_seconds: ageSeconds,
    head: payload.head,
    decisions_rerun: decisions,
    outcomes: outcomesOf(state),
    refunded: refundedIn(state)
  }
}

/** Everything that a payload is checked for once its signature is valid. */
const checkPayload = async (
  payload: Payload,
  expectations: Expectations,
  checks: CheckRecorder
): Promise<{ readonly warnings: ReadonlyArray<Warning>; readonly proved: Proved } | undefined> => {
  const bytes = checkChain(payload.events, checks)
  checkForm(payload.events, checks)
  if (checks.hasFault("event_form")) return undefined
  const events = payload.events as unknown as ReadonlyArray<JournalEntry>
  const [first] = events
  if (first?.type !== "mandate.created") {
    const detail = "a journal has mandate.created as its first event"
    checks.fault("transitions", { seq: 1, member: "/type", detail })
    return undefined
  }
  const { data: terms, occurred_at } = first
  checkZoneTables(terms, checks)
  if (checks.hasFault("zone_tables")) return undefined
  const replayed = replayAll(events, bytes, checks)
  if (replayed === undefined) return undefined
  const { approval, state } = replayed
  checkSummary(payload, replayed, checks)
  if (approval !== undefined) await checkApproval(approval, terms, checks)
  const { now = new Date(), timeZones = intlZones } = expectations
  const database = timeZones === false ? undefined : timeZones
  const zones = checkZones({ terms, created: instantIn(occurred_at) }, database, checks)
  checkExpectations({ terms, events: payload.events, approval }, expectations, checks)
  const age = BigInt(now.getTime()) * NANOS_PER_MILLISECOND - instantIn(payload.generated_at)
  const ageSeconds = Number(age / NANOS_PER_SECOND)
  return {
    warnings: [...replayed.warnings, ...zones, ...ageWarnings(state, ageSeconds)],
    proved: provedBy(payload, replayed, ageSeconds)
  }
}

/**
 * Verifies signed evidence of a mandate, offline and in full (part 7): who signed it, that its events are complete and follow
 * from each other, that the end user's passkey signed this very mandate, and that every decision, made again by the rules of
 * the service, comes out the same.
 *
 * `evidence` is the envelope as it was received, byte for byte; parsed JSON is taken too, but does not show a duplicate member. A
 * list is evidence and its continuations (`?after_seq=`), in their order, which are verified as one.
 * `keySet` is the parsed key set of `GET /.well-known/jwks.json`, from a source that you trust. Never throws for what they
 * hold: the report says what is wrong. Takes time and memory in proportion to the length of the journal.
 *
 * @example
 * ```ts
 * import { verifyEvidence } from "@svc/verifier"
 *
 * const report = await verifyEvidence(bytes, keySet, { mandate: "mnd_01kbcd2e3f4g5h6j7k8m9npqrs" })
 * if (report.verdict !== "valid") throw new Error("a security incident: keep the envelope")
 * console.log(report.proved?.mandate.state, report.proved?.head)
 * ```
 */
export const verifyEvidence = async (
  evidence: Evidence,
  keySet: unknown,
  expectations: Expectations = {}
): Promise<EvidenceReport> => {
  const { report } = await openAndVerify(evidence, keySet, expectations)
  return report
}

/** The rules throw for terms that no mandate can have, such as periods beyond the year 9999: then they are the fault. */
const checkPayloadSafely: typeof checkPayload = async (payload, expectations, checks) => {
  try {
    return await checkPayload(payload, expectations, checks)
  } catch (error) {
    const detail = `the rules cannot be applied: ${error instanceof Error ? error.message : error}`
    checks.fault("terms", { member: "/events", detail })
    return undefined
  }
}

/** {@link verifyEvidence}, with the events of evidence that is valid. */
export const openAndVerify = async (
  evidence: Evidence,
  keySet: unknown,
  expectations: Expectations
): Promise<{ readonly report: EvidenceReport; readonly events: ReadonlyArray<JournalEntry> }> => {
  const checks = recordChecks()
  const { kid, payload } = await openEvidence(evidence, keySet, checks)
  const checked = payload && (await checkPayloadSafely(payload, expectations, checks))
  const verdict = checks.verdict()
  const isValid = verdict === "valid" && checked !== undefined
  return {
    report: {
      verdict,
      checks: checks.checks(),
      warnings: isValid ? (checked?.warnings ?? []) : [],
      ...(kid === undefined ? {} : { kid }),
      ...(isValid && checked !== undefined ? { proved: checked.proved } : {})
    },
    events: isValid && payload !== undefined ? (payload.events as unknown as ReadonlyArray<JournalEntry>) : []
  }
}
