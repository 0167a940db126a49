import type { MandateTerms } from "@svc/domain/mandate/JournalFact"
import type { JsonObject } from "@svc/protocol/json/Json"
import type { ApprovalEntry } from "./ApprovalProof.ts"
import type { CheckName, CheckRecorder } from "./Report.ts"
import type { ZoneDatabase } from "./ZoneDatabase.ts"

/** The last event of evidence that was verified before. */
export interface RememberedHead {
  readonly hash: string
  /** Absent: the hash may be that of any event. */
  readonly seq?: number
}

/** A passkey that is known to be the subject's. */
export interface KnownPasskey {
  /** Its credential id, as base64url. */
  readonly credentialId: string
  /** Its COSE_Key, as base64url. Without it nothing is proved: a forger can name any id beside a key of their own. */
  readonly publicKey?: string
}

/**
 * What is known from elsewhere. Evidence cannot vouch for any of it itself: what is left out is not checked, and the report
 * says so.
 */
export interface Expectations {
  readonly organization?: string
  readonly environment?: string
  readonly mandate?: string
  readonly subject?: string
  /** Relying party ids of the approval page. */
  readonly rpIds?: ReadonlyArray<string>
  /** Origins of the approval page, such as `https://approve.example.com`. */
  readonly origins?: ReadonlyArray<string>
  readonly passkeys?: ReadonlyArray<KnownPasskey>
  readonly head?: RememberedHead
  /** Default: that of the runtime, through `Intl`. `false`: none. */
  readonly timeZones?: ZoneDatabase | false
  /** The current time; default: that of this machine. */
  readonly now?: Date
}

const HEAD = /^(?:(\d{1,9}):)?([A-Za-z0-9_-]{43})$/u

/** Reads a head as people pass it on, `seq:hash` or the hash alone; undefined for anything else. */
export const parseRememberedHead = (text: string): RememberedHead | undefined => {
  const [, seq, hash] = HEAD.exec(text) ?? []
  return hash === undefined ? undefined : { hash, ...(seq === undefined ? {} : { seq: Number(seq) }) }
}

/** Reads a passkey as people pass it on: its credential id and, behind a colon, its public key. */
export const parseKnownPasskey = (text: string): KnownPasskey => {
  const [credentialId = "", publicKey] = text.split(":")
  return publicKey === undefined ? { credentialId } : { credentialId, publicKey }
}

const expect = (
  checks: CheckRecorder,
  name: CheckName,
  { actual, expected }: { readonly actual: string; readonly expected: string | undefined }
): void => {
  if (expected === undefined) {
    checks.notPinned(name, "no expectation was given")
    return
  }
  checks.made(name)
  if (actual !== expected) checks.fault(name, { member: "", detail: `it is ${actual}, not ${expected}` })
}

const PINNED_BY_APPROVAL = ["rp_id", "origin", "passkey"] as const

const checkApprover = (
  { data, seq }: ApprovalEntry,
  { origins, passkeys, rpIds }: Expectations,
  checks: CheckRecorder
): void => {
  const { credential, origin, rp_id } = data.approval
  const among = (name: CheckName, member: string, isKnown: boolean | undefined, what: string) => {
    if (isKnown === undefined) checks.notPinned(name, `${what} not pinned`)
    else checks.made(name)
    if (isKnown === false) {
      checks.fault(name, {
        seq,
        member: `/data/approval${member}`,
        detail: `the ${what} is not an expected one`
      })
    }
  }
  among("rp_id", "/rp_id", rpIds?.includes(rp_id), "rp id")
  among("origin", "/origin", origins?.includes(origin), "origin")
  const named = passkeys?.filter(({ credentialId }) => credentialId === credential.id)
  const isKnown = named?.some(({ publicKey }) => publicKey === credential.public_key)
  if (isKnown !== true && named?.some(({ publicKey }) => publicKey === undefined)) {
    checks.notPinned("passkey", "it has the id of an expected one, whose public key was not given")
  } else among("passkey", "/credential", isKnown, "passkey")
}

/** Whether the journal has the event that is remembered as its head. */
const checkHead = (
  head: RememberedHead | undefined,
  events: ReadonlyArray<JsonObject>,
  checks: CheckRecorder
): void => {
  if (head === undefined) {
    checks.notPinned("remembered_head", "head not pinned")
    return
  }
  checks.made("remembered_head")
  const { hash, seq } = head
  const isThere = events.some((event) => event.hash === hash && (seq === undefined || event.seq === seq))
  if (isThere) return
  const at = seq === undefined ? {} : { seq }
  const detail =
    seq !== undefined && seq > events.length
      ? `the journal ends with event ${events.length}: what was remembered is missing`
      : "the journal has no event with that hash: it is another history"
  checks.fault("remembered_head", { ...at, member: "/hash", detail })
}

/** Compares what the evidence says with what is known from elsewhere. */
export const checkExpectations = (
  journal: {
    readonly terms: MandateTerms
    readonly events: ReadonlyArray<JsonObject>
    readonly approval: ApprovalEntry | undefined
  },
  expectations: Expectations,
  checks: CheckRecorder
): void => {
  const { approval, events, terms } = journal
  const { environment, mandate, organization, subject } = expectations
  expect(checks, "expected_organization", { actual: terms.organization_id, expected: organization })
  expect(checks, "expected_environment", { actual: terms.environment, expected: environment })
  expect(checks, "expected_mandate", { actual: terms.mandate_id, expected: mandate })
  expect(checks, "expected_subject", { actual: terms.subject_reference, expected: subject })
  if (approval !== undefined) checkApprover(approval, expectations, checks)
  else for (const name of PINNED_BY_APPROVAL) checks.notApplicable(name, "nobody approved the mandate")
  checkHead(expectations.head, events, checks)
}
