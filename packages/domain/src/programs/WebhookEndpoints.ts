import { encodeBase64Url } from "@svc/protocol/Base64Url"
import { isIdentifier } from "@svc/protocol/Identifier"
import { decodeBody } from "@svc/protocol/request/DecodeBody"
import { KEYED_ROUTES } from "@svc/protocol/request/KeyedRoute"
import type { ListPage } from "@svc/protocol/request/ListPage"
import { repeatedEntries } from "@svc/protocol/request/RepeatedEntries"
import { type Instant, NANOS_PER_SECOND } from "@svc/protocol/Timestamp"
import { CreateWebhookEndpointBody, type WebhookEndpoint } from "@svc/protocol/webhook/WebhookEndpoint"
import { WEBHOOK_SECRET_BYTES, WEBHOOK_SECRET_PREFIX } from "@svc/protocol/webhook/WebhookSignature"
import { Effect, Redacted } from "effect"
import { identifierCursor, listPageOf } from "../engine/Cursor.ts"
import { type KeyedOperation, keyedOperation, optionallyKeyed } from "../engine/IdempotencyKey.ts"
import { listReader, pageLimit, pathReader, type QueryRefusal } from "../engine/ProgramQuery.ts"
import { untilAppended } from "../engine/UntilAppended.ts"
import {
  admitWrite,
  BARE_WRITE,
  LIFECYCLE_WRITE,
  validBody,
  type WriteRefusal,
  type WriteRequest,
  type WriteResult
} from "../engine/WriteRequest.ts"
import { makeIdentifier } from "../Identifiers.ts"
import type { Deployment } from "../ports/Deployment.ts"
import type { StoreUnavailable } from "../ports/MandateStore.ts"
import { Randomness } from "../ports/Randomness.ts"
import { SecretSealer, webhookSecretContext } from "../ports/SecretSealer.ts"
import { WebhookStore } from "../ports/WebhookStore.ts"
import { type TargetRefused, WebhookTransport } from "../ports/WebhookTransport.ts"
import {
  type IdempotencyKeyReused,
  type InvalidCursor,
  NotFound,
  type OrganizationUnknown,
  StateConflict,
  ValidationFailed,
  WebhookEndpointLimitReached,
  WebhookTargetNotAllowed
} from "../Refusals.ts"
import { REACTIVATION_SPREAD_SECONDS } from "../webhook/WebhookDelivery.ts"
import type { StoredEndpoint } from "../webhook/WebhookEndpoint.ts"
import {
  deleted,
  MAX_WEBHOOK_ENDPOINTS,
  reactivated,
  type WebhookEndpointState,
  withSecret
} from "../webhook/WebhookEndpoint.ts"
import { webhookEndpointOf } from "../webhook/WebhookResource.ts"

const decodeCreate = decodeBody(CreateWebhookEndpointBody)

const CREATE = { operation: KEYED_ROUTES.createWebhookEndpoint, path: {} }

const newSecret = Effect.fnUntraced(function* (
  endpoint: Pick<WebhookEndpointState, "id" | "organizationId">,
  version: number
) {
  const sealer = yield* SecretSealer
  const randomness = yield* Randomness
  const text = WEBHOOK_SECRET_PREFIX + encodeBase64Url(randomness.bytes(WEBHOOK_SECRET_BYTES))
  const secret = Redacted.make(text, { label: "webhook_secret" })
  return { secret, sealed: yield* sealer.seal(webhookSecretContext(endpoint, version), secret) }
})

const targetRefusal = ({ form }: TargetRefused): WebhookTargetNotAllowed =>
  new WebhookTargetNotAllowed(form === undefined ? {} : { form })

/** One turn for all endpoints of an organization: their writes are few. */
export const webhookTurn = (organization: string) =>
  Effect.succeed(JSON.stringify([organization, "webhook_endpoints"]))

/**
 * Registers an endpoint (part 8, POST /v1/webhook-endpoints). The secret is in this response alone; a replay omits it. The target is checked after the body and before the number of endpoints.
 */
export const createWebhookEndpoint = Effect.fn("createWebhookEndpoint")(function* (
  request: WriteRequest
): Effect.fn.Return<
  WriteResult<WebhookEndpoint>,
  | WriteRefusal
  | IdempotencyKeyReused
  | NotFound
  | WebhookTargetNotAllowed
  | WebhookEndpointLimitReached
  | StoreUnavailable,
  WebhookStore | WebhookTransport | SecretSealer | Randomness | Deployment
> {
  const admitted = yield* admitWrite(request, LIFECYCLE_WRITE)
  const store = yield* WebhookStore
  const transport = yield* WebhookTransport
  const organization = admitted.organization.id
  const key = keyedOperation(admitted, CREATE)
  let isChecked = false
  const attempt = Effect.gen(function* () {
    const { held, now } = yield* store.loadEndpoint({ organization, idempotencyKey: key.claimName.name })
    if (held !== undefined) {
      yield* key.check(held)
      return { resource: yield* readEndpoint({ organization, endpointId: held.resource }), replayed: true }
    }
    const body = yield* validBody(decodeCreate(admitted.body))
    const repeated = repeatedEntries(body.event_types ?? [], ["event_types"])
    if (repeated.length > 0) return yield* new ValidationFailed({ errors: repeated })
    if (!isChecked) {
      yield* Effect.mapError(transport.check(body.url), targetRefusal)
      isChecked = true
    }
    const id = yield* makeIdentifier("whe_", now)
    const { sealed, secret } = yield* newSecret({ id, organizationId: organization }, 1)
    const endpoint: WebhookEndpointState = {
      id,
      organizationId: organization,
      url: body.url,
      ...(body.event_types === undefined ? {} : { eventTypes: body.event_types }),
      ...(body.description === undefined ? {} : { description: body.description }),
      status: "active",
      consecutiveFailedAttempts: 0,
      consecutiveExhaustedDeliveries: 0,
      generation: 0,
      secretVersion: 1,
      sealedSecret: sealed,
      createdAt: now,
      updatedAt: now
    }
    const { revision } = yield* store.changeEndpoint({
      organization,
      expected: "absent",
      next: endpoint,
      limit: MAX_WEBHOOK_ENDPOINTS,
      claims: [key.claim(id)]
    })
    return { resource: webhookEndpointOf({ endpoint, revision }, secret), replayed: false }
  }).pipe(Effect.catchTag("EndpointLimitReached", () => Effect.fail(new WebhookEndpointLimitReached())))
  return yield* untilAppended(webhookTurn(organization), attempt)
})

const readListQuery = listReader({ limit: pageLimit })

/** Endpoints that are not deleted, newest first (part 8, GET /v1/webhook-endpoints). */
export const listWebhookEndpoints = Effect.fn("listWebhookEndpoints")(function* (query: {
  readonly organization: string
  readonly cursor?: string
  readonly limit: number
}): Effect.fn.Return<
  ListPage<WebhookEndpoint>,
  QueryRefusal | InvalidCursor | StoreUnavailable,
  WebhookStore
> {
  const { cursor, limit, organization } = yield* readListQuery(query)
  const store = yield* WebhookStore
  const scope = { list: "webhook_endpoints", organization }
  const after = yield* identifierCursor(scope, "whe_", cursor)
  // The store lists them all: there are few.
  const all = yield* store.listEndpoints(organization)
  const rest = all.filter(({ endpoint }) => after === undefined || endpoint.id < after)
  return listPageOf(
    scope,
    rest.slice(0, limit + 1),
    limit,
    ({ endpoint }) => endpoint.id,
    (stored) => webhookEndpointOf(stored)
  )
})

interface EndpointPath {
  readonly organization: string
  readonly endpointId: string
}

/** Loads the endpoint that a path names; a malformed identifier names none. */
const loadEndpoint = Effect.fnUntraced(function* (
  { endpointId, organization }: EndpointPath,
  key?: KeyedOperation
): Effect.fn.Return<
  {
    readonly now: Instant
    readonly stored: StoredEndpoint
    /** Whether the idempotency key has been used for this write before. */
    readonly isReplay: boolean
  },
  NotFound | IdempotencyKeyReused | StoreUnavailable,
  WebhookStore
> {
  const store = yield* WebhookStore
  const { held, now, stored } = yield* store.loadEndpoint({
    organization,
    ...(isIdentifier("whe_", endpointId) ? { endpoint: endpointId } : {}),
    ...(key === undefined ? {} : { idempotencyKey: key.claimName.name })
  })
  if (held !== undefined) yield* key!.check(held)
  if (stored === undefined) return yield* new NotFound()
  return { now, stored, isReplay: held !== undefined }
})

const readEndpoint = (path: EndpointPath) =>
  Effect.map(loadEndpoint(path), ({ stored }) => webhookEndpointOf(stored)).pipe(
    Effect.catchTag("IdempotencyKeyReused", (never) => Effect.die(never))
  )

const readEndpointPath = pathReader("endpointId")

/** Reads an endpoint, deleted ones included (part 8, GET /v1/webhook-endpoints/{id}). */
export const readWebhookEndpoint = Effect.fn("readWebhookEndpoint")(
  (
    path: EndpointPath
  ): Effect.Effect<WebhookEndpoint, OrganizationUnknown | NotFound | StoreUnavailable, WebhookStore> =>
    Effect.flatMap(readEndpointPath(path), readEndpoint)
)

interface EndpointChange {
  readonly next: WebhookEndpointState
  readonly secret?: Redacted.Redacted<string>
  /** Whether its waiting deliveries are spread over time. */
  readonly isReactivation?: boolean
}

/** Changes an endpoint, once per idempotency key if there is one; without a change it writes only to claim the key. */
const writeEndpoint = Effect.fnUntraced(function* <E, R>(
  request: WriteRequest & { readonly endpointId: string },
  operation: string,
  change: (stored: StoredEndpoint, now: Instant) => Effect.Effect<EndpointChange, E, R>
): Effect.fn.Return<
  WriteResult<WebhookEndpoint>,
  E | WriteRefusal | NotFound | IdempotencyKeyReused | StoreUnavailable,
  R | WebhookStore | Deployment
> {
  const admitted = yield* admitWrite(request, BARE_WRITE, ["endpointId"])
  const { endpointId } = admitted.path
  const organization = admitted.organization.id
  const key = optionallyKeyed(admitted, { operation, path: { webhook_endpoint_id: endpointId } })
  const attempt = Effect.gen(function* () {
    const store = yield* WebhookStore
    const { isReplay, now, stored } = yield* loadEndpoint({ organization, endpointId }, key)
    if (isReplay) return { resource: webhookEndpointOf(stored), replayed: true }
    const { isReactivation = false, next, secret } = yield* change(stored, now)
    if (next === stored.endpoint && key === undefined) {
      return { resource: webhookEndpointOf(stored), replayed: false }
    }
    const { revision } = yield* store.changeEndpoint({
      organization,
      expected: stored.revision,
      next,
      limit: MAX_WEBHOOK_ENDPOINTS,
      claims: key === undefined ? [] : [key.claim(endpointId)],
      ...(isReactivation ? { spread: { now, over: REACTIVATION_SPREAD_SECONDS * NANOS_PER_SECOND } } : {})
    })
    // The response to a reactivation is the last one with `missed_since`.
    return { resource: webhookEndpointOf({ ...stored, endpoint: next, revision }, secret), replayed: false }
  })
  return yield* untilAppended(
    webhookTurn(organization),
    // Only a new endpoint can reach the limit.
    attempt.pipe(Effect.catchTag("EndpointLimitReached", (never) => Effect.die(never)))
  ) as Effect.Effect<
    WriteResult<WebhookEndpoint>,
    E | NotFound | IdempotencyKeyReused | StoreUnavailable,
    R | WebhookStore
  >
})

const refuseDeleted = ({ endpoint }: StoredEndpoint): Effect.Effect<void, StateConflict> =>
  endpoint.status === "deleted"
    ? Effect.fail(
        new StateConflict({
          currentState: "deleted",
          resourceId: endpoint.id,
          needed: ["active", "disabled"]
        })
      )
    : Effect.void

type EndpointWrite = WriteRequest & { readonly endpointId: string }

/** Deletes an endpoint softly (part 8, DELETE /v1/webhook-endpoints/{id}); deleting it again changes nothing. */
export const deleteWebhookEndpoint = Effect.fn("deleteWebhookEndpoint")((request: EndpointWrite) =>
  writeEndpoint(request, KEYED_ROUTES.deleteWebhookEndpoint, ({ endpoint }, now) =>
    Effect.succeed({ next: deleted(endpoint, now) })
  )
)

/**
 * Makes a disabled endpoint active again, with counters of zero, and spreads what is due for it over 60 s (part 8, PUT
 * /v1/webhook-endpoints/{id}/reactivation). An active one stays as it is.
 */
export const reactivateWebhookEndpoint = Effect.fn("reactivateWebhookEndpoint")((request: EndpointWrite) =>
  writeEndpoint(
    request,
    KEYED_ROUTES.reactivateWebhookEndpoint,
    Effect.fnUntraced(function* (stored: StoredEndpoint, now: Instant) {
      yield* refuseDeleted(stored)
      const next = reactivated(stored.endpoint, now)
      return { next, isReactivation: next !== stored.endpoint }
    })
  )
)

/**
 * Gives an endpoint a new secret, the only one that signs later attempts, retries included (part 8, PUT
 * /v1/webhook-endpoints/{id}/secret). It is in this response alone: a replay omits it and rotates nothing.
 */
export const rotateWebhookSecret = Effect.fn("rotateWebhookSecret")((request: EndpointWrite) =>
  writeEndpoint(
    request,
    KEYED_ROUTES.rotateWebhookSecret,
    Effect.fnUntraced(function* (stored: StoredEndpoint, now: Instant) {
      yield* refuseDeleted(stored)
      const { endpoint } = stored
      const { sealed, secret } = yield* newSecret(endpoint, endpoint.secretVersion + 1)
      return { next: withSecret(endpoint, sealed, now), secret }
    })
  )
)
