/** Vectors for verifiers in other languages: what `docs/vectors/` holds, and as many more journals as are asked for. */
import { readFileSync } from "node:fs"
import { type PeriodRule, periodsFrom, tableRange } from "@svc/domain/calendar/PeriodGeometry"
import { prepareZone } from "@svc/domain/calendar/TimeZoneTable"
import { TimeZones } from "@svc/domain/ports/TimeZones"
import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { formatNanos } from "@svc/protocol/Timestamp"
import {
  at,
  device,
  encoder,
  keySet,
  makeSigningKey,
  NOW,
  ORGANIZATION,
  ORIGIN,
  RP_ID,
  SUBJECT,
  signingKey,
  signPayload
} from "@svc/testkit/EvidenceMaker"
import * as TimeZonesIntl from "@svc/time-zones/TimeZonesIntl"
import { type CheckName, type Expectations, type Verdict, verifyEvidence } from "@svc/verifier"
import { Effect } from "effect"
import { brokenRules, rareLives } from "./BrokenRules.ts"
import { forge, genuinePayloads } from "./Forger.ts"
import { randomJournal } from "./RandomJournals.ts"

/** Evidence, what a verifier is told from elsewhere, and what it must say. */
export interface EvidenceVector {
  readonly about: string
  /** The envelope as it is received. */
  readonly text: string
  /** In the terms of the verifier's `Expectations`; `now` is an RFC 3339 time. */
  readonly expectations: Omit<Expectations, "now" | "timeZones"> & {
    readonly now: string
    /** Tables are not compared: each database is of another version. */
    readonly timeZones: false
  }
  readonly verdict: Verdict
  /** Names of the checks that fail. A verifier that finds another fault first is as right. */
  readonly failed: ReadonlyArray<CheckName>
}

type Pinned = Omit<EvidenceVector["expectations"], "now" | "timeZones">

const verdictOnEnvelope = async (
  about: string,
  text: string,
  pinned: Pinned = {}
): Promise<EvidenceVector> => {
  const { checks, verdict } = await verifyEvidence(encoder.encode(text), keySet, {
    ...pinned,
    timeZones: false,
    now: NOW
  })
  const failed = checks.filter(({ status }) => status === "fail").map(({ name }) => name)
  const expectations = { ...pinned, timeZones: false as const, now: NOW.toISOString() }
  return { about, text, expectations, verdict, failed }
}

const verdictOn = (about: string, payload: string, pinned: Pinned = {}): Promise<EvidenceVector> =>
  verdictOnEnvelope(about, textOf(signPayload(payload)), pinned)

const textOf = (payload: object): string => JSON.stringify(payload)

/** What somebody knows who kept the head and knows the user's passkey. */
const everythingKnown = (genuine: (typeof genuinePayloads)[number]) => ({
  organization: ORGANIZATION,
  environment: "test" as const,
  subject: SUBJECT,
  mandate: genuine.mandate.id as string,
  rpIds: [RP_ID],
  origins: [ORIGIN],
  passkeys: [{ credentialId: device.credentialId, publicKey: device.publicKey }],
  head: genuine.head
})

/** The lives that forgeries are made of, with nothing known and with everything. */
export const genuineVectors = async (): Promise<ReadonlyArray<EvidenceVector>> => {
  const vectors: Array<EvidenceVector> = []
  for (const payload of genuinePayloads) {
    const kind = `${payload.mandate.kind}, ${payload.mandate.state}`
    vectors.push(await verdictOn(`genuine: ${kind}`, textOf(payload)))
    vectors.push(
      await verdictOn(
        `genuine: ${kind}, with everything pinned`,
        textOf(payload),
        payload.mandate.approved_at === undefined
          ? { head: payload.head, mandate: payload.mandate.id }
          : everythingKnown(payload)
      )
    )
  }
  return vectors
}

/** Journals of a random walk, all of them valid. */
export const journalVectors = async (
  first: number,
  count: number
): Promise<ReadonlyArray<EvidenceVector>> => {
  const vectors: Array<EvidenceVector> = []
  for (let seed = first; seed < first + count; seed++) {
    const { generated, journal } = randomJournal(seed)
    vectors.push(await verdictOn(`random walk ${seed}`, journal.payload(generated)))
  }
  return vectors
}

/** Genuine journals of what random walks do not reach, and journals of which one rule is broken. */
export const ruleVectors = async (): Promise<ReadonlyArray<EvidenceVector>> => {
  const vectors: Array<EvidenceVector> = []
  for (const { about, payload } of rareLives()) {
    const vector = await verdictOn(`genuine: ${about}`, payload)
    if (vector.verdict !== "valid") throw new Error(`${about}: ${vector.failed}`)
    vectors.push(vector)
  }
  for (const { about, found, payload } of brokenRules()) {
    const vector = await verdictOn(`one rule broken: ${about}`, textOf(payload))
    if (!vector.failed.includes(found))
      throw new Error(`${about}: found by ${vector.failed}, not by ${found}`)
    vectors.push(vector)
  }
  return vectors
}

/** Signed again by a holder of the key; some cannot be told from genuine ones without knowledge from elsewhere. */
export const forgeryVectors = async (
  first: number,
  count: number
): Promise<ReadonlyArray<EvidenceVector>> => {
  const vectors: Array<EvidenceVector> = []
  for (let number = first; number < first + count; number++) {
    const forged = forge(number)
    if (forged === undefined) continue
    const about = `forgery ${number}: ${forged.kind}; mended: ${forged.mended}`
    vectors.push(await verdictOn(about, textOf(forged.payload)))
  }
  return vectors
}

/** Enough numbers that each kind of forgery occurs on each journal with each mending. */
const FORGERIES_LOOKED_AT = 1600

/** The more a forger mended, the fewer checks find it. */
const MENDED = ["everything", "chain", "nothing"] as const

/**
 * Of each kind of forgery the shortest of those that were mended most; the shortest for each check that alone finds one; and
 * those that only a remembered head or a known passkey reveals.
 */
export const forgeriesOfEachKind = async (): Promise<ReadonlyArray<EvidenceVector>> => {
  const best = new Map<string, readonly [rank: number, EvidenceVector]>()
  const keep = (key: string, mended: number, vector: EvidenceVector): void => {
    const rank = mended * Number.MAX_SAFE_INTEGER + vector.text.length
    if (rank < (best.get(key)?.[0] ?? Number.POSITIVE_INFINITY)) best.set(key, [rank, vector])
  }
  for (let number = 0; number < FORGERIES_LOOKED_AT; number++) {
    const forged = forge(number)
    if (forged === undefined) continue
    const { genuine, kind, mended } = forged
    const about = `${kind}; mended: ${mended}`
    const vector = await verdictOn(about, textOf(forged.payload))
    if (vector.verdict !== "valid") {
      keep(kind, MENDED.indexOf(mended), vector)
      if (vector.failed.length === 1) keep(`found by ${vector.failed[0]}`, 0, vector)
      continue
    }
    if (genuine.mandate.approved_at === undefined) continue
    const pinned = await verdictOn(about, textOf(forged.payload), everythingKnown(genuine))
    if (pinned.verdict === "valid") continue
    keep(`${kind}, unpinned`, 0, { ...vector, about: `${about}; nothing known reveals it` })
    keep(`${kind}, pinned`, 0, { ...pinned, about: `${about}; what is known reveals it` })
  }
  const vectors = [...best.values()].map(([, vector]) => vector)
  return [...new Map(vectors.map((vector) => [textOf(vector), vector])).values()]
}

/** Order of the group of P-256 (FIPS 186-5). */
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

/** The other signature, (r, n - s), which is as valid. */
const otherSignature = (signature: string): string => {
  const hex = Buffer.from(signature, "base64url").toString("hex")
  const s = (P256_ORDER - BigInt(`0x${hex.slice(64)}`)).toString(16).padStart(64, "0")
  return Buffer.from(hex.slice(0, 64) + s, "hex").toString("base64url")
}

const flipped = (text: string, index: number): string =>
  text.slice(0, index) + (text[index] === "A" ? "B" : "A") + text.slice(index + 1)

/** Envelopes around one short journal that are wrong, or odd. */
export const envelopeVectors = (): Promise<ReadonlyArray<EvidenceVector>> => {
  const payload = textOf(genuinePayloads.at(-1))
  const envelope = signPayload(payload)
  const header = (parts: object) =>
    encodeBase64Url(encoder.encode(textOf({ alg: "ES256", kid: signingKey.kid, ...parts })))
  const first = payload.slice(0, payload.indexOf(",") + 1)
  const vectors: ReadonlyArray<readonly [about: string, text: string]> = [
    ["signed text changed", textOf({ ...envelope, payload: flipped(envelope.payload, 100) })],
    ["signature changed", textOf({ ...envelope, signature: flipped(envelope.signature, 20) })],
    [
      "the other form of the signature",
      textOf({ ...envelope, signature: otherSignature(envelope.signature) })
    ],
    ["signature cut off", textOf({ ...envelope, signature: envelope.signature.slice(0, -4) })],
    ["signed by a key that the key set does not have", textOf(signPayload(payload, makeSigningKey(2)))],
    ["kid of another key", textOf(signPayload(payload, { ...makeSigningKey(2), kid: signingKey.kid }))],
    ["alg none", textOf({ ...envelope, protected: header({ alg: "none" }), signature: "" })],
    ["header with crit", textOf({ ...envelope, protected: header({ crit: ["exp"], exp: 1 }) })],
    ["another member", textOf({ ...envelope, more: 1 })],
    ["a member twice", textOf(envelope).replace("{", `{"signature":"",`)],
    [
      "members in another order, with spaces",
      JSON.stringify(Object.fromEntries(Object.entries(envelope).reverse()), undefined, 2)
    ],
    ["byte order mark", `\ufeff${textOf(envelope)}`],
    ["text behind it", `${textOf(envelope)}{}`],
    ["payload with padding", textOf({ ...envelope, payload: `${envelope.payload}=` })],
    ["payload with a member twice", textOf(signPayload(payload.replace("{", `{${first.slice(1)}`)))],
    ["another version", textOf({ ...envelope, format: "svc.evidence.v2" })],
    ["no envelope", "[]"]
  ]
  return Promise.all(vectors.map(([about, text]) => verdictOnEnvelope(`envelope: ${about}`, text)))
}

/** Consecutive periods of an entry, from its zone's table alone. */
export interface PeriodVector {
  readonly period: PeriodRule
  readonly window: { readonly starts_at: string; readonly ends_at: string }
  readonly table: object
  readonly periods: ReadonlyArray<object>
}

const PERIODS_SHOWN = 6

const rule = (unit: PeriodRule["unit"], time_zone: string, parts: Partial<PeriodRule> = {}): PeriodRule => ({
  unit,
  interval: 1,
  alignment: "CALENDAR",
  time_zone,
  first_period: "FULL",
  max_amount: 10_000,
  ...parts
})

const MANDATE = { alignment: "MANDATE" } as const
const PRORATED = { first_period: "PRORATED", max_executions: 7 } as const

/** Ordinary ones, and those that calendars make hard. */
const PERIOD_CASES: ReadonlyArray<readonly [PeriodRule, startsAt: string, endsAt: string]> = [
  [rule("DAY", "UTC"), "2026-12-30T12:00:00Z", "2027-03-01T00:00:00Z"],
  [rule("WEEK", "UTC", PRORATED), "2026-12-30T12:00:00Z", "2027-03-01T00:00:00Z"],
  // Days of 23 and of 25 hours.
  [rule("DAY", "Europe/Berlin", PRORATED), "2027-03-27T09:30:00Z", "2027-04-10T00:00:00Z"],
  [rule("DAY", "Europe/Berlin"), "2026-10-24T00:00:00Z", "2026-11-10T00:00:00Z"],
  [rule("MONTH", "America/New_York", PRORATED), "2026-10-15T04:00:00.5Z", "2027-06-01T00:00:00Z"],
  // Midnight is skipped when the clock goes forward.
  [rule("DAY", "America/Santiago"), "2026-09-04T12:00:00Z", "2026-09-20T00:00:00Z"],
  [rule("DAY", "Asia/Beirut"), "2026-03-27T12:00:00Z", "2026-04-10T00:00:00Z"],
  // Midnight comes twice when it goes back.
  [rule("DAY", "America/Havana"), "2026-10-31T12:00:00Z", "2026-11-10T00:00:00Z"],
  // Half an hour of summer time.
  [rule("DAY", "Australia/Lord_Howe"), "2026-10-02T12:00:00Z", "2026-10-20T00:00:00Z"],
  // A date that never was: 2011-12-30.
  [rule("DAY", "Pacific/Apia"), "2011-12-28T12:00:00Z", "2012-01-10T00:00:00Z"],
  [rule("DAY", "Pacific/Apia", { ...MANDATE, interval: 2 }), "2011-12-28T12:00:00Z", "2012-01-20T00:00:00Z"],
  // The last days of months, and of February.
  [rule("MONTH", "Europe/Berlin", MANDATE), "2027-01-31T12:00:00Z", "2028-01-01T00:00:00Z"],
  [rule("MONTH", "UTC", { ...MANDATE, interval: 3 }), "2027-11-30T00:00:00Z", "2029-01-01T00:00:00Z"],
  [rule("YEAR", "UTC", MANDATE), "2028-02-29T10:00:00Z", "2034-01-01T00:00:00Z"],
  [rule("YEAR", "Asia/Kolkata", PRORATED), "2026-07-01T00:00:00Z", "2030-01-01T00:00:00Z"],
  [rule("WEEK", "Asia/Tehran", { ...MANDATE, interval: 2 }), "2026-12-01T21:00:00Z", "2027-03-01T00:00:00Z"]
]

export const periodVectors = (): Promise<ReadonlyArray<PeriodVector>> =>
  Effect.gen(function* () {
    const zones = yield* TimeZones
    return yield* Effect.forEach(PERIOD_CASES, ([period, starts_at, ends_at]) =>
      Effect.gen(function* () {
        const window = { startsAt: at(starts_at), endsAt: at(ends_at) }
        const table = yield* zones.table({ name: period.time_zone, ...tableRange([period], window) })
        const shown = periodsFrom(period, prepareZone(table), window, window.startsAt, PERIODS_SHOWN)
        return {
          period,
          window: { starts_at, ends_at },
          table,
          periods: shown.map(({ startsAt, endsAt, ...caps }) => ({
            starts_at: formatNanos(startsAt),
            ends_at: formatNanos(endsAt),
            ...caps
          }))
        }
      })
    )
  }).pipe(Effect.provide(TimeZonesIntl.layer), Effect.runPromise)

/** Of each hash and signature: inputs and results. */
export const hashVectors = (): string =>
  readFileSync(new URL("../../protocol/test/vectors.json", import.meta.url), "utf8")
