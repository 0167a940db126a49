import type { ApprovalSessionState } from "@svc/domain/approval/ApprovalSessionState"
import type { AuthorizationState } from "@svc/domain/mandate/MandateState"
import {
  type AuthorizationList,
  type AuthorizationListQuery,
  DUE_STREAMS_PER_LIST,
  type HeldClaim,
  type JournalQuery,
  type Loaded,
  type LoadedStream,
  type LoadQuery,
  type MandateList,
  type MandateListQuery,
  type StreamReference
} from "@svc/domain/ports/MandateStore"
import { type Instant, laterOf } from "@svc/protocol/Timestamp"
import { dueFirst, isDue } from "./DueOrder.ts"
import type { MemoryState, MemoryStream, Tenant } from "./MemoryState.ts"

/** Each of these reads is one synchronous step, so it sees every earlier append entirely. */

export const loadStream = (state: MemoryState, query: LoadQuery, clock: Instant): Loaded => {
  const organization = organizationOf(state, query)
  const tenant = organization === undefined ? undefined : state.tenant(organization)
  if (organization === undefined || tenant === undefined) return { now: clock, held: [] }
  const stream = streamOf(state, tenant, query)
  const now = stream === undefined ? clock : laterOf(clock, stream.head.occurredAt)
  return {
    now,
    held: heldClaims(tenant, query.claims, clock),
    ...(stream === undefined ? {} : { stream: loaded(state, organization, stream, query, now) })
  }
}

/** The organization that the query names, or the token, if they agree. */
const organizationOf = (state: MemoryState, query: LoadQuery): string | undefined => {
  if (query.stream === undefined || !("approvalTokenHash" in query.stream)) return query.organization
  return query.organization ?? state.tokens.get(query.stream.approvalTokenHash)?.organization
}

const streamOf = (state: MemoryState, tenant: Tenant, { stream }: LoadQuery): MemoryStream | undefined => {
  if (stream === undefined) return undefined
  if ("mandate" in stream) return tenant.streams.get(stream.mandate)
  if ("authorization" in stream) return tenant.streams.get(tenant.mandateOf.get(stream.authorization) ?? "")
  if ("approvalSession" in stream) {
    return tenant.streams.get(tenant.mandateOfSession.get(stream.approvalSession) ?? "")
  }
  const place = state.tokens.get(stream.approvalTokenHash)
  return place === undefined || state.tenant(place.organization) !== tenant
    ? undefined
    : tenant.streams.get(place.mandate)
}

const heldClaims = (tenant: Tenant, claims: LoadQuery["claims"], clock: Instant): ReadonlyArray<HeldClaim> =>
  (claims ?? []).flatMap(({ kind, name }) => {
    const holder = tenant.claims.holder(kind, name, clock)
    return holder === undefined ? [] : [{ kind, name, ...holder }]
  })

const loaded = (
  state: MemoryState,
  organization: string,
  stream: MemoryStream,
  query: LoadQuery,
  now: Instant
): LoadedStream => {
  const session = query.approval ? sessionFor(state, stream, query) : undefined
  const subject = query.approval
    ? state.tenant(organization)?.subjects.get(stream.state.terms.subject_reference)
    : undefined
  return {
    organization,
    revision: stream.revision,
    head: stream.head,
    state: { mandate: stream.state, open: stream.open, authorizations: inFull(stream, query, now) },
    ...(session === undefined ? {} : { session }),
    ...(subject === undefined ? {} : { subject })
  }
}

const sessionFor = (
  state: MemoryState,
  stream: MemoryStream,
  query: LoadQuery
): ApprovalSessionState | undefined => {
  const id = namedSession(state, query.stream) ?? stream.newestSession
  return id === undefined ? undefined : stream.sessions.get(id)
}

const namedSession = (state: MemoryState, reference: StreamReference | undefined): string | undefined => {
  if (reference === undefined) return undefined
  if ("approvalSession" in reference) return reference.approvalSession
  return "approvalTokenHash" in reference ? state.tokens.get(reference.approvalTokenHash)?.session : undefined
}

const inFull = (
  stream: MemoryStream,
  query: LoadQuery,
  now: Instant
): ReadonlyMap<string, AuthorizationState> => {
  const ids = stream.open.filter(({ expiresAt }) => expiresAt <= now).map(({ id }) => id)
  ids.push(...(query.authorizations ?? []))
  if (query.stream !== undefined && "authorization" in query.stream) ids.push(query.stream.authorization)
  const rows = new Map<string, AuthorizationState>()
  for (const id of ids) {
    const row = stream.authorizations.get(id)
    if (row !== undefined) rows.set(id, row)
  }
  return rows
}

export const listMandates = (state: MemoryState, query: MandateListQuery, now: Instant): MandateList => {
  const tenant = state.tenant(query.organization)
  if (tenant === undefined) return { now, due: [], mandates: [] }
  const streams = showable(tenant, query)
  const shown = firstThat(
    streams,
    ({ state: { state } }) => state === (query.state ?? state),
    query.limit + 1
  )
  const due = dueFirst(streams, now).slice(0, DUE_STREAMS_PER_LIST + 1)
  return { now, due: due.map(({ mandate }) => mandate), mandates: shown.map((stream) => stream.state) }
}

/** Streams that a page may show once their transitions are recorded, newest first, whatever their state is now. */
const showable = (tenant: Tenant, query: MandateListQuery): ReadonlyArray<MemoryStream> => {
  const end =
    tenant.mandates.findLastIndex((mandate) => query.after === undefined || mandate < query.after) + 1
  return tenant.mandates
    .slice(0, end)
    .reverse()
    .map((mandate) => tenant.streams.get(mandate)!)
    .filter(
      ({ state: { terms } }) =>
        terms.subject_reference === (query.subjectReference ?? terms.subject_reference)
    )
}

export const listAuthorizations = (
  state: MemoryState,
  query: AuthorizationListQuery,
  clock: Instant
): AuthorizationList | undefined => {
  const stream = state.tenant(query.organization)?.streams.get(query.mandate)
  if (stream === undefined) return undefined
  const now = laterOf(clock, stream.head.occurredAt)
  const end = stream.orders.findLastIndex((order) => order < (query.afterOrder ?? order + 1)) + 1
  const rows = stream.orders
    .slice(0, end)
    .reverse()
    .map((order) => stream.authorizations.get(stream.idAt.get(order)!)!)
  const authorizations = firstThat(rows, (row) => row.state === (query.state ?? row.state), query.limit + 1)
  return { now, mandate: stream.state, due: isDue(stream, now), authorizations }
}

export const readJournal = (state: MemoryState, query: JournalQuery): ReadonlyArray<string> => {
  const stream = state.tenant(query.organization)?.streams.get(query.mandate)
  return stream?.journal.slice(query.afterSeq, Math.min(query.uptoSeq, query.afterSeq + query.limit)) ?? []
}

const firstThat = <A>(
  items: ReadonlyArray<A>,
  passes: (item: A) => boolean,
  limit: number
): ReadonlyArray<A> => {
  const first: Array<A> = []
  for (const item of items) {
    if (first.length >= limit) break
    if (passes(item)) first.push(item)
  }
  return first
}
