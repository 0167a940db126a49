import type { ApprovalSessionState } from "@svc/domain/approval/ApprovalSessionState"
import { refusalOf } from "@svc/domain/engine/ChangeAdmission"
import type { AuthorizationState, OpenReservation } from "@svc/domain/mandate/MandateState"
import { openReservationOf } from "@svc/domain/mandate/OpenReservation"
import type { Appended, ClaimTaken, OutOfTime, Stale, StreamChange } from "@svc/domain/ports/MandateStore"
import type { Instant } from "@svc/protocol/Timestamp"
import * as Result from "effect/Result"
import { deepFreeze } from "./DeepFreeze.ts"
import type { MemoryState, MemoryStream, Tenant } from "./MemoryState.ts"
import { fanOut } from "./MemoryWebhooks.ts"

/**
 * Records one change, or nothing. Everything that can be refused or can throw comes before the first write,
 * and the whole is one synchronous step. Throws when the change breaks an invariant of its stream.
 */
export const appendChange = (
  state: MemoryState,
  change: StreamChange,
  now: Instant
): Result.Result<Appended, Stale | OutOfTime | ClaimTaken> => {
  const tenant = state.tenantToWrite(change.organization)
  const stream = tenant.streams.get(change.mandate)
  const refused = refusalOf(change, {
    now,
    revision: stream?.revision,
    subjectRevision: change.subject && tenant.subjects.get(change.subject.reference)?.revision,
    head: stream?.head,
    holderOf: ({ kind, name }) => tenant.claims.holder(kind, name, now)
  })
  if (refused !== undefined) return Result.fail(refused)
  refuseBroken(strayAuthorization(tenant, stream, change))
  for (const session of change.sessions) refuseBroken(straySession(state, tenant, stream, session))
  const open = openAfter(stream?.open ?? [], change.authorizations)
  const frozen = deepFreeze(change)
  return Result.succeed(record(state, tenant, stream ?? newStream(tenant, frozen), frozen, open, now))
}

const refuseBroken = (broken: string | undefined): void => {
  if (broken !== undefined) throw new Error(`the change cannot be recorded: ${broken}`)
}

const strayAuthorization = (
  tenant: Tenant,
  stream: MemoryStream | undefined,
  change: StreamChange
): string | undefined => {
  for (const { id, order } of change.authorizations) {
    if ((tenant.mandateOf.get(id) ?? change.mandate) !== change.mandate) {
      return "an authorization is of another mandate"
    }
    if ((stream?.idAt.get(order) ?? id) !== id) return "two authorizations have the same order"
    if ((stream?.authorizations.get(id)?.order ?? order) !== order)
      return "the order of an authorization changed"
  }
  return undefined
}

const straySession = (
  state: MemoryState,
  tenant: Tenant,
  stream: MemoryStream | undefined,
  session: ApprovalSessionState
): string | undefined => {
  const recorded = stream?.sessions.get(session.id)
  if (recorded !== undefined) {
    return recorded.tokenHash === session.tokenHash ? undefined : "the token of a session changed"
  }
  if (tenant.mandateOfSession.has(session.id)) return "a session is of another mandate"
  return state.tokens.has(session.tokenHash) ? "the token is of another session" : undefined
}

const openAfter = (
  before: ReadonlyArray<OpenReservation>,
  changed: ReadonlyArray<AuthorizationState>
): ReadonlyArray<OpenReservation> => {
  if (changed.length === 0) return before
  const open = new Map(before.map((reservation) => [reservation.id, reservation]))
  for (const authorization of changed) {
    if (authorization.state === "RESERVED") open.set(authorization.id, openReservationOf(authorization))
    else open.delete(authorization.id)
  }
  return deepFreeze([...open.values()].sort((left, right) => left.order - right.order))
}

const newStream = (tenant: Tenant, change: StreamChange): MemoryStream => {
  const stream: MemoryStream = {
    mandate: change.mandate,
    revision: 0,
    head: change.headAfter,
    state: change.mandateState,
    nextDue: change.nextDue,
    journal: [],
    authorizations: new Map(),
    idAt: new Map(),
    orders: [],
    open: [],
    sessions: new Map(),
    newestSession: undefined
  }
  tenant.streams.set(change.mandate, stream)
  insertInOrder(tenant.mandates, change.mandate)
  return stream
}

const record = (
  state: MemoryState,
  tenant: Tenant,
  stream: MemoryStream,
  change: StreamChange,
  open: ReadonlyArray<OpenReservation>,
  now: Instant
): Appended => {
  stream.revision += 1
  stream.head = change.headAfter
  stream.state = change.mandateState
  stream.nextDue = change.nextDue
  stream.open = open
  for (const { text } of change.events) {
    stream.journal.push(text)
    tenant.feed.push({ mandate: change.mandate, text })
  }
  for (const authorization of change.authorizations) recordAuthorization(tenant, stream, authorization)
  for (const session of change.sessions) {
    if (!stream.sessions.has(session.id)) stream.newestSession = session.id
    stream.sessions.set(session.id, session)
    const { mandate, organization } = change
    tenant.mandateOfSession.set(session.id, mandate)
    state.tokens.set(session.tokenHash, { organization, mandate, session: session.id })
  }
  if (change.subject !== undefined) {
    const { expected, next, reference } = change.subject
    const revision = state.nextRevision(expected === "absent" ? 0 : expected)
    tenant.subjects.set(reference, deepFreeze({ ...next, revision }))
  }
  for (const claim of change.claims) tenant.claims.take(claim, now)
  fanOut(tenant, change, now)
  return { revision: stream.revision }
}

const recordAuthorization = (tenant: Tenant, stream: MemoryStream, row: AuthorizationState): void => {
  const isNew = !stream.authorizations.has(row.id)
  stream.authorizations.set(row.id, row)
  if (!isNew) return
  tenant.mandateOf.set(row.id, stream.mandate)
  stream.idAt.set(row.order, row.id)
  insertInOrder(stream.orders, row.order)
}

/** Inserts into an ascending list, from its end: what comes in is nearly always the newest. */
const insertInOrder = <A extends string | number>(list: Array<A>, item: A): void => {
  let at = list.length
  while (at > 0 && item < list[at - 1]!) at -= 1
  list.splice(at, 0, item)
}
