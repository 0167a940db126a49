/** Evidence as the service makes it, without a store: journals told as commands, approved with a passkey in software, signed. */
import { p256 } from "@noble/curves/nist.js"
import type { ApprovalRecord, ApprovalStatement } from "@svc/domain/approval/ApprovalStatement"
import { tableRange } from "@svc/domain/calendar/PeriodGeometry"
import { nextTransition } from "@svc/domain/mandate/ApplyDue"
import { type Command, decide } from "@svc/domain/mandate/Decide"
import { evidencePayload } from "@svc/domain/mandate/EvidencePayload"
import { evolveAll } from "@svc/domain/mandate/Evolve"
import type { JournalFact, MandateTerms } from "@svc/domain/mandate/JournalFact"
import { proposeTerms } from "@svc/domain/mandate/MandateRequest"
import type { StreamHead, StreamState } from "@svc/domain/mandate/MandateState"
import { sealEvent } from "@svc/domain/mandate/SealedEvent"
import { decodeBase64Url, encodeBase64Url } from "@svc/protocol/Base64Url"
import { approvalChallenge } from "@svc/protocol/evidence/ApprovalChallenge"
import { commitmentOf } from "@svc/protocol/evidence/Commitment"
import { evidenceSigningInput } from "@svc/protocol/evidence/EvidenceEnvelope"
import { publicKeyToJwk } from "@svc/protocol/evidence/KeySet"
import { policyDigest } from "@svc/protocol/evidence/PolicyDigest"
import { formatIdentifier } from "@svc/protocol/Identifier"
import type { JsonObject, JsonValue } from "@svc/protocol/json/Json"
import type { CreateMandateBody } from "@svc/protocol/Mandate"
import { formatNanos, type Instant, parseTimestamp } from "@svc/protocol/Timestamp"
import { Result } from "effect"
import { seededBytes } from "./ProgramHarness.ts"
import {
  makeSoftwarePasskey,
  type SoftwareAlgorithm,
  type SoftwarePasskeyOptions
} from "./SoftwarePasskey.ts"

export const ORGANIZATION = "org_01jdxxxxxxxxxxxxxxxxxxxxxx"
export const RP_ID = "svc.test"
export const ORIGIN = "https://approve.svc.test"
export const SUBJECT = "user_8f2"

export const SECOND = 1_000_000_000n
export const HOUR = 3600n * SECOND
export const DAY = 24n * HOUR

export const at = (text: string): Instant => {
  const instant = parseTimestamp(text)
  if (instant === undefined) throw new RangeError(`not a timestamp: ${text}`)
  return instant
}

export const CREATED = at("2026-11-28T09:00:00Z")

/** An identifier that follows from a number. */
export const identifierOf = (prefix: "mnd_" | "aut_" | "aps_" | "evt_" | "psk_", number: number): string =>
  formatIdentifier(prefix, 1_764_320_400_000 + number, seededBytes(number)(10))

export const openingOf = (number: number): Uint8Array => seededBytes(number + 7)(32)

/** The commitment of {@link openingOf}. */
export const commitmentFor = (number: number): string => commitmentOf(openingOf(number))

/** A signing key of the service, and what is known of it. */
export const makeSigningKey = (seed: number) => {
  const secretKey = p256.keygen(seededBytes(seed)(48)).secretKey
  const jwk = publicKeyToJwk(p256.getPublicKey(secretKey, false))
  return {
    kid: jwk.kid,
    jwk,
    sign: (data: Uint8Array) => p256.sign(data, secretKey, { prehash: true, lowS: true, format: "compact" })
  }
}

export const signingKey = makeSigningKey(1)
export const keySet = { keys: [signingKey.jwk] }

export const encoder = new TextEncoder()

/** Signs a payload, whatever it says, as whoever has the key can. */
export const signPayload = (payload: string, key = signingKey, format = "svc.evidence.v1") => {
  const encoded = encodeBase64Url(encoder.encode(payload))
  const input = evidenceSigningInput({ kid: key.kid, payload: encoded })
  return {
    format,
    protected: input.protected,
    payload: encoded,
    signature: encodeBase64Url(key.sign(input.bytes))
  }
}

export const bytesOf = (envelope: object): Uint8Array => encoder.encode(JSON.stringify(envelope))

/** Offset of a zone in seconds, at a second since the epoch. */
const offsetsOf = (name: string) => {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: name,
    hour: "numeric",
    timeZoneName: "longOffset"
  })
  return (second: number): number => {
    const [, sign = "+", hours = "0", minutes = "0"] =
      /GMT([+-])(\d\d):(\d\d)$/u.exec(format.format(second * 1000)) ?? []
    return (sign === "-" ? -1 : 1) * (Number(hours) * 3600 + Number(minutes) * 60)
  }
}

/** A zone table as the service fixes it. */
const tableOf = (name: string, terms: Pick<MandateTerms, "policy" | "window">) => {
  const { from, to } = tableRange(
    (terms.policy.periods ?? []).filter((period) => period.time_zone === name),
    { startsAt: at(terms.window.starts_at), endsAt: at(terms.window.ends_at) }
  )
  const offsets = offsetsOf(name)
  const hour = 3600
  const first = Number(from / SECOND)
  const transitions: Array<{ at: string; offset_seconds: number }> = []
  // Real zones change on the hour here; that is all that these tests need.
  for (let second = Math.floor(first / hour) * hour + hour; second <= Number(to / SECOND); second += hour) {
    if (offsets(second) === offsets(second - hour)) continue
    const text = new Date(second * 1000).toISOString().replace(".000Z", "Z")
    transitions.push({ at: text, offset_seconds: offsets(second) })
  }
  return { name, tzdb_version: process.versions.tz ?? "unknown", offset_seconds: offsets(first), transitions }
}

const tables = new Map<string, ReturnType<typeof tableOf>>()

const fixedTables = (terms: Pick<MandateTerms, "policy" | "window">) =>
  [...new Set((terms.policy.periods ?? []).map((period) => period.time_zone))].map((name) => {
    const key = JSON.stringify([name, terms.policy.periods, terms.window])
    const table = tables.get(key) ?? tableOf(name, terms)
    tables.set(key, table)
    return table
  })

export const singleBody = (policy: JsonObject = {}, parts: JsonObject = {}): JsonObject => ({
  kind: "SINGLE",
  subject_reference: SUBJECT,
  policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"], ...policy },
  window: { starts_at: "2026-12-01T00:00:00Z", ends_at: "2027-03-01T00:00:00Z" },
  approval_deadline: "2026-11-30T00:00:00Z",
  ...parts
})

export const recurringBody = (policy: JsonObject = {}, parts: JsonObject = {}): JsonObject =>
  singleBody(
    {
      allowed_merchants: ["mrc_42"],
      periods: [{ unit: "MONTH", time_zone: "Europe/Berlin", max_amount: 9000, max_executions: 5 }],
      ...policy
    },
    { kind: "RECURRING", description: "Monthly books", ...parts }
  )

/** The terms that a body leads to. */
export const termsOf = (body: JsonObject, mandate = identifierOf("mnd_", 1), now = CREATED): MandateTerms => {
  const proposed = Result.getOrThrow(proposeTerms(body as unknown as CreateMandateBody, now, () => true))
  return {
    organization_id: ORGANIZATION,
    environment: "test",
    mandate_id: mandate,
    ...proposed,
    policy_digest: policyDigest(proposed.policy as unknown as JsonValue),
    time_zones: fixedTables(proposed)
  }
}

const COSE_KEY_OFFSET = 37 + 16 + 2

/** A user's device, with its credential made. */
export const makeDevice = (
  seed = 3,
  algorithm: SoftwareAlgorithm | -257 = -7,
  keyPair?: NonNullable<SoftwarePasskeyOptions["makeKeyPair"]>
) => {
  const random = seededBytes(seed)
  const options = { origin: ORIGIN, rpId: RP_ID, random }
  const passkey = makeSoftwarePasskey(
    keyPair === undefined
      ? { ...options, algorithm: algorithm as SoftwareAlgorithm }
      : { ...options, makeKeyPair: keyPair }
  )
  const made = passkey.register({
    challenge: "",
    rp: { id: RP_ID },
    user: { id: encodeBase64Url(random(32)) },
    pubKeyCredParams: [{ alg: algorithm }]
  })
  const data = decodeBase64Url(made.response.authenticatorData)!
  const publicKey = encodeBase64Url(data.slice(COSE_KEY_OFFSET + decodeBase64Url(made.id)!.length))
  return { passkey, credentialId: made.id, publicKey, algorithm }
}

export type Device = ReturnType<typeof makeDevice>
export const device = makeDevice()

type Misbehaviour = Parameters<Device["passkey"]["authenticate"]>[1]

const statementOf = (terms: MandateTerms): ApprovalStatement => {
  const { time_zones: _, ...shown } = terms
  return {
    ...shown,
    approval_session_id: identifierOf("aps_", 1),
    organization_name: "Ağaç & Söhne",
    display: { locale: "en", lines: [{ label: "At most", value: "EUR 50.00" }] },
    nonce: encodeBase64Url(seededBytes(9)(32))
  }
}

/** An approval of the terms with a device. `parts` of the statement are signed as they are. */
export const approvalOf = (
  terms: MandateTerms,
  by: Device = device,
  { misbehaviour, parts = {} }: { readonly misbehaviour?: Misbehaviour; readonly parts?: object } = {}
): ApprovalRecord => {
  const statement = { ...statementOf(terms), ...parts }
  const challenge = encodeBase64Url(approvalChallenge(statement as unknown as JsonValue))
  const { id, response } = by.passkey.authenticate({ challenge, rpId: RP_ID }, misbehaviour)
  return {
    statement,
    rp_id: RP_ID,
    origin: ORIGIN,
    authenticator_data: response.authenticatorData,
    client_data_json: response.clientDataJSON,
    signature: response.signature,
    ...(response.userHandle === undefined ? {} : { user_handle: response.userHandle }),
    credential: {
      id,
      passkey_id: identifierOf("psk_", 1),
      public_key: by.publicKey,
      algorithm: by.algorithm,
      backup_eligible: true,
      enrolled_at: formatNanos(CREATED),
      enrolled_in_this_session: true
    },
    identity: {
      issuer: "https://id.example",
      jti: "jti-1",
      assertion_sha256: encodeBase64Url(seededBytes(11)(32))
    }
  }
}

export interface ProposalParts {
  readonly amount?: number
  readonly currency?: string
  readonly action?: string
  /** `null`: the action names none. */
  readonly merchant?: string | null
  readonly window?: number
  readonly grace?: number
}

/** A journal that goes on by commands, as the service would have written it. */
export const tellJournal = (terms: MandateTerms, created = CREATED) => {
  const texts: Array<string> = []
  let state: StreamState | undefined
  let head: StreamHead | undefined
  let recorded = undefined as unknown as JournalFact
  const states = evolveAll(
    (function* () {
      for (;;) yield recorded
    })()
  )
  const record = (fact: JournalFact): void => {
    recorded = fact
    state = states.next().value as StreamState
    const id = identifierOf("evt_", texts.length + 1)
    const sealed = sealEvent(head, fact, { id, mandate: state.mandate })
    head = sealed.head
    texts.push(sealed.sealed.text)
  }
  record({ type: "mandate.created", occurred_at: formatNanos(created), data: terms })
  const until = (now: Instant): void => {
    for (let due = nextTransition(state!); due !== undefined && due.at <= now; due = nextTransition(state!)) {
      record(due.fact)
    }
  }
  /** Whether the command had an effect. */
  const told = (command: Command, now: Instant): boolean => {
    until(now)
    const verdict = decide(state!, head!.bytes, command, now)
    if (Result.isFailure(verdict)) return false
    for (const fact of verdict.success.facts) record(fact)
    return verdict.success.facts.length > 0
  }
  return {
    terms,
    texts,
    until,
    tell: told,
    state: () => state!,
    head: () => head!,
    approve: (now: Instant, approval = approvalOf(terms)) => told({ _tag: "Approve", approval }, now),
    propose: (number: number, now: Instant, parts: ProposalParts = {}) =>
      told(
        {
          _tag: "Propose",
          authorizationId: identifierOf("aut_", number),
          reportGraceSeconds: parts.grace ?? 0,
          body: {
            external_reference: `order ${number}`,
            execution_window_seconds: parts.window ?? 900,
            commitment: commitmentOf(openingOf(number)) as never,
            proposed_action: {
              action: parts.action ?? "card.create",
              ...(parts.merchant === null ? {} : { attributes: { merchant: parts.merchant ?? "mrc_42" } }),
              payment: { amount: parts.amount ?? 1000, currency: parts.currency ?? "EUR" }
            }
          }
        },
        now
      ),
    commit: (number: number, now: Instant, parts: JsonObject = {}) =>
      told(
        {
          _tag: "Commit",
          authorizationId: identifierOf("aut_", number),
          body: {
            external_action_reference: `order ${number}`,
            provider_transaction_reference: "txn_1",
            reported_accepted_at: formatNanos(now).replace(/0+Z$/u, "1Z"),
            commitment_opening: encodeBase64Url(openingOf(number)),
            ...parts
          } as never
        },
        now
      ),
    cancel: (number: number, now: Instant) =>
      told(
        {
          _tag: "Cancel",
          authorizationId: identifierOf("aut_", number),
          body: { reason: "EXECUTOR_REJECTED", execution_disposition: "NEVER_BECAME_POSSIBLE" }
        },
        now
      ),
    refund: (number: number, amount: number, now: Instant) =>
      told(
        {
          _tag: "ReportRefund",
          authorizationId: identifierOf("aut_", number),
          body: {
            amount,
            currency: "EUR",
            provider_refund_reference: "rfd_1",
            reported_refunded_at: formatNanos(now).replace(/\.0+Z$/u, "Z") as never
          }
        },
        now
      ),
    /** The payload that the service would sign at an instant, everything due recorded. */
    payload: (now: Instant): string => {
      until(now)
      const { before, behind } = evidencePayload({ mandate: state!.mandate, head: head!, generatedAt: now })
      return `${before}${texts.join(",")}${behind}`
    },
    /** The payload of a continuation after an event. */
    continuation: (afterSeq: number, now: Instant): string => {
      until(now)
      const after = { seq: afterSeq, hash: JSON.parse(texts[afterSeq - 1]!).hash }
      const { before, behind } = evidencePayload({
        mandate: state!.mandate,
        head: head!,
        generatedAt: now,
        after
      })
      return `${before}${texts.slice(afterSeq).join(",")}${behind}`
    }
  }
}

export type Journal = ReturnType<typeof tellJournal>

/** Instants of {@link longLife}, in which each kind of event occurs. */
const DECEMBER = at("2026-12-02T10:00:00Z")

/** A RECURRING mandate's life of 20 events: every decision, every outcome, a conflict, a refund, late usage. */
export const longLife = (): Journal => {
  const journal = tellJournal(termsOf(recurringBody({ max_total_amount: 60_000 })))
  journal.approve(CREATED + HOUR)
  journal.propose(1, DECEMBER, { amount: 4200 })
  journal.commit(1, DECEMBER + SECOND)
  journal.propose(2, DECEMBER + HOUR, { amount: 100, merchant: null })
  journal.propose(3, DECEMBER + HOUR + SECOND, { merchant: "mrc_43" })
  journal.propose(4, DECEMBER + HOUR + 2n * SECOND, { amount: 1500 })
  journal.cancel(4, DECEMBER + HOUR + 3n * SECOND)
  journal.refund(1, 1200, DECEMBER + 2n * HOUR)
  journal.propose(5, DECEMBER + 3n * HOUR, { amount: 1000, window: 60, grace: 60 })
  journal.commit(5, DECEMBER + 4n * HOUR)
  journal.commit(5, DECEMBER + 5n * HOUR, { provider_transaction_reference: "txn_2" })
  journal.propose(6, DECEMBER + 31n * DAY, { amount: 5000 })
  journal.commit(6, DECEMBER + 31n * DAY + 60n * SECOND)
  journal.propose(7, DECEMBER + 31n * DAY + HOUR, { amount: 3000 })
  journal.commit(7, DECEMBER + 31n * DAY + HOUR + SECOND)
  journal.propose(8, DECEMBER + 31n * DAY + 2n * HOUR, { amount: 1000 })
  journal.until(GENERATED)
  return journal
}

/** When the evidence of {@link longLife} was generated. */
export const GENERATED = DECEMBER + 31n * DAY + 3n * HOUR
export const NOW = new Date("2027-01-02T13:00:10Z")
