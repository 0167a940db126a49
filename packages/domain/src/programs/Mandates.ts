import { policyDigest } from "@svc/protocol/evidence/PolicyDigest"
import type { JsonValue } from "@svc/protocol/json/Json"
import {
  CreateMandateBody,
  type Mandate,
  MandateStateName,
  type PeriodEntry,
  RevokeMandateBody
} from "@svc/protocol/Mandate"
import { decodeBody } from "@svc/protocol/request/DecodeBody"
import { KEYED_ROUTES } from "@svc/protocol/request/KeyedRoute"
import type { ListPage } from "@svc/protocol/request/ListPage"
import { Text } from "@svc/protocol/Text"
import { formatNanos, type Instant, isWritableInstant } from "@svc/protocol/Timestamp"
import { Effect, Schema } from "effect"
import { periodsFrom, tableRange } from "../calendar/PeriodGeometry.ts"
import type { TimeZoneTable } from "../calendar/TimeZoneTable.ts"
import { appendFirst } from "../engine/AppendFacts.ts"
import { identifierCursor, listPageOf } from "../engine/Cursor.ts"
import { holderOf, keyedOperation } from "../engine/IdempotencyKey.ts"
import { isAt, journalCursor, journalPosition } from "../engine/JournalCursor.ts"
import { listReader, pageLimit, pathReader, type QueryRefusal } from "../engine/ProgramQuery.ts"
import { namedStream, readStream, tryReadStream } from "../engine/ReadStream.ts"
import { settledList } from "../engine/SettledList.ts"
import { untilAppended } from "../engine/UntilAppended.ts"
import {
  admitWrite,
  LIFECYCLE_WRITE,
  validBody,
  type WriteRefusal,
  type WriteRequest,
  type WriteResult
} from "../engine/WriteRequest.ts"
import { writeStream } from "../engine/WriteStream.ts"
import { makeIdentifier } from "../Identifiers.ts"
import type { Refusal } from "../mandate/Decide.ts"
import type { MandateTerms } from "../mandate/JournalFact.ts"
import { type ProposedTerms, proposeTerms } from "../mandate/MandateRequest.ts"
import { mandateResourceOf } from "../mandate/MandateResource.ts"
import { instantOf, prepareTerms } from "../mandate/PreparedTerms.ts"
import { Deployment } from "../ports/Deployment.ts"
import { DUE_STREAMS_PER_LIST, MandateStore, StoreUnavailable } from "../ports/MandateStore.ts"
import type { Randomness } from "../ports/Randomness.ts"
import { TimeZones } from "../ports/TimeZones.ts"
import {
  type CommitmentReused,
  HistoryChanged,
  type IdempotencyKeyReused,
  type InvalidCursor,
  NotFound,
  type OrganizationUnknown,
  ValidationFailed
} from "../Refusals.ts"

const decodeCreate = decodeBody(CreateMandateBody)
const decodeRevoke = decodeBody(RevokeMandateBody)

const CREATE = { operation: KEYED_ROUTES.createMandate, path: {} }

/** The tables that fix each period boundary for the mandate's life, one per distinct zone (part 4). */
const fixTimeZones = Effect.fnUntraced(function* (
  terms: ProposedTerms
): Effect.fn.Return<ReadonlyArray<TimeZoneTable>, ValidationFailed, TimeZones> {
  const zones = yield* TimeZones
  const periods = terms.policy.periods ?? []
  const window = { startsAt: instantOf(terms.window.starts_at), endsAt: instantOf(terms.window.ends_at) }
  const tables: Array<TimeZoneTable> = []
  for (const name of new Set(periods.map((period) => period.time_zone))) {
    const range = tableRange(
      periods.filter((period) => period.time_zone === name),
      window
    )
    const table = yield* zones.table({ name, ...range }).pipe(
      Effect.mapError(
        () =>
          new ValidationFailed({
            errors: [
              {
                pointer: `/policy/periods/${periods.findIndex((period) => period.time_zone === name)}/time_zone`,
                code: "invalid_value",
                detail: "must be a name of the tz database in its exact case, such as Europe/Berlin"
              }
            ]
          })
      )
    )
    tables.push(table)
  }
  return tables
})

/** Creates a mandate in PENDING_APPROVAL (part 4, POST /v1/mandates). */
export const createMandate = Effect.fn("createMandate")(function* (
  request: WriteRequest
): Effect.fn.Return<
  WriteResult<Mandate>,
  WriteRefusal | IdempotencyKeyReused | NotFound | StoreUnavailable,
  MandateStore | TimeZones | Randomness | Deployment
> {
  const admitted = yield* admitWrite(request, LIFECYCLE_WRITE)
  const store = yield* MandateStore
  const zones = yield* TimeZones
  const { environment } = yield* Deployment
  const organization = admitted.organization.id
  const key = keyedOperation(admitted, CREATE)
  const attempt = Effect.gen(function* () {
    const loaded = yield* store.load({ organization, claims: [key.claimName] })
    const holder = holderOf(loaded.held, key.claimName)
    if (holder !== undefined) {
      yield* key.check(holder)
      const current = yield* tryReadStream({ organization, stream: { mandate: holder.resource } })
      return { resource: mandateResourceOf(current.state.mandate, current.now), replayed: true }
    }
    const body = yield* validBody(decodeCreate(admitted.body))
    const proposed = yield* validBody(proposeTerms(body, loaded.now, zones.isKnown))
    const time_zones = yield* fixTimeZones(proposed)
    const { now } = loaded
    const mandate = yield* makeIdentifier("mnd_", now)
    const terms: MandateTerms = {
      organization_id: organization,
      environment,
      mandate_id: mandate,
      ...proposed,
      policy_digest: policyDigest(proposed.policy as unknown as JsonValue),
      time_zones
    }
    const creation = { type: "mandate.created", occurred_at: formatNanos(now), data: terms } as const
    const created = yield* appendFirst(creation, now, [key.claim(mandate)])
    return { resource: mandateResourceOf(created, now), replayed: false }
  })
  return yield* untilAppended(Effect.succeed(JSON.stringify([organization, key.claimName.name])), attempt)
})

/** What names a mandate, as a caller gave it. */
export const readMandatePath = pathReader("mandateId")

/** Reads a mandate (part 4, GET /v1/mandates/{mandate_id}). */
export const readMandate = Effect.fn("readMandate")(function* (query: {
  readonly organization: string
  readonly mandateId: string
}): Effect.fn.Return<Mandate, OrganizationUnknown | NotFound | StoreUnavailable, MandateStore | Randomness> {
  const current = yield* readMandateStream(yield* readMandatePath(query))
  return mandateResourceOf(current.state.mandate, current.now)
})

/** Loads the stream of the mandate that a path names and records what is due. */
export const readMandateStream = (query: { readonly organization: string; readonly mandateId: string }) => {
  const stream = namedStream({ mandate: query.mandateId })
  return stream === undefined
    ? Effect.fail(new NotFound())
    : readStream({ organization: query.organization, stream })
}

/** Records what is due in the streams of a list, up to a bound. With more, progress is kept and the response is 503 (part 4). */
const settleListed = Effect.fnUntraced(function* (
  organization: string,
  due: ReadonlyArray<string>
): Effect.fn.Return<void, StoreUnavailable, MandateStore | Randomness> {
  for (const mandate of due.slice(0, DUE_STREAMS_PER_LIST)) {
    yield* readStream({ organization, stream: { mandate } }).pipe(
      // Only streams with nothing due are ever removed, so a missing one is a fault of the store.
      Effect.catchTag("NotFound", (cause) => Effect.fail(new StoreUnavailable({ cause })))
    )
  }
  if (due.length > DUE_STREAMS_PER_LIST) return yield* new StoreUnavailable({ retryAfterSeconds: 1 })
})

const readListQuery = listReader({
  limit: pageLimit,
  state: Schema.optionalKey(MandateStateName),
  subjectReference: Schema.optionalKey(Text)
})

/** Lists mandates, newest first (part 4, GET /v1/mandates). */
export const listMandates = Effect.fn("listMandates")(function* (query: {
  readonly organization: string
  readonly state?: MandateStateName
  readonly subjectReference?: string
  readonly cursor?: string
  readonly limit: number
}): Effect.fn.Return<
  ListPage<Mandate>,
  QueryRefusal | InvalidCursor | StoreUnavailable,
  MandateStore | Randomness
> {
  const { cursor, limit, organization, state, subjectReference } = yield* readListQuery(query)
  const store = yield* MandateStore
  const scope = {
    list: "mandates",
    organization,
    state: state ?? "",
    subject_reference: subjectReference ?? ""
  }
  const after = yield* identifierCursor(scope, "mnd_", cursor)
  const list = yield* settledList({
    read: store.listMandates({
      organization,
      ...(state === undefined ? {} : { state }),
      ...(subjectReference === undefined ? {} : { subjectReference }),
      ...(after === undefined ? {} : { after }),
      limit
    }),
    isDue: (read) => read.due.length > 0,
    settle: (read) => settleListed(organization, read.due)
  })
  return listPageOf(
    scope,
    list.mandates,
    limit,
    (mandate) => mandate.terms.mandate_id,
    (mandate) => mandateResourceOf(mandate, list.now)
  )
})

/** Revokes a mandate (part 4, PUT /v1/mandates/{mandate_id}/revocation). */
export const revokeMandate = Effect.fn("revokeMandate")(function* (
  request: WriteRequest & { readonly mandateId: string }
): Effect.fn.Return<
  WriteResult<Mandate>,
  WriteRefusal | IdempotencyKeyReused | CommitmentReused | Refusal | StoreUnavailable,
  MandateStore | Randomness | Deployment
> {
  const admitted = yield* admitWrite(request, LIFECYCLE_WRITE, ["mandateId"])
  const { mandateId } = admitted.path
  const { replayed, stream } = yield* writeStream(admitted, {
    operation: {
      operation: KEYED_ROUTES.revokeMandate,
      path: { mandate_id: mandateId }
    },
    stream: { mandate: mandateId },
    decode: decodeRevoke,
    command: (body) => ({ _tag: "Revoke", reason: body.reason }),
    resource: () => mandateId
  })
  return { resource: mandateResourceOf(stream.state.mandate, stream.now), replayed }
})

const INSTANT_RULE = "must be an instant of the years 0001 to 9999, in nanoseconds"

const readPeriodsQuery = listReader(
  {
    limit: pageLimit,
    from: Schema.optionalKey(
      Schema.BigInt.check(Schema.makeFilter(isWritableInstant, { message: INSTANT_RULE }))
    )
  },
  "mandateId"
)

/** Periods of a mandate from an instant on (part 4, GET /v1/mandates/{mandate_id}/periods). */
export const listPeriods = Effect.fn("listPeriods")(function* (query: {
  readonly organization: string
  readonly mandateId: string
  readonly from?: Instant
  readonly limit: number
}): Effect.fn.Return<
  { readonly data: ReadonlyArray<PeriodEntry> },
  QueryRefusal | NotFound | StoreUnavailable,
  MandateStore | Randomness
> {
  const { from, limit, ...path } = yield* readPeriodsQuery(query)
  const { state, now } = yield* readMandateStream(path)
  const { startsAt, endsAt, periods } = prepareTerms(state.mandate.terms)
  return {
    data: periods.flatMap(({ rule, zone }, period) =>
      periodsFrom(rule, zone, { startsAt, endsAt }, from ?? now, limit).map((span) => {
        const { startsAt, endsAt, ...caps } = span
        return { period, starts_at: formatNanos(startsAt), ends_at: formatNanos(endsAt), ...caps }
      })
    )
  }
})

const readEventsQuery = listReader({ limit: pageLimit }, "mandateId")

/**
 * The journal of a mandate, ascending (part 7, GET /v1/mandates/{mandate_id}/events). Entries are the canonical texts of
 * the events, to be shown as they are.
 */
export const listEvents = Effect.fn("listEvents")(function* (query: {
  readonly organization: string
  readonly mandateId: string
  readonly cursor?: string
  readonly limit: number
}): Effect.fn.Return<
  ListPage<string>,
  QueryRefusal | InvalidCursor | HistoryChanged | NotFound | StoreUnavailable,
  MandateStore | Randomness
> {
  const { cursor, limit, mandateId, organization } = yield* readEventsQuery(query)
  const store = yield* MandateStore
  const scope = { list: "events", mandate_id: mandateId }
  const position = yield* journalCursor(scope, cursor)
  const afterSeq = position?.seq ?? 0
  const current = yield* readMandateStream({ organization, mandateId })
  const found = yield* store.journal({
    organization,
    mandate: mandateId,
    // Includes the cursor's own event: its hash tells whether the history is still the one that was read.
    afterSeq: Math.max(afterSeq - 1, 0),
    uptoSeq: current.head.seq,
    limit: limit + 2
  })
  if (position !== undefined && !isAt(position, found[0])) return yield* new HistoryChanged()
  const texts = position === undefined ? found : found.slice(1)
  const numbered = texts.map((text, index) => ({ text, seq: afterSeq + index + 1 }))
  return listPageOf(
    scope,
    numbered,
    limit,
    (entry) => journalPosition(entry.seq, entry.text),
    (entry) => entry.text
  )
})
