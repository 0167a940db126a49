import type {
  ApprovalSessionState,
  PasskeyRecord,
  SubjectCredentials
} from "@svc/domain/approval/ApprovalSessionState"
import {
  type DecisionData,
  type JournalFact,
  type MandateTerms,
  RULES_VERSION
} from "@svc/domain/mandate/JournalFact"
import type { AuthorizationState, Counters, MandateState, StreamHead } from "@svc/domain/mandate/MandateState"
import { type SealedEvent, sealEvent } from "@svc/domain/mandate/SealedEvent"
import type { ClaimKind, LoadedStream, StreamChange, UniqueClaim } from "@svc/domain/ports/MandateStore"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { commitmentOf, OPENING_BYTES } from "@svc/protocol/evidence/Commitment"
import { policyDigest } from "@svc/protocol/evidence/PolicyDigest"
import { formatIdentifier, IDENTIFIER_RANDOM_BYTES, type IdentifierPrefix } from "@svc/protocol/Identifier"
import type { Policy } from "@svc/protocol/Mandate"
import {
  formatInstant,
  formatNanos,
  type Instant,
  NANOS_PER_SECOND,
  parseTimestamp
} from "@svc/protocol/Timestamp"

/** Valid changes of a stream for the tests of stores: right in form and chained, whatever they mean. */

export const HOUR = 3600n * NANOS_PER_SECOND
export const DAY = 24n * HOUR

/** 2026-01-01T00:00:00Z: what fixtures count from where no clock is at hand. In milliseconds. */
const FIXTURE_EPOCH_MILLISECONDS = 1_767_225_600_000

let identifiers = 0

export const randomBytes = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length))

/** A new identifier; each one is above all that were made before it. */
export const newIdentifier = (prefix: IdentifierPrefix): string => {
  identifiers += 1
  const random = randomBytes(IDENTIFIER_RANDOM_BYTES)
  return formatIdentifier(prefix, FIXTURE_EPOCH_MILLISECONDS + identifiers, random)
}

/** A hash, token or commitment nobody else has: base64url of 32 random bytes. */
export const newDigest = (): string => encodeBase64Url(randomBytes(32))

export const POLICY: Policy = {
  currency: "EUR",
  max_amount: 5000,
  min_amount: 1,
  allowed_actions: ["card.create"],
  allowed_merchants: ["mrc_42", "Stra\u00dfe", "STRASSE"],
  max_total_amount: 9_007_199_254_740_991,
  periods: [
    {
      unit: "MONTH",
      interval: 1,
      alignment: "CALENDAR",
      time_zone: "Europe/Berlin",
      first_period: "FULL",
      max_amount: 20_000
    }
  ]
}

const NO_USE: Counters = {
  committedAmount: 0n,
  reservedAmount: 0n,
  lateAmount: 0n,
  committedExecutions: 0,
  reservedExecutions: 0,
  lateExecutions: 0
}

export interface MandatePlace {
  readonly organization: string
  readonly mandate: string
  readonly subjectReference: string
}

const termsOf = (place: MandatePlace, now: Instant): MandateTerms => ({
  organization_id: place.organization,
  environment: "test",
  mandate_id: place.mandate,
  kind: "RECURRING",
  subject_reference: place.subjectReference,
  policy: POLICY,
  policy_digest: policyDigest(JSON.parse(JSON.stringify(POLICY))),
  window: { starts_at: formatInstant(now), ends_at: formatInstant(now + 365n * DAY) },
  approval_deadline: formatInstant(now + DAY),
  time_zones: [
    {
      name: "Europe/Berlin",
      tzdb_version: "2026a",
      offset_seconds: 3600,
      transitions: [{ at: "2026-03-29T01:00:00Z", offset_seconds: 7200 }]
    }
  ]
})

/** What a change may say beyond its events; everything else follows from them. */
export type ChangeParts = Partial<
  Omit<StreamChange, "organization" | "mandate" | "events" | "headBefore" | "headAfter">
>

/** How long a fixture's change may take to be recorded, unless it says otherwise. */
const TIME_TO_RECORD = HOUR

/** The first change of a new mandate. `occurredAt` is `now` unless given. */
export const createdChange = (
  place: MandatePlace,
  now: Instant,
  parts: ChangeParts & { readonly occurredAt?: Instant } = {}
): StreamChange => {
  const { occurredAt = now, ...rest } = parts
  const terms = termsOf(place, now)
  const at = formatNanos(occurredAt)
  const created: JournalFact = { type: "mandate.created", occurred_at: at, data: terms }
  const mandateState: MandateState = {
    terms,
    state: "PENDING_APPROVAL",
    version: 1,
    createdAt: at,
    updatedAt: at,
    totals: NO_USE,
    periods: [],
    authorizationCount: 0,
    lateAuthorizations: []
  }
  return {
    organization: place.organization,
    mandate: place.mandate,
    expected: "absent",
    decidedAt: now,
    recordBefore: now + TIME_TO_RECORD,
    ...sealAll(undefined, mandateState, [created]),
    mandateState,
    nextDue: now + DAY,
    authorizations: [],
    sessions: [],
    claims: [],
    ...rest
  }
}

/** What a following change starts from: a loaded stream, and the instant it was loaded at. */
export interface Current {
  readonly now: Instant
  readonly stream: LoadedStream
}

/** The next change of a stream, with the given facts as its events. */
export const followingChange = (
  { now, stream }: Current,
  facts: ReadonlyArray<JournalFact>,
  parts: ChangeParts = {}
): StreamChange => {
  const { mandate } = stream.state
  return {
    organization: stream.organization,
    mandate: mandate.terms.mandate_id,
    expected: stream.revision,
    decidedAt: now,
    recordBefore: now + TIME_TO_RECORD,
    ...sealAll(stream.head, mandate, facts),
    mandateState: { ...mandate, updatedAt: facts.at(-1)?.occurred_at ?? mandate.updatedAt },
    nextDue: now + DAY,
    authorizations: [],
    sessions: [],
    claims: [],
    ...parts
  }
}

/** Chains facts to a head, whether or not they can follow in the life of the mandate. */
const sealAll = (
  headBefore: StreamHead | undefined,
  mandate: MandateState,
  facts: ReadonlyArray<JournalFact>
): Pick<StreamChange, "events" | "headBefore" | "headAfter"> => {
  const events: Array<SealedEvent> = []
  let head = headBefore
  for (const fact of facts) {
    const next = sealEvent(head, fact, { id: newIdentifier("evt_"), mandate })
    events.push(next.sealed)
    head = next.head
  }
  if (head === undefined) throw new RangeError("a stream begins with an event")
  return { events, ...(headBefore === undefined ? {} : { headBefore }), headAfter: head }
}

/** A fact of no consequence, to make a stream longer. */
export const revokedFact = (occurredAt: Instant, reason = "no longer wanted"): JournalFact => ({
  type: "mandate.revoked",
  occurred_at: formatNanos(occurredAt),
  data: { reason }
})

export const newAuthorization = (
  order: number,
  now: Instant,
  parts: Partial<AuthorizationState> = {}
): AuthorizationState => ({
  id: newIdentifier("aut_"),
  order,
  externalReference: `order ${order}`,
  decision: "ALLOW",
  reasons: [],
  state: "RESERVED",
  executeBefore: formatInstant(now + HOUR),
  expiresAt: formatInstant(now + 2n * HOUR),
  proposedAction: {
    action: "card.create",
    attributes: {},
    payment: { amount: 100 + order, currency: "EUR" }
  },
  commitment: commitmentOf(randomBytes(OPENING_BYTES)),
  createdAt: formatNanos(now),
  refunds: [],
  periods: [{ period: 0, startsAt: now - DAY, endsAt: now + 30n * DAY }],
  conflicts: [],
  late: false,
  ...parts
})

/** The event that records an authorization as reserved. */
export const reservedFact = (authorization: AuthorizationState, occurredAt: Instant): JournalFact => {
  const data: DecisionData = {
    rules_version: RULES_VERSION,
    external_reference: authorization.externalReference,
    proposed_action: authorization.proposedAction,
    commitment: authorization.commitment,
    execution_window_seconds: 3600,
    decision: "ALLOW",
    reasons: [],
    ...(authorization.executeBefore === undefined ? {} : { execute_before: authorization.executeBefore }),
    ...(authorization.expiresAt === undefined ? {} : { expires_at: authorization.expiresAt }),
    report_grace_seconds: 0,
    usage: {
      committed_amount: 0,
      reserved_amount: 0,
      late_amount: 0,
      committed_executions: 0,
      reserved_executions: 0,
      late_executions: 0,
      periods: []
    }
  }
  return {
    type: "authorization.reserved",
    occurred_at: formatNanos(occurredAt),
    authorization_id: authorization.id,
    data
  }
}

/** A change that reserves the given authorizations, each with its event. */
export const reservingChange = (
  current: Current,
  authorizations: ReadonlyArray<AuthorizationState>,
  parts: ChangeParts = {}
): StreamChange => {
  const { now, stream } = current
  const facts = authorizations.map((authorization) => reservedFact(authorization, now))
  const mandateState: MandateState = {
    ...stream.state.mandate,
    updatedAt: formatNanos(now),
    authorizationCount: stream.state.mandate.authorizationCount + authorizations.length
  }
  return followingChange(current, facts, { mandateState, authorizations, ...parts })
}

export const newSession = (
  current: Current,
  parts: Partial<ApprovalSessionState> = {}
): ApprovalSessionState => ({
  id: newIdentifier("aps_"),
  organizationId: current.stream.organization,
  mandateId: current.stream.state.mandate.terms.mandate_id,
  subjectReference: current.stream.state.mandate.terms.subject_reference,
  state: "OPEN",
  createdAt: current.now,
  expiresAt: current.now + 300n * NANOS_PER_SECOND,
  tokenHash: newDigest(),
  sealedToken: newDigest(),
  returnUrl: "https://shop.example/return?a=1&b=%20#top",
  returnState: "state-of-sixteen-characters",
  enrolment: "FIRST_USE",
  identity: { issuer: "https://id.example", jti: newDigest(), assertionSha256: newDigest() },
  ...parts
})

export const newPasskey = (parts: Partial<PasskeyRecord> = {}): PasskeyRecord => ({
  id: newIdentifier("psk_"),
  credentialId: newDigest(),
  publicKey: encodeBase64Url(randomBytes(77)),
  algorithm: -7,
  counter: 0,
  backupEligible: true,
  enrolledAt: "2026-01-01T00:00:00.000000001Z",
  ...parts
})

/** The passkeys of a subject at its first revision, unless `parts` says otherwise. */
export const newSubject = (parts: Partial<SubjectCredentials> = {}): SubjectCredentials => ({
  revision: 1,
  userHandle: newDigest(),
  passkeys: [],
  ...parts
})

export const claimOf = (kind: ClaimKind, name: string, parts: Partial<UniqueClaim> = {}): UniqueClaim => ({
  kind,
  name,
  fingerprint: kind === "idempotency_key" ? newDigest() : "",
  resource: newIdentifier(kind === "commitment" ? "aut_" : "mnd_"),
  ...parts
})

/** Reads a timestamp that a fixture wrote. */
export const instantOf = (text: string): Instant => {
  const instant = parseTimestamp(text)
  if (instant === undefined) throw new RangeError(`not a timestamp: ${text}`)
  return instant
}
