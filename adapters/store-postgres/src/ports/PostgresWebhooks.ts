import {
  type ClaimHolder,
  type ClaimKind,
  ClaimTaken,
  Stale,
  type UniqueClaim
} from "@svc/domain/ports/MandateStore"
import { EndpointLimitReached, type WebhookStore } from "@svc/domain/ports/WebhookStore"
import { deliverySuffixOf } from "@svc/domain/webhook/DeliveryId"
import { keptDeliveriesOf } from "@svc/domain/webhook/KeptDeliveries"
import type { StoredDelivery, WebhookDeliveryState } from "@svc/domain/webhook/WebhookDelivery"
import type { StoredEndpoint, WebhookEndpointState } from "@svc/domain/webhook/WebhookEndpoint"
import { Effect, Result } from "effect"
import { inLockOrder } from "../append/PostgresAppend.ts"
import {
  decidingClient,
  type Parameter,
  type PostgresClients,
  statement
} from "../connection/PostgresClients.ts"
import { guarded } from "../connection/StoreFault.ts"
import {
  comparable,
  isStorable,
  readAttempts,
  readEndpoint,
  writeAttempts,
  writeEndpoint
} from "../RecordCodec.ts"
import { CLOCK } from "./PostgresReads.ts"

type Service = WebhookStore["Service"]
type Query<Method extends keyof Service> = Parameters<Service[Method]>[0]

interface EndpointRow {
  readonly o_endpoint_record: string
  readonly o_revision: bigint
  readonly o_missed_since: bigint | null
}

interface DeliveryRow {
  readonly o_organization: string
  readonly o_endpoint: string
  readonly o_delivery: string
  readonly o_event: string
  readonly o_event_type: WebhookDeliveryState["eventType"]
  readonly o_created_at: bigint
  readonly o_state: WebhookDeliveryState["state"]
  readonly o_next_attempt_at: bigint | null
  readonly o_open_token: string | null
  readonly o_open_at: bigint
  readonly o_open_expires_at: bigint
  readonly o_open_generation: bigint
  readonly o_attempts: string | null
}

/** A part of a row that is null where the outer join found nothing. */
type Nullable<Row> = { readonly [K in keyof Row]: Row[K] | null }

interface ClockRow {
  readonly o_clock: bigint
}

interface HeldRow {
  readonly o_fingerprint: string | null
  readonly o_resource: string | null
}

const ENDPOINT_COLUMNS =
  "e.record as o_endpoint_record, e.revision as o_revision, e.missed_since as o_missed_since"

const DELIVERY_COLUMNS = `d.organization as o_organization, d.endpoint as o_endpoint, d.delivery as o_delivery,
  d.event as o_event, d.event_type as o_event_type, d.created_at as o_created_at, d.state as o_state,
  d.next_attempt_at as o_next_attempt_at, d.open_token as o_open_token, d.open_at as o_open_at,
  d.open_expires_at as o_open_expires_at, d.open_generation as o_open_generation, d.attempts as o_attempts`

const storedOf = (row: EndpointRow): StoredEndpoint => ({
  endpoint: readEndpoint(row.o_endpoint_record),
  revision: Number(row.o_revision),
  ...(row.o_missed_since === null ? {} : { missedSince: row.o_missed_since })
})

const deliveryOf = (row: DeliveryRow): WebhookDeliveryState => ({
  id: row.o_delivery,
  organizationId: row.o_organization,
  endpointId: row.o_endpoint,
  eventId: row.o_event,
  eventType: row.o_event_type,
  createdAt: row.o_created_at,
  state: row.o_state,
  ...(row.o_next_attempt_at === null ? {} : { nextAttemptAt: row.o_next_attempt_at }),
  attempts: row.o_attempts === null ? [] : readAttempts(row.o_attempts),
  ...(row.o_open_token === null
    ? {}
    : {
        open: {
          token: row.o_open_token,
          at: row.o_open_at,
          expiresAt: row.o_open_expires_at,
          generation: Number(row.o_open_generation)
        }
      })
})

const isPresent = (row: Nullable<EndpointRow>): row is EndpointRow => row.o_endpoint_record !== null
const hasDelivery = <Row>(row: Row & Nullable<DeliveryRow>): row is Row & DeliveryRow =>
  row.o_delivery !== null

const storedIn = (row: Nullable<EndpointRow>): { readonly stored?: StoredEndpoint } =>
  isPresent(row) ? { stored: storedOf(row) } : {}

const heldIn = ({ o_fingerprint, o_resource }: HeldRow): { readonly held?: ClaimHolder } =>
  o_fingerprint === null ? {} : { held: { fingerprint: o_fingerprint, resource: o_resource! } }

/** The rows that this release can read. Rows of a later release and malformed ones do not hold up the others. */
const readable = <Row extends EndpointRow & DeliveryRow, A>(
  rows: ReadonlyArray<Row>,
  read: (row: Row) => A
): Effect.Effect<ReadonlyArray<A>> =>
  Effect.gen(function* () {
    const found: Array<A> = []
    for (const row of rows) {
      const one = Result.try(() => read(row))
      if (Result.isSuccess(one)) found.push(one.success)
      else {
        yield* Effect.logError("a webhook delivery is left alone: this release cannot read it").pipe(
          Effect.annotateLogs({
            organization_id: row.o_organization,
            webhook_endpoint_id: row.o_endpoint,
            delivery_id: row.o_delivery
          })
        )
      }
    }
    return found
  })

const orNull = (text: string | undefined): string | null =>
  text === undefined || !isStorable(text) ? null : text

/** The clock, with the claim of the key `$3` and the endpoint `$2`, if they exist. */
const FROM_ENDPOINT = `from (select ${CLOCK} as now) clock
  left join {schema}.claim c on c.organization = $1::text and c.kind = 'idempotency_key' and c.name = $3::text
    and (c.expires_at is null or c.expires_at > clock.now)
  left join {schema}.webhook_endpoint e on e.organization = $1::text and e.endpoint = $2::text`

const LOAD_ENDPOINT = `select clock.now as o_clock, c.fingerprint as o_fingerprint, c.resource as o_resource,
  ${ENDPOINT_COLUMNS}
${FROM_ENDPOINT}`

const LOAD_DELIVERY = `select clock.now as o_clock, c.fingerprint as o_fingerprint, c.resource as o_resource,
  ${ENDPOINT_COLUMNS}, ${DELIVERY_COLUMNS}, d.body as o_body
${FROM_ENDPOINT}
  left join {schema}.webhook_delivery d
    on d.organization = $1::text and d.endpoint = $2::text and d.delivery = $4::text`

const LIST_ENDPOINTS = `select ${ENDPOINT_COLUMNS} from {schema}.webhook_endpoint e
where e.organization = $1::text and e.slot is not null order by e.endpoint desc`

const LIST_DELIVERIES = `select ${ENDPOINT_COLUMNS}, d.* from {schema}.webhook_endpoint e
  left join lateral (
    select ${DELIVERY_COLUMNS} from {schema}.webhook_delivery d
    where d.organization = $1::text and d.endpoint = $2::text and d.delivery < $3::text
    order by d.delivery desc limit $4::bigint
  ) d on true
where e.organization = $1::text and e.endpoint = $2::text order by d.o_delivery desc`

/** Sorts after every identifier, as bytes. */
const AFTER_ALL = "~"

/** Looks up each delivery by itself: a join would be planned while the tables are nearly empty. */
const RELOAD = `select clock.now as o_clock, ${ENDPOINT_COLUMNS}, d.* from (select ${CLOCK} as now) clock
  left join {schema}.webhook_endpoint e on e.organization = $1::text and e.endpoint = $2::text
  left join unnest($3::text[]) with ordinality named (delivery, place) on true
  left join lateral (
    select ${DELIVERY_COLUMNS} from {schema}.webhook_delivery d
    where d.organization = $1::text and d.endpoint = $2::text and d.delivery = named.delivery offset 0
  ) d on true
order by named.place`

const EXPIRED = `select clock.now as o_clock, x.* from (select ${CLOCK} as now) clock
  left join lateral (
    select e.*, ${DELIVERY_COLUMNS} from {schema}.webhook_delivery d
      cross join lateral (
        select ${ENDPOINT_COLUMNS} from {schema}.webhook_endpoint e
        where e.organization = d.organization and e.endpoint = d.endpoint offset 0
      ) e
    where d.open_token is not null and d.open_expires_at <= clock.now
    order by d.open_expires_at, d.organization, d.endpoint, d.delivery limit $1::bigint offset $2::bigint
  ) x on true`

const calls = (name: string, types: string): string => {
  const casts = types.split(" ").map((type, at) => `$${at + 1}::${type}`)
  return `select * from {schema}.${name}(${casts.join(", ")})`
}

const PUT_TYPES = "text text text bigint text text[] bigint bigint bigint text"
const CLAIM_TYPES = "text[] text[] text[] text[] text[] text[]"

const CHANGE = calls("change_webhook_endpoint", `${PUT_TYPES} bigint bigint bigint ${CLAIM_TYPES}`)
const ADD = calls("add_webhook_delivery", `text text text text text bigint bigint text ${CLAIM_TYPES}`)
const LEASE = calls("lease_webhook_attempts", "text bigint bigint bigint bigint bigint text[] text[]")
const RECORD = calls("record_webhook_attempts", Array(13).fill("text[]").join(" "))

interface OutcomeRow {
  readonly o_outcome: "recorded" | "stale" | "claim_taken" | "limit"
  readonly o_revision: bigint
  readonly o_kind: ClaimKind | null
  readonly o_fingerprint: string | null
  readonly o_resource: string | null
}

interface RecordedRow {
  readonly o_place: bigint
  readonly o_revision: bigint
}

/** The deliveries that are kept for an endpoint from when it is disabled. */
const heldColumns = (endpoint: WebhookEndpointState) => {
  const kept = keptDeliveriesOf(endpoint)
  return kept === undefined
    ? { until: null, left: null }
    : { until: comparable(kept.until), left: String(kept.left) }
}

/** An endpoint, its present revision, and its next state. */
const endpointParameters = (
  organization: string,
  expected: "absent" | number,
  next: WebhookEndpointState
): ReadonlyArray<Parameter> => {
  const { left, until } = heldColumns(next)
  return [
    organization,
    next.id,
    deliverySuffixOf(next.id),
    expected === "absent" ? null : String(expected),
    next.status,
    next.eventTypes ?? ["*"],
    String(next.generation),
    until,
    left,
    writeEndpoint(next)
  ]
}

const claimParameters = (given: Query<"changeEndpoint">["claims"]): ReadonlyArray<Parameter> => {
  const claims = inLockOrder(given)
  return [
    claims.map(({ kind }) => kind),
    claims.map(({ name }) => name),
    claims.map(({ fingerprint }) => fingerprint),
    claims.map(({ resource }) => resource),
    claims.map(({ expiresAt }) => (expiresAt === undefined ? "" : comparable(expiresAt))),
    claims.map((claim) => String(given.indexOf(claim)))
  ]
}

/** A change of webhooks makes at most one claim of each kind. */
const takenOf = (row: OutcomeRow, claims: ReadonlyArray<UniqueClaim>): ClaimTaken =>
  new ClaimTaken({
    kind: row.o_kind!,
    name: claims.find(({ kind }) => kind === row.o_kind)!.name,
    holder: { fingerprint: row.o_fingerprint ?? "", resource: row.o_resource ?? "" }
  })

const changedOf = (
  row: OutcomeRow,
  claims: ReadonlyArray<UniqueClaim>
): Effect.Effect<{ readonly revision: number }, Stale | ClaimTaken | EndpointLimitReached> => {
  switch (row.o_outcome) {
    case "recorded":
      return Effect.succeed({ revision: Number(row.o_revision) })
    case "stale":
      return Effect.fail(new Stale())
    case "claim_taken":
      return Effect.fail(takenOf(row, claims))
    case "limit":
      return Effect.fail(new EndpointLimitReached())
  }
}

const makeLoads = ({ reads, schema }: PostgresClients) => {
  const endpoint = statement<ClockRow & HeldRow & Nullable<EndpointRow>>(reads, schema, LOAD_ENDPOINT)
  const delivery = statement<
    ClockRow & HeldRow & Nullable<EndpointRow> & Nullable<DeliveryRow> & { readonly o_body: string | null }
  >(reads, schema, LOAD_DELIVERY)
  const loadEndpoint: Service["loadEndpoint"] = (query) =>
    guarded(
      Effect.map(
        endpoint([query.organization, orNull(query.endpoint), orNull(query.idempotencyKey)]),
        ([row]) => ({ now: row!.o_clock, ...heldIn(row!), ...storedIn(row!) })
      )
    )
  const loadDelivery: Service["loadDelivery"] = (query) => {
    const named = [query.endpoint, query.idempotencyKey, query.delivery].map(orNull)
    return guarded(
      Effect.map(delivery([query.organization, ...named]), ([found]) => {
        const row = found!
        const stored: { readonly delivery?: StoredDelivery } = hasDelivery(row)
          ? { delivery: { delivery: deliveryOf(row), body: row.o_body! } }
          : {}
        return { now: row.o_clock, ...heldIn(row), ...storedIn(row), ...stored }
      })
    )
  }
  return { loadEndpoint, loadDelivery }
}

const makeLists = ({ reads, schema }: PostgresClients) => {
  const endpoints = statement<EndpointRow>(reads, schema, LIST_ENDPOINTS)
  const deliveries = statement<EndpointRow & Nullable<DeliveryRow>>(reads, schema, LIST_DELIVERIES)
  const listEndpoints: Service["listEndpoints"] = (organization) =>
    guarded(Effect.map(endpoints([organization]), (rows) => rows.map(storedOf)))
  const listDeliveries: Service["listDeliveries"] = ({ after, endpoint, limit, organization }) =>
    guarded(
      Effect.map(
        deliveries([
          organization,
          orNull(endpoint),
          after === undefined ? AFTER_ALL : orNull(after),
          String(limit + 1)
        ]),
        (rows) => {
          const [first] = rows
          if (first === undefined) return { deliveries: [] }
          return { stored: storedOf(first), deliveries: rows.filter(hasDelivery).map(deliveryOf) }
        }
      )
    )
  return { listEndpoints, listDeliveries }
}

const makeChanges = (clients: PostgresClients) => {
  const { schema } = clients
  const decisions = decidingClient(clients)
  const change = statement<OutcomeRow>(decisions, schema, CHANGE)
  const add = statement<OutcomeRow>(decisions, schema, ADD)
  const changeEndpoint: Service["changeEndpoint"] = ({
    claims,
    expected,
    limit,
    next,
    organization,
    spread
  }) =>
    guarded(
      change([
        ...endpointParameters(organization, expected, next),
        String(limit),
        spread === undefined ? null : comparable(spread.now),
        spread === undefined ? null : comparable(spread.over),
        ...claimParameters(claims)
      ])
    ).pipe(Effect.flatMap(([row]) => changedOf(row!, claims)))
  const addDelivery: Service["addDelivery"] = ({ body, claims, delivery, organization }) =>
    guarded(
      add([
        organization,
        delivery.endpointId,
        delivery.id,
        delivery.eventId,
        delivery.eventType,
        comparable(delivery.createdAt),
        comparable(delivery.nextAttemptAt ?? delivery.createdAt),
        body,
        ...claimParameters(claims)
      ])
    ).pipe(
      Effect.flatMap(([row]): Effect.Effect<void, Stale | ClaimTaken> => {
        if (row!.o_outcome === "recorded") return Effect.void
        return Effect.fail(row!.o_outcome === "claim_taken" ? takenOf(row!, claims) : new Stale())
      })
    )
  return { changeEndpoint, addDelivery }
}

const makeAttempts = (clients: PostgresClients) => {
  const { reads, schema, server, writes } = clients
  const polls = server?.polls ?? writes
  const lease = statement<EndpointRow & DeliveryRow & { readonly o_body: string }>(polls, schema, LEASE)
  const expired = statement<ClockRow & Nullable<EndpointRow> & Nullable<DeliveryRow>>(reads, schema, EXPIRED)
  const record = statement<RecordedRow>(decidingClient(clients), schema, RECORD)
  const reloaded = statement<ClockRow & Nullable<EndpointRow> & Nullable<DeliveryRow>>(reads, schema, RELOAD)
  const leaseDue: Service["leaseDue"] = ({
    assured,
    bounds = new Map(),
    lasts,
    limit,
    perEndpoint,
    perOrganization,
    token
  }) =>
    guarded(
      Effect.flatMap(
        lease([
          token,
          ...[limit, perEndpoint, assured, perOrganization].map(String),
          comparable(lasts),
          [...bounds.keys()],
          [...bounds.values()].map(String)
        ]),
        (rows) => {
          // Each row has a delivery and repeats its endpoint.
          const endpoints = new Map<string, StoredEndpoint>()
          return readable(rows, (row) => {
            const stored = endpoints.get(row.o_endpoint_record) ?? storedOf(row)
            endpoints.set(row.o_endpoint_record, stored)
            return { ...stored, delivery: deliveryOf(row), body: row.o_body }
          })
        }
      )
    )
  const expiredAttempts: Service["expiredAttempts"] = Effect.fnUntraced(function* ({ limit }) {
    const found: Array<StoredEndpoint & { readonly delivery: WebhookDeliveryState }> = []
    for (let passed = 0; ; ) {
      const wanted = limit - found.length
      const rows = yield* guarded(expired([String(wanted), String(passed)]))
      const present = rows.flatMap((row) => (isPresent(row) && hasDelivery(row) ? [row] : []))
      const read = yield* readable(present, (row) => ({ ...storedOf(row), delivery: deliveryOf(row) }))
      found.push(...read)
      passed += present.length
      if (present.length < wanted || found.length === limit) return { now: rows[0]!.o_clock, expired: found }
    }
  })
  const recordAttempts: Service["recordAttempts"] = (ended) => {
    const endpoints = ended.map(({ endpoint }) => endpoint)
    const kept = endpoints.map(heldColumns)
    const ends = ended.flatMap(({ deliveries }, at) =>
      deliveries.map(({ next, token }) => ({ next, token, place: String(at + 1) }))
    )
    return guarded(
      record([
        ended.map(({ organization }) => organization),
        endpoints.map(({ id }) => id),
        ended.map(({ expected }) => String(expected)),
        endpoints.map(({ status }) => status),
        kept.map(({ until }) => until ?? ""),
        kept.map(({ left }) => left ?? ""),
        endpoints.map(writeEndpoint),
        ends.map(({ place }) => place),
        ends.map(({ next }) => next.id),
        ends.map(({ token }) => token),
        ends.map(({ next }) => next.state),
        ends.map(({ next }) => (next.nextAttemptAt === undefined ? "" : comparable(next.nextAttemptAt))),
        ends.map(({ next }) => writeAttempts(next.attempts))
      ])
    ).pipe(
      Effect.map((rows) => {
        const revisions = new Map(
          rows.map(({ o_place, o_revision }) => [Number(o_place), Number(o_revision)])
        )
        return ended.map((_, at) => revisions.get(at + 1))
      })
    )
  }
  const reload: Service["reload"] = ({ deliveries, endpoint, organization }) =>
    guarded(
      Effect.map(reloaded([organization, orNull(endpoint), deliveries.filter(isStorable)]), (rows) => ({
        now: rows[0]!.o_clock,
        ...storedIn(rows[0]!),
        deliveries: rows.filter(hasDelivery).map(deliveryOf)
      }))
    )
  return { leaseDue, expiredAttempts, recordAttempts, reload }
}

/** Endpoints and deliveries. Each operation is one statement. The deliveries of events are made when those are recorded. */
export const makeWebhooks = (clients: PostgresClients): Service => ({
  ...makeLoads(clients),
  ...makeLists(clients),
  ...makeChanges(clients),
  ...makeAttempts(clients)
})
