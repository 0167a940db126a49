import { brokenInvariant } from "@svc/domain/engine/ChangeInvariant"
import type { AuthorizationState } from "@svc/domain/mandate/MandateState"
import { openReservationOf } from "@svc/domain/mandate/OpenReservation"
import type { StreamChange } from "@svc/domain/ports/MandateStore"
import { deliveryStemOf } from "@svc/domain/webhook/DeliveryId"
import { comparable, isStorable, writeAuthorization, writeMandate, writeReservation } from "../RecordCodec.ts"

/** A change with those texts of it that take time to make. */
export interface WrittenChange {
  readonly change: StreamChange
  /** What is wrong with it; nothing may be recorded then. */
  readonly fault: string | undefined
  readonly snapshot: string
  /** Of each event, what the identifiers of its deliveries begin with. */
  readonly deliveryStems: ReadonlyArray<string>
  /** Columns of authorizations: id, ordinal, state, expiry, reservation, record. */
  readonly authorizations: ReadonlyArray<ReadonlyArray<string>>
}

/** The fault of a change that violates an invariant. */
const faultOf = (change: StreamChange): string | undefined => {
  const names = [
    change.mandateState.terms.subject_reference,
    ...change.claims.flatMap(({ fingerprint, name, resource }) => [name, fingerprint, resource])
  ]
  return names.every(isStorable) ? brokenInvariant(change) : "a name cannot be kept as text"
}

const authorizationColumns = (
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

/** Writes what is to be sent of a change. */
export const writeChange = (change: StreamChange): WrittenChange => ({
  change,
  fault: faultOf(change),
  snapshot: writeMandate(change.mandateState),
  deliveryStems: change.events.map(({ id }) => deliveryStemOf(id)),
  authorizations: authorizationColumns(change.authorizations)
})
