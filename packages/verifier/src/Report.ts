import type { DisplayLine } from "@svc/domain/approval/ApprovalStatement"
import type { Environment } from "@svc/domain/mandate/JournalFact"
import type { MandateRecord } from "@svc/protocol/Mandate"

/** What each check looks at, in the order in which they are reported. */
export const CHECKS = {
  envelope: "the envelope is strict JSON with exactly its four members, of a format that is known",
  protected_header: "the protected header has exactly alg, which is ES256, and kid",
  key: "exactly one key of the key set has the kid, and it is an ES256 key with that thumbprint",
  signature: "the signature over the text as received is that of the key",
  payload: "the payload is strict JSON with exactly its members",
  continuation: "each continuation begins where what it continues has the event that it names",
  chain: "events are numbered without gaps, hashed, chained, in order of time, with distinct ids",
  head: "head is the last event",
  event_form: "each event has the form of its type, and its source follows from the type",
  tenant: "organization and environment are those that the mandate was created in",
  terms: "the terms are ones that a mandate can be created with",
  policy_digest: "the policy digest is that of the policy",
  zone_tables: "there is one table for each time zone of the policy, of the stretch of time that is needed",
  time_zones: "the tables agree with a time zone database",
  approval_statement: "the statement that was approved is the mandate's, and it is what was signed",
  approval_passkey: "a user was present and verified, for this relying party and origin",
  approval_signature: "the passkey's signature is valid",
  transitions: "each event is what follows from a command on the state before it",
  due_transitions: "what came due is recorded at its instant, in its order",
  decisions: "each decision, made again, has the same outcome and reasons",
  decision_inputs: "the usage that each decision was made on is that of the events before it",
  deadlines: "deadlines follow from the decision, the window and the grace",
  commitments: "each commitment is used once, and what was revealed opens it",
  mandate: "the mandate is what its events add up to, and so is each version",
  generated_at: "nothing that was due when the evidence was generated is missing, and no event is later",
  expected_organization: "the organization is the expected one",
  expected_environment: "the environment is the expected one",
  expected_mandate: "the mandate is the expected one",
  expected_subject: "the subject is the expected one",
  rp_id: "the relying party is an expected one",
  origin: "the origin is an expected one",
  passkey: "the passkey is one that is known to be the subject's",
  remembered_head: "the journal continues the head that was remembered"
} as const

export type CheckName = keyof typeof CHECKS

/**
 * `pass`: looked at and in order. `fail`: not as it must be. `not_applicable`: there was nothing to look at, or what must be
 * in order before was not. `not_pinned`: the evidence cannot say, and what could was not given.
 */
export type CheckStatus = "pass" | "fail" | "not_applicable" | "not_pinned"

/** What is wrong, and where. */
export interface Fault {
  /** The event; absent where it is none. */
  readonly seq?: number
  /** RFC 6901 pointer into the event, or else into the payload or the envelope; empty for the whole. */
  readonly member: string
  readonly detail: string
}

export interface Check {
  readonly name: CheckName
  readonly status: CheckStatus
  /** Why, unless it passed. */
  readonly detail?: string
  /** The first faults that were found, at most {@link MAX_FAULTS}. */
  readonly faults: ReadonlyArray<Fault>
}

/** Most faults that one check reports. */
export const MAX_FAULTS = 20

/**
 * What a reader of valid evidence should know. `executed_outside_authority`: the caller reported an execution outside of
 * the time that was granted. `late_usage`: one that was reported after its reservation had ended. `outcome_conflict`: a
 * report that contradicts the outcome on record. `time_zones_differ`: a database of another version than the table names
 * has other offsets. `may_have_changed`: the mandate could go on after the evidence was generated.
 */
export type WarningCode =
  | "executed_outside_authority"
  | "late_usage"
  | "outcome_conflict"
  | "time_zones_differ"
  | "may_have_changed"
  | "generated_in_future"

export interface Warning {
  readonly code: WarningCode
  readonly seq?: number
  readonly authorization_id?: string
  readonly detail: string
}

/** How many authorizations ended in one way, and their sum in minor units, as decimal text: it may pass 2^53-1. */
export interface OutcomeSum {
  readonly outcome: "COMMITTED" | "RESERVED" | "CANCELLED" | "EXPIRED" | "DENIED" | "INDETERMINATE" | "LATE"
  readonly count: number
  /** Absent for decisions that reserved nothing. */
  readonly amount?: string
}

/** What the end user agreed to, and with which passkey. */
export interface ProvedApproval {
  readonly approved_at: string
  readonly organization_name: string
  readonly locale: string
  /** The very lines that the passkey signed. */
  readonly lines: ReadonlyArray<DisplayLine>
  readonly rp_id: string
  readonly origin: string
  readonly credential_id: string
  readonly identity_issuer: string
}

/** What valid evidence proves. */
export interface Proved {
  readonly organization_id: string
  readonly environment: Environment
  readonly mandate: MandateRecord
  readonly approval?: ProvedApproval
  /** As of when. */
  readonly generated_at: string
  readonly age_seconds: number
  readonly head: { readonly seq: number; readonly hash: string }
  readonly decisions_rerun: number
  readonly outcomes: ReadonlyArray<OutcomeSum>
  /** Sum of the refunds that the caller reported, in minor units. */
  readonly refunded: { readonly count: number; readonly amount: string }
}

/**
 * `valid`: no check failed. `invalid`: at least one did, which is a security incident for the holder. `unsupported`: the
 * evidence is of a version, or has a passkey of a kind, that this verifier cannot check; nothing is known to be wrong.
 */
export type Verdict = "valid" | "invalid" | "unsupported"

export interface EvidenceReport {
  readonly verdict: Verdict
  readonly checks: ReadonlyArray<Check>
  readonly warnings: ReadonlyArray<Warning>
  /** The key that the envelope names; absent where it names none. */
  readonly kid?: string
  /** Present if the verdict is `valid`. */
  readonly proved?: Proved
}

/** Collects the outcomes of checks. A check that nothing is said of is not applicable. */
export interface CheckRecorder {
  /** It was looked at; unless a fault is found, it passes. */
  readonly made: (...names: ReadonlyArray<CheckName>) => void
  readonly fault: (name: CheckName, fault: Fault) => void
  /** A fault that may be the verifier's own: it does not know the version or the algorithm. */
  readonly unsupported: (name: CheckName, fault: Fault) => void
  readonly notPinned: (name: CheckName, detail: string) => void
  readonly notApplicable: (name: CheckName, detail: string) => void
  readonly hasFault: (...names: ReadonlyArray<CheckName>) => boolean
  readonly verdict: () => Verdict
  readonly checks: () => ReadonlyArray<Check>
}

interface Entry {
  status: CheckStatus
  detail?: string
  readonly faults: Array<Fault>
}

const NAMES = Object.keys(CHECKS) as ReadonlyArray<CheckName>

export const recordChecks = (): CheckRecorder => {
  const entries = new Map<CheckName, Entry>()
  let isUnsupported = false
  let isInvalid = false
  const entryOf = (name: CheckName): Entry => {
    const entry = entries.get(name) ?? { status: "pass", faults: [] }
    entries.set(name, entry)
    return entry
  }
  const fail = (name: CheckName, fault: Fault): void => {
    const entry = entryOf(name)
    entry.status = "fail"
    entry.detail ??= fault.detail
    if (entry.faults.length < MAX_FAULTS) entry.faults.push(fault)
  }
  return {
    made: (...names) => {
      for (const name of names) entryOf(name)
    },
    fault: (name, fault) => {
      isInvalid = true
      fail(name, fault)
    },
    unsupported: (name, fault) => {
      isUnsupported = true
      fail(name, fault)
    },
    notPinned: (name, detail) => {
      if (!entries.has(name)) entries.set(name, { status: "not_pinned", detail, faults: [] })
    },
    notApplicable: (name, detail) => {
      if (!entries.has(name)) entries.set(name, { status: "not_applicable", detail, faults: [] })
    },
    hasFault: (...names) => names.some((name) => entries.get(name)?.status === "fail"),
    verdict: () => (isInvalid ? "invalid" : isUnsupported ? "unsupported" : "valid"),
    checks: () =>
      NAMES.map((name) => ({ name, ...(entries.get(name) ?? { status: "not_applicable", faults: [] }) }))
  }
}
