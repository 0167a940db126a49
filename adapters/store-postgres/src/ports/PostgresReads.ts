import type { AuthorizationState } from "@svc/domain/mandate/MandateState"
import {
  type AuthorizationList,
  type AuthorizationListQuery,
  type ClaimKind,
  DUE_STREAMS_PER_LIST,
  type HeldClaim,
  type JournalQuery,
  type Loaded,
  type LoadedStream,
  type LoadQuery,
  type MandateList,
  type MandateListQuery,
  type MandateStore,
  type StoreUnavailable,
  type StreamReference
} from "@svc/domain/ports/MandateStore"
import { laterOf } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import { type Parameter, type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { makeSharedReads } from "../connection/SharedReads.ts"
import { guarded } from "../connection/StoreFault.ts"
import {
  isStorable,
  RECORD_SCHEMA,
  readAuthorization,
  readMandate,
  readReservation,
  readSession,
  readSubject,
  UnreadableRecord
} from "../RecordCodec.ts"

/** The store's clock, in nanoseconds since the epoch (`schema/StoreClock.ts`). */
export const CLOCK = "{schema}.store_clock()"

/** Events that one statement reads. Results are read row by row, so no result is too large. */
const JOURNAL_PAGE = 200

type Reads = Omit<MandateStore["Service"], "append">

interface LoadRow {
  readonly o_clock: bigint
  readonly o_organization: string | null
  readonly o_kinds: ReadonlyArray<ClaimKind> | null
  readonly o_names: ReadonlyArray<string | null> | null
  readonly o_fingerprints: ReadonlyArray<string> | null
  readonly o_resources: ReadonlyArray<string> | null
  readonly o_revision: bigint | null
  readonly o_seq: bigint
  readonly o_hash: string
  readonly o_occurred_at: bigint
  readonly o_bytes: bigint
  readonly o_snapshot: string
  readonly o_open: ReadonlyArray<string> | null
  readonly o_due: ReadonlyArray<string> | null
  readonly o_named: ReadonlyArray<string> | null
  readonly o_session: string | null
  readonly o_subject: string | null
  readonly o_subject_revision: bigint | null
}

/** Columns of a plain load: the stream `s` with its open reservations `o`. */
const STREAM = `s.revision as o_revision, s.seq as o_seq, s.hash as o_hash, s.occurred_at as o_occurred_at,
  s.bytes as o_bytes, s.snapshot as o_snapshot, o.open as o_open, o.due as o_due`

/** Columns of a plain load: the claim `c` of the one idempotency key that it looks up. */
const LONE_KEY = `array['idempotency_key'] as o_kinds, array[c.name] as o_names, array[c.fingerprint] as o_fingerprints,
  array[c.resource] as o_resources`

/** Columns that a plain load leaves out. */
const NO_SESSION = "null::text as o_session, null::text as o_subject, null::bigint as o_subject_revision"

/** The open reservations `o` of the stream `s`. */
const OPEN_OF_STREAM = `cross join lateral (
    select array_agg(r.reservation order by r.ordinal) as open,
      array_agg(r.record order by r.ordinal)
        filter (where r.expires_at <= greatest(clock.now, s.occurred_at)) as due
      from (
        select a.reservation, a.record, a.ordinal, a.expires_at from {schema}.authorization_row a
          where a.organization = $1::text and a.authorization_id = any (s.open_authorizations)
          offset 0
      ) r
  ) o`

/**
 * What most commands load, as a plain statement: a mandate by its identifier or by that of an authorization, without
 * sessions. A function that does the same costs the server twice as much. The stream is found by a separate subquery, so
 * that no plan can read all streams of an organization to join them.
 */
const plainLoad = (named: string, mandate: string): string => `with clock as materialized (
  select ${CLOCK} as now
), named as materialized (
  ${named}
)
select clock.now as o_clock, $1::text as o_organization,
  ${LONE_KEY},
  ${STREAM},
  (select array_agg(n.record) from named n) as o_named,
  ${NO_SESSION}
from clock
  left join {schema}.claim c on c.organization = $1::text and c.kind = 'idempotency_key' and c.name = $3::text
    and (c.expires_at is null or c.expires_at > clock.now)
  left join {schema}.stream s on s.organization = $1::text and s.mandate = ${mandate}
  ${OPEN_OF_STREAM}`

const LOAD_BY_MANDATE = plainLoad("select null::text as record where false", "$2::text")

const LOAD_BY_AUTHORIZATION = plainLoad(
  `select a.mandate, a.record from {schema}.authorization_row a
    where a.organization = $1::text and a.authorization_id = $2::text`,
  "(select n.mandate from named n)"
)

/**
 * What commands that are combined load: a mandate, several of its authorizations, and several claims. It is a plain statement
 * for the same reason.
 */
const LOAD_COMBINED = `with clock as materialized (
  select ${CLOCK} as now
)
select clock.now as o_clock, $1::text as o_organization,
  c.kinds as o_kinds, c.names as o_names, c.fingerprints as o_fingerprints, c.resources as o_resources,
  ${STREAM}, n.records as o_named,
  ${NO_SESSION}
from clock
  left join {schema}.stream s on s.organization = $1::text and s.mandate = $2::text
  cross join lateral (
    select array_agg(asked.kind) as kinds, array_agg(asked.name) as names,
      array_agg(held.fingerprint) as fingerprints, array_agg(held.resource) as resources
      from unnest($4::text[], $5::text[]) asked (kind, name) cross join lateral (
        select c.fingerprint, c.resource from {schema}.claim c
          where c.organization = $1::text and c.kind = asked.kind and c.name = asked.name
            and (c.expires_at is null or c.expires_at > clock.now)
          offset 0
      ) held
  ) c
  ${OPEN_OF_STREAM}
  cross join lateral (
    select array_agg(named.record) as records
      from unnest($3::text[]) asked (id) cross join lateral (
        select a.record from {schema}.authorization_row a
          where a.organization = $1::text and a.authorization_id = asked.id and a.mandate = $2::text
          offset 0
      ) named
  ) n`

const LOAD =
  "select * from {schema}.load_stream($1::text, $2::text, $3::text, $4::text[], $5::text[], $6::text[], $7::boolean)"

const referenceOf = (stream: StreamReference | undefined): readonly [string, string] | undefined => {
  if (stream === undefined) return undefined
  if ("mandate" in stream) return ["mandate", stream.mandate]
  if ("authorization" in stream) return ["authorization", stream.authorization]
  if ("approvalSession" in stream) return ["session", stream.approvalSession]
  return ["token", stream.approvalTokenHash]
}

const orNull = (text: string | undefined): string | null =>
  text === undefined || !isStorable(text) ? null : text

const loadParameters = (query: LoadQuery): ReadonlyArray<Parameter> => {
  const [kind, reference] = referenceOf(query.stream) ?? []
  const claims = (query.claims ?? []).filter(({ name }) => isStorable(name))
  return [
    orNull(query.organization),
    kind ?? null,
    orNull(reference),
    (query.authorizations ?? []).filter(isStorable),
    claims.map(({ kind }) => kind),
    claims.map(({ name }) => name),
    String(query.approval === true)
  ]
}

/** The name of the idempotency key that a query asks for alone; null if it asks for no claim, undefined if for others. */
const loneKey = ({ claims = [] }: LoadQuery): string | null | undefined => {
  const [claim] = claims
  if (claim === undefined) return null
  return claims.length === 1 && claim.kind === "idempotency_key" ? orNull(claim.name) : undefined
}

const heldOf = (row: LoadRow): ReadonlyArray<HeldClaim> =>
  (row.o_names ?? []).flatMap((name, at) =>
    name === null
      ? []
      : [
          {
            kind: row.o_kinds![at]!,
            name,
            fingerprint: row.o_fingerprints![at]!,
            resource: row.o_resources![at]!
          }
        ]
  )

const streamOf = (row: LoadRow): LoadedStream => {
  const full = [...(row.o_due ?? []), ...(row.o_named ?? [])].map(readAuthorization)
  const authorizations: ReadonlyMap<string, AuthorizationState> = new Map(full.map((one) => [one.id, one]))
  return {
    organization: row.o_organization!,
    revision: Number(row.o_revision),
    head: {
      seq: Number(row.o_seq),
      hash: row.o_hash,
      occurredAt: row.o_occurred_at,
      bytes: Number(row.o_bytes)
    },
    state: {
      mandate: readMandate(row.o_snapshot),
      open: (row.o_open ?? []).map(readReservation),
      authorizations
    },
    ...(row.o_session === null ? {} : { session: readSession(row.o_session) }),
    ...(row.o_subject === null ? {} : { subject: readSubject(row.o_subject, Number(row.o_subject_revision)) })
  }
}

const loadedOf = (row: LoadRow): Loaded => ({
  now: row.o_revision === null ? row.o_clock : laterOf(row.o_clock, row.o_occurred_at),
  held: heldOf(row),
  ...(row.o_revision === null ? {} : { stream: streamOf(row) })
})

/** The form of most loads: a mandate or an authorization, and at most one idempotency key. */
interface PlainQuery {
  readonly organization: string
  readonly stream: { readonly mandate: string } | { readonly authorization: string }
  readonly key: string | null
}

/** The plain form of a query, if it has one. A name that is empty or cannot be stored names nothing. */
const plainForm = (query: LoadQuery): PlainQuery | undefined => {
  const { approval, authorizations, organization, stream } = query
  const key = loneKey(query)
  const isPlain = approval !== true && authorizations === undefined && key !== undefined
  if (!isPlain || organization === undefined || stream === undefined) return undefined
  return "mandate" in stream || "authorization" in stream ? { organization, stream, key } : undefined
}

const nameIn = ({ stream }: PlainQuery): string =>
  "mandate" in stream ? stream.mandate : stream.authorization

/** Fewest loads that share a statement: for two or three it costs more than it saves. */
const LEAST_SHARED_LOADS = 4
/** Most loads that share a statement. */
const MAX_SHARED_LOADS = 64

/** Several plain loads of one organization in one statement, by the number of each: an absent name is empty, which names nothing. */
const LOAD_SEVERAL = `with clock as materialized (
  select ${CLOCK} as now
)
select asked.at as o_at, clock.now as o_clock, $1::text as o_organization,
  ${LONE_KEY},
  ${STREAM},
  case when n.record is not null then array[n.record] end as o_named,
  ${NO_SESSION}
from clock
  cross join unnest($2::text[], $3::text[], $4::text[])
    with ordinality asked (mandate, authorization_id, key, at)
  left join lateral (
    select a.mandate, a.record from {schema}.authorization_row a
      where a.organization = $1::text and a.authorization_id = asked.authorization_id
      offset 0
  ) n on true
  left join lateral (
    select c.name, c.fingerprint, c.resource from {schema}.claim c
      where c.organization = $1::text and c.kind = 'idempotency_key' and c.name = asked.key
        and (c.expires_at is null or c.expires_at > clock.now)
      offset 0
  ) c on true
  left join lateral (
    select s.revision, s.seq, s.hash, s.occurred_at, s.bytes, s.snapshot, s.open_authorizations
      from {schema}.stream s
      where s.organization = $1::text and s.mandate = coalesce(n.mandate, asked.mandate)
      offset 0
  ) s on true
  ${OPEN_OF_STREAM}`

const makePlainLoad = ({
  reads,
  schema
}: PostgresClients): ((query: PlainQuery) => Effect.Effect<Loaded, StoreUnavailable>) => {
  const byMandate = statement<LoadRow>(reads, schema, LOAD_BY_MANDATE)
  const byAuthorization = statement<LoadRow>(reads, schema, LOAD_BY_AUTHORIZATION)
  const several = statement<LoadRow & { readonly o_at: bigint }>(reads, schema, LOAD_SEVERAL)
  const alone = (query: PlainQuery) => {
    const { key, organization, stream } = query
    const load = "mandate" in stream ? byMandate : byAuthorization
    const parameters = [orNull(organization), orNull(nameIn(query)), key]
    return guarded(Effect.map(load(parameters), (rows) => loadedOf(rows[0]!)))
  }
  const together = (queries: ReadonlyArray<PlainQuery>) =>
    Effect.flatMap(
      guarded(
        several([
          orNull(queries[0]!.organization),
          queries.map((query) => ("mandate" in query.stream ? (orNull(nameIn(query)) ?? "") : "")),
          queries.map((query) => ("mandate" in query.stream ? "" : (orNull(nameIn(query)) ?? ""))),
          queries.map(({ key }) => key ?? "")
        ])
      ),
      (rows) => {
        const byPlace = new Map(rows.map((row) => [Number(row.o_at), row]))
        return Effect.forEach(queries, (_, index) =>
          Effect.exit(guarded(Effect.sync(() => loadedOf(byPlace.get(index + 1)!))))
        )
      }
    )
  return makeSharedReads({
    least: LEAST_SHARED_LOADS,
    limit: MAX_SHARED_LOADS,
    joins: (first, other) => first.organization === other.organization,
    alone,
    together
  })
}

/** The parameters of {@link LOAD_COMBINED}, if the query is of its form. */
const combinedParameters = (query: LoadQuery): ReadonlyArray<Parameter> | undefined => {
  const { approval, organization, stream } = query
  const isCombined = approval !== true && organization !== undefined && stream !== undefined
  if (!isCombined || !("mandate" in stream)) return undefined
  const [, , mandate, authorizations, kinds, names] = loadParameters(query)
  return [orNull(organization), mandate!, authorizations!, kinds!, names!]
}

const makeLoad = (clients: PostgresClients): Reads["load"] => {
  const plain = makePlainLoad(clients)
  const combined = statement<LoadRow>(clients.reads, clients.schema, LOAD_COMBINED)
  const byAny = statement<LoadRow>(clients.reads, clients.schema, LOAD)
  return (query) => {
    const form = plainForm(query)
    if (form !== undefined) return plain(form)
    const parameters = combinedParameters(query)
    const rows = parameters === undefined ? byAny(loadParameters(query)) : combined(parameters)
    return guarded(Effect.map(rows, ([row]) => loadedOf(row!)))
  }
}

interface MandateListRow {
  readonly clock: bigint
  readonly due: ReadonlyArray<string>
  readonly snapshots: ReadonlyArray<string>
}

interface Filters {
  readonly state: boolean
  readonly subject: boolean
  readonly after: boolean
}

/** One statement for each set of filters, so that each has its own plan. */
const listMandatesStatement = ({ after, state, subject }: Filters): string => {
  const shown = `${subject ? " and s.subject = $2" : ""}${after ? " and s.mandate < $3" : ""}`
  return `with clock as materialized (
  select ${CLOCK} as now, $2::text as subject, $3::text as after, $4::text as state
)
select clock.now as clock,
  array(select d.mandate from (
    select s.mandate, s.next_due from {schema}.stream s
      where s.organization = $1::text and s.wake_at <= clock.now and s.next_due <= clock.now${shown}
      order by s.wake_at, s.mandate limit ${DUE_STREAMS_PER_LIST + 1}
  ) d order by d.next_due, d.mandate) as due,
  array(select s.snapshot from {schema}.stream s
    where s.organization = $1::text${shown}${state ? " and s.state = $4" : ""}
    order by s.mandate desc limit $5::bigint) as snapshots
from clock`
}

const makeListMandates = ({ reads, schema }: PostgresClients): Reads["listMandates"] => {
  const prepare = (filters: Filters) =>
    statement<MandateListRow>(reads, schema, listMandatesStatement(filters))
  return (query: MandateListQuery) => {
    const { after, state, subjectReference: subject } = query
    const list = prepare({
      state: state !== undefined,
      subject: subject !== undefined,
      after: after !== undefined
    })
    const parameters = [
      query.organization,
      orNull(subject),
      orNull(after),
      orNull(state),
      String(query.limit + 1)
    ]
    return guarded(
      Effect.map(list(parameters), ([row]): MandateList => {
        const { clock, due, snapshots } = row!
        return { now: clock, due, mandates: snapshots.map(readMandate) }
      })
    )
  }
}

interface AuthorizationListRow {
  readonly clock: bigint
  readonly occurred_at: bigint
  readonly next_due: bigint | null
  readonly snapshot: string
  readonly records: ReadonlyArray<string>
}

/** Rows of a mandate: any, those of the final state `$5`, or those that are open, which its stream names. */
const ANY_ROW = `select a.record, a.ordinal from {schema}.authorization_row a
    where a.organization = $1::text and a.mandate = $2::text`
const ROW_OF_STATE = `select a.record, c.ordinal from {schema}.closed_authorization c
    cross join lateral (
      select a.record from {schema}.authorization_row a
        where a.organization = $1::text and a.authorization_id = c.authorization_id offset 0
    ) a
    where c.organization = $1::text and c.mandate = $2::text and c.state = $5::text`
const OPEN_ROW = `select a.record, a.ordinal from {schema}.authorization_row a
    where a.organization = $1::text and a.authorization_id = any (s.open_authorizations) offset 0`

const listAuthorizationsStatement = (rows: string): string => `select ${CLOCK} as clock,
  s.occurred_at, s.next_due, s.snapshot,
  array(select r.record from (${rows}) r
    where r.ordinal < $3::bigint order by r.ordinal desc limit $4::bigint) as records
from {schema}.stream s where s.organization = $1::text and s.mandate = $2::text`

const makeListAuthorizations = ({ reads, schema }: PostgresClients): Reads["listAuthorizations"] => {
  const prepare = (rows: string) =>
    statement<AuthorizationListRow>(reads, schema, listAuthorizationsStatement(rows))
  const ofAll = prepare(ANY_ROW)
  const open = prepare(OPEN_ROW)
  const ofState = prepare(ROW_OF_STATE)
  return ({ afterOrder, limit, mandate, organization, state }: AuthorizationListQuery) => {
    if (!isStorable(mandate)) return Effect.succeed(undefined)
    const page = [organization, mandate, String(afterOrder ?? Number.MAX_SAFE_INTEGER), String(limit + 1)]
    const rows =
      state === undefined ? ofAll(page) : state === "RESERVED" ? open(page) : ofState([...page, state])
    return guarded(Effect.map(rows, ([row]) => (row === undefined ? undefined : listOf(row))))
  }
}

const listOf = (row: AuthorizationListRow): AuthorizationList => {
  const now = laterOf(row.clock, row.occurred_at)
  return {
    now,
    mandate: readMandate(row.snapshot),
    due: row.next_due !== null && row.next_due <= now,
    authorizations: row.records.map(readAuthorization)
  }
}

interface EventRow {
  readonly schema: number
  readonly text: string
}

const JOURNAL = `select e.schema, e.text from {schema}.event e
where e.organization = $1::text and e.mandate = $2::text and e.seq > $3::bigint and e.seq <= $4::bigint
order by e.seq limit $5::bigint`

const textOf = ({ schema, text }: EventRow): string => {
  if (schema <= RECORD_SCHEMA) return text
  throw new UnreadableRecord({ detail: `an event has schema ${schema}, this release reads ${RECORD_SCHEMA}` })
}

/** Reads page by page, because a journal may be longer than one result. Events never change, so the pages are consistent. */
const makeJournal = ({ reads, schema }: PostgresClients): Reads["journal"] => {
  const page = statement<EventRow>(reads, schema, JOURNAL)
  return Effect.fnUntraced(function* ({ afterSeq, limit, mandate, organization, uptoSeq }: JournalQuery) {
    const texts: Array<string> = []
    if (!isStorable(mandate)) return texts
    for (;;) {
      const size = Math.min(JOURNAL_PAGE, limit - texts.length)
      const parameters = [organization, mandate, afterSeq + texts.length, uptoSeq, size].map(String)
      const rows = yield* guarded(Effect.map(page(parameters), (found) => found.map(textOf)))
      texts.push(...rows)
      if (rows.length < size || texts.length >= limit) return texts
    }
  })
}

/** The reads of mandates. Each is one statement and so sees one snapshot; only the journal is read page by page. */
export const makeReads = (clients: PostgresClients): Reads => ({
  load: makeLoad(clients),
  listMandates: makeListMandates(clients),
  listAuthorizations: makeListAuthorizations(clients),
  journal: makeJournal(clients)
})
