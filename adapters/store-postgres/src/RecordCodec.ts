import type { ApprovalSessionState, SubjectCredentials } from "@svc/domain/approval/ApprovalSessionState"
import type { MandateTerms } from "@svc/domain/mandate/JournalFact"
import type {
  AuthorizationState,
  Counters,
  MandateState,
  OpenReservation,
  PinnedPeriod
} from "@svc/domain/mandate/MandateState"
import type { DeliveryAttempt } from "@svc/domain/webhook/WebhookDelivery"
import type { WebhookEndpointState } from "@svc/domain/webhook/WebhookEndpoint"
import { parseJson } from "@svc/protocol/json/ParseJson"
import type { Instant } from "@svc/protocol/Timestamp"
import { Data } from "effect"

/** The version of the records that this release writes. A release that changes them increments it and reads all earlier ones. */
export const RECORD_SCHEMA = 1

/** A record was written by a later release or is malformed. Nothing may be decided or written on its basis. */
export class UnreadableRecord extends Data.TaggedError("UnreadableRecord")<{ readonly detail: string }> {}

/** Records as JSON: sums and instants as decimal strings, everything else as it is. */
interface Envelope {
  readonly schema: number
  readonly value: unknown
}

/** The envelope of a value that is written as JSON already. */
const enclose = (value: string): string => `{"schema":${RECORD_SCHEMA},"value":${value}}`

const write = (value: object): string => enclose(JSON.stringify(value))

const read = (text: string): unknown => {
  const { schema, value } = parseJson(text) as unknown as Envelope
  if (schema !== RECORD_SCHEMA) {
    throw new UnreadableRecord({
      detail: `a record has schema ${schema}, this release reads ${RECORD_SCHEMA}`
    })
  }
  return value
}

/** A type with some of its members written as decimal strings. */
type Encoded<A, K extends keyof A> = Omit<A, K> & { readonly [P in K]: string }

type EncodedPeriod = Encoded<PinnedPeriod, "startsAt" | "endsAt">
type EncodedCounters = Encoded<Counters, "committedAmount" | "reservedAmount" | "lateAmount">

const writePeriod = (period: PinnedPeriod): EncodedPeriod => ({
  period: period.period,
  startsAt: String(period.startsAt),
  endsAt: String(period.endsAt)
})

const readPeriod = (period: EncodedPeriod): PinnedPeriod => ({
  period: period.period,
  startsAt: BigInt(period.startsAt),
  endsAt: BigInt(period.endsAt)
})

const writeCounters = (counters: Counters): EncodedCounters => ({
  committedAmount: String(counters.committedAmount),
  reservedAmount: String(counters.reservedAmount),
  lateAmount: String(counters.lateAmount),
  committedExecutions: counters.committedExecutions,
  reservedExecutions: counters.reservedExecutions,
  lateExecutions: counters.lateExecutions
})

const readCounters = (counters: EncodedCounters): Counters => ({
  ...counters,
  committedAmount: BigInt(counters.committedAmount),
  reservedAmount: BigInt(counters.reservedAmount),
  lateAmount: BigInt(counters.lateAmount)
})

type EncodedMandate = Omit<MandateState, "totals" | "periods"> & {
  readonly totals: EncodedCounters
  readonly periods: ReadonlyArray<EncodedPeriod & { readonly counters: EncodedCounters }>
}

const writtenTerms = new WeakMap<MandateTerms, string>()

/** Terms never change and are most of a mandate's record, so they are written once for as long as they are in use. */
const writeTerms = (terms: MandateTerms): string => {
  const known = writtenTerms.get(terms)
  if (known !== undefined) return known
  const text = JSON.stringify(terms)
  writtenTerms.set(terms, text)
  return text
}

/** JSON leaves out a member that is undefined. */
type EncodedBesideTerms = Omit<EncodedMandate, "terms"> & { readonly terms: undefined }

export const writeMandate = (mandate: MandateState): string => {
  const others: EncodedBesideTerms = {
    ...mandate,
    terms: undefined,
    totals: writeCounters(mandate.totals),
    periods: mandate.periods.map((period) => ({
      ...writePeriod(period),
      counters: writeCounters(period.counters)
    }))
  }
  return enclose(`{"terms":${writeTerms(mandate.terms)},${JSON.stringify(others).slice(1)}`)
}

export const readMandate = (text: string): MandateState => {
  const mandate = read(text) as EncodedMandate
  return {
    ...mandate,
    totals: readCounters(mandate.totals),
    periods: mandate.periods.map((period) => ({
      ...readPeriod(period),
      counters: readCounters(period.counters)
    }))
  }
}

type EncodedAuthorization = Omit<AuthorizationState, "periods"> & {
  readonly periods: ReadonlyArray<EncodedPeriod>
}

export const writeAuthorization = (authorization: AuthorizationState): string =>
  write({ ...authorization, periods: authorization.periods.map(writePeriod) } satisfies EncodedAuthorization)

export const readAuthorization = (text: string): AuthorizationState => {
  const authorization = read(text) as EncodedAuthorization
  return { ...authorization, periods: authorization.periods.map(readPeriod) }
}

type EncodedReservation = Omit<Encoded<OpenReservation, "amount" | "expiresAt">, "periods"> & {
  readonly periods: ReadonlyArray<EncodedPeriod>
}

export const writeReservation = (reservation: OpenReservation): string =>
  write({
    ...reservation,
    amount: String(reservation.amount),
    expiresAt: String(reservation.expiresAt),
    periods: reservation.periods.map(writePeriod)
  } satisfies EncodedReservation)

export const readReservation = (text: string): OpenReservation => {
  const reservation = read(text) as EncodedReservation
  return {
    ...reservation,
    amount: BigInt(reservation.amount),
    expiresAt: BigInt(reservation.expiresAt),
    periods: reservation.periods.map(readPeriod)
  }
}

type EncodedSession = Encoded<ApprovalSessionState, "createdAt" | "expiresAt">

export const writeSession = (session: ApprovalSessionState): string =>
  write({
    ...session,
    createdAt: String(session.createdAt),
    expiresAt: String(session.expiresAt)
  } satisfies EncodedSession)

export const readSession = (text: string): ApprovalSessionState => {
  const session = read(text) as EncodedSession
  return { ...session, createdAt: BigInt(session.createdAt), expiresAt: BigInt(session.expiresAt) }
}

/** Without its revision, which the store counts in a column. */
export const writeSubject = ({ passkeys, userHandle }: SubjectCredentials): string =>
  write({ passkeys, userHandle })

export const readSubject = (text: string, revision: number): SubjectCredentials => ({
  ...(read(text) as Omit<SubjectCredentials, "revision">),
  revision
})

type EncodedEndpoint = Encoded<Omit<WebhookEndpointState, "disabledAt">, "createdAt" | "updatedAt"> & {
  readonly disabledAt?: string
}

export const writeEndpoint = ({ disabledAt, ...endpoint }: WebhookEndpointState): string =>
  write({
    ...endpoint,
    ...(disabledAt === undefined ? {} : { disabledAt: String(disabledAt) }),
    createdAt: String(endpoint.createdAt),
    updatedAt: String(endpoint.updatedAt)
  } satisfies EncodedEndpoint)

export const readEndpoint = (text: string): WebhookEndpointState => {
  const { disabledAt, ...endpoint } = read(text) as EncodedEndpoint
  return {
    ...endpoint,
    ...(disabledAt === undefined ? {} : { disabledAt: BigInt(disabledAt) }),
    createdAt: BigInt(endpoint.createdAt),
    updatedAt: BigInt(endpoint.updatedAt)
  }
}

type EncodedAttempt = Encoded<DeliveryAttempt, "at">

export const writeAttempts = (attempts: ReadonlyArray<DeliveryAttempt>): string =>
  write(attempts.map((attempt): EncodedAttempt => ({ ...attempt, at: String(attempt.at) })))

export const readAttempts = (text: string): ReadonlyArray<DeliveryAttempt> =>
  (read(text) as ReadonlyArray<EncodedAttempt>).map((attempt) => ({ ...attempt, at: BigInt(attempt.at) }))

/** The codec of records that are JSON already. */
export const writePlain: (record: object) => string = write

export const readPlain = <A>(text: string): A => read(text) as A

const LAST_BIGINT = 2n ** 63n - 1n
const FIRST_BIGINT = -(2n ** 63n)

/** An instant for a column that is only compared with the clock, clamped to the range of a bigint. */
export const comparable = (instant: Instant): string =>
  String(instant > LAST_BIGINT ? LAST_BIGINT : instant < FIRST_BIGINT ? FIRST_BIGINT : instant)

/** Whether a column can hold the text. A text that it cannot hold matches no row. */
export const isStorable = (text: string): boolean => !text.includes("\u0000") && text.isWellFormed()
