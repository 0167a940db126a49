import { brokenInvariant } from "@svc/domain/engine/ChangeInvariant"
import type { AuthorizationState } from "@svc/domain/mandate/MandateState"
import { openReservationOf } from "@svc/domain/mandate/OpenReservation"
import {
  type Appended,
  type ClaimKind,
  ClaimTaken,
  OutOfTime,
  Stale,
  StoreUnavailable,
  type StreamChange
} from "@svc/domain/ports/MandateStore"
import { deliveryStemOf } from "@svc/domain/webhook/DeliveryId"
import { Effect } from "effect"
import { type Parameter, type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"
import {
  comparable,
  isStorable,
  RECORD_SCHEMA,
  writeAuthorization,
  writeMandate,
  writeReservation,
  writeSession,
  writeSubject
} from "../RecordCodec.ts"
import type { AppendRefusal } from "./AppendLanes.ts"

type Outcome = "appended" | "stale" | "out_of_time" | "claim_taken" | "newer" | "broken"

interface OutcomeRow {
  readonly o_outcome: Outcome
  readonly o_revision: bigint
  readonly o_detail: string | null
  readonly o_name: string | null
  readonly o_fingerprint: string | null
  readonly o_resource: string | null
}

/** The type of each parameter of the function, in order. */
const TYPES = [
  ..."text text bigint bigint text".split(" "),
  ..."bigint text bigint bigint".split(" "),
  ..."bigint text bigint bigint".split(" "),
  ..."integer text text bigint text".split(" "),
  ..."text[] text[] text[] text[] text[]".split(" "),
  ..."text[] bigint[] text[] text[] text[] text[]".split(" "),
  ..."text[] text[] text[]".split(" "),
  ..."text text".split(" "),
  ..."text[] text[] text[] text[] text[] text[]".split(" ")
]

const cast = (type: string, at: number): string =>
  type === "bigint[]" ? `$${at + 1}::text[]::bigint[]` : `$${at + 1}::${type}`

const APPEND = `select * from {schema}.append_one(${TYPES.map(cast).join(", ")})`

/** Text is compared by its bytes, as the database does. */
export const byBytes = (left: string, right: string): number =>
  Buffer.compare(Buffer.from(left), Buffer.from(right))

/** The fault of a change that violates an invariant. */
export const fault = (change: StreamChange): string | undefined => {
  const names = [
    change.mandateState.terms.subject_reference,
    ...change.claims.flatMap(({ fingerprint, name, resource }) => [name, fingerprint, resource])
  ]
  return names.every(isStorable) ? brokenInvariant(change) : "a name cannot be kept as text"
}

const headParameters = (change: StreamChange): ReadonlyArray<Parameter> => {
  const { headAfter, headBefore } = change
  return [
    fault(change) ?? null,
    String(headBefore?.seq ?? 0),
    headBefore?.hash ?? null,
    String(headBefore?.bytes ?? 0),
    String(headBefore?.occurredAt ?? 0),
    String(headAfter.seq),
    headAfter.hash,
    String(headAfter.occurredAt),
    String(headAfter.bytes)
  ]
}

/** Columns of authorizations: id, ordinal, state, expiry, reservation, record. */
export const authorizationColumns = (
  authorizations: ReadonlyArray<AuthorizationState>
): ReadonlyArray<ReadonlyArray<string>> => {
  const open = authorizations.map((row) => (row.state === "RESERVED" ? openReservationOf(row) : undefined))
  return [
    authorizations.map(({ id }) => id),
    authorizations.map(({ order }) => String(order)),
    authorizations.map(({ state }) => state),
    open.map((reservation) => (reservation === undefined ? "" : comparable(reservation.expiresAt))),
    open.map((reservation) => (reservation === undefined ? "" : writeReservation(reservation))),
    authorizations.map(writeAuthorization)
  ]
}

/** Claims in the order in which every append locks them: by kind and name, as bytes. */
export const inLockOrder = (claims: StreamChange["claims"]): StreamChange["claims"] =>
  claims.toSorted((left, right) => byBytes(left.kind, right.kind) || byBytes(left.name, right.name))

const parametersOf = (change: StreamChange): ReadonlyArray<Parameter> => {
  const { events, mandateState, sessions, subject } = change
  const claims = inLockOrder(change.claims)
  return [
    change.organization,
    change.mandate,
    change.expected === "absent" ? null : String(change.expected),
    comparable(change.recordBefore),
    ...headParameters(change),
    String(RECORD_SCHEMA),
    mandateState.state,
    mandateState.terms.subject_reference,
    change.nextDue === undefined ? null : comparable(change.nextDue),
    writeMandate(mandateState),
    events.map(({ id }) => id),
    events.map(({ type }) => type),
    events.map(({ text }) => text),
    events.map(({ notification }) => notification),
    events.map(({ id }) => deliveryStemOf(id)),
    ...authorizationColumns(change.authorizations),
    sessions.map(({ id }) => id),
    sessions.map(({ tokenHash }) => tokenHash),
    sessions.map(writeSession),
    subject === undefined ? null : String(subject.expected),
    subject === undefined ? null : writeSubject(subject.next),
    claims.map(({ kind }) => kind),
    claims.map(({ name }) => name),
    claims.map(({ fingerprint }) => fingerprint),
    claims.map(({ resource }) => resource),
    claims.map(({ expiresAt }) => (expiresAt === undefined ? "" : comparable(expiresAt))),
    claims.map((claim) => String(change.claims.indexOf(claim)))
  ]
}

const answerOf = (row: OutcomeRow): Effect.Effect<Appended, AppendRefusal> => {
  switch (row.o_outcome) {
    case "appended":
      return Effect.succeed({ revision: Number(row.o_revision) })
    case "stale":
      return Effect.fail(new Stale())
    case "out_of_time":
      return Effect.fail(new OutOfTime())
    case "claim_taken":
      return Effect.fail(
        new ClaimTaken({
          kind: row.o_detail as ClaimKind,
          name: row.o_name ?? "",
          holder: { fingerprint: row.o_fingerprint ?? "", resource: row.o_resource ?? "" }
        })
      )
    case "newer":
      return Effect.fail(new StoreUnavailable({ cause: "the stream was written by a later release" }))
    case "broken":
      return Effect.die(new Error(`the change cannot be recorded: ${row.o_detail}`))
  }
}

/** Records one change in one statement, so that a lost connection leaves all of it or nothing. */
export const makeAppend = ({
  schema,
  writes
}: PostgresClients): ((change: StreamChange) => Effect.Effect<Appended, AppendRefusal>) => {
  const append = statement<OutcomeRow>(writes, schema, APPEND)
  return (change) =>
    Effect.suspend(() => guarded(append(parametersOf(change)))).pipe(
      Effect.flatMap((rows) => answerOf(rows[0]!))
    )
}
