import type {
  Authorization,
  AuthorizationListQuery,
  CancellationInput,
  CommitInput,
  ProposalInput,
  RefundInput
} from "./Authorization.ts"
import { callerWork } from "./CallerWork.ts"
import { createCommitment } from "./Commitment.ts"
import type { FeedEvent, FeedPage, FeedQuery, JournalEvent } from "./Event.ts"
import type { EvidenceContinuation, EvidenceEnvelope, KeySet } from "./Evidence.ts"
import { type Listing, makeListing, type Page } from "./Listing.ts"
import type {
  ApprovalSession,
  ApprovalSessionInput,
  BudgetPeriods,
  Mandate,
  MandateInput,
  MandateListQuery,
  PeriodsQuery,
  RevocationInput
} from "./Mandate.ts"
import type { Passkey } from "./Passkey.ts"
import { queryText, routePath } from "./RoutePath.ts"
import { invalidArgument } from "./SvcError.ts"
import {
  checkLimits,
  jsonText,
  type Operation,
  type RequestOptions,
  type Transport,
  type WriteOptions
} from "./Transport.ts"
import type { WebhookDelivery, WebhookEndpoint, WebhookEndpointInput } from "./Webhook.ts"

/** What has to be kept before a proposal is sent. */
export interface StoredOpening {
  readonly opening: string
  readonly commitment: string
  /** Key of the proposal: to send it again, propose the same with this `commitment` under this key. */
  readonly idempotencyKey: string
}

/** How a proposal whose commitment the client makes is sent. */
export interface ProposalOptions extends WriteOptions {
  /**
   * Keeps the opening for good. Called, and waited for, before anything is sent; if it rejects, nothing is. The `signal` and
   * `timeout` of the call end this wait, too, and then nothing is sent.
   */
  readonly storeOpening: (opening: StoredOpening) => Promise<unknown>
}

/** A query of a list without filters. */
export interface PageQuery {
  /** Entries of a page, 1 to 100. Default 25. */
  readonly limit?: number | undefined
  /** `next_cursor` of the page before. */
  readonly cursor?: string | undefined
}

/** What may be done with mandates. */
export interface MandateCalls {
  /** Creates a mandate, which then waits for the user's approval. */
  readonly create: (input: MandateInput, options?: WriteOptions) => Promise<Mandate>
  readonly get: (id: string, options?: RequestOptions) => Promise<Mandate>
  /** Newest first. */
  readonly list: (query?: MandateListQuery, options?: RequestOptions) => Listing<Mandate>
  readonly revoke: (id: string, input: RevocationInput, options?: WriteOptions) => Promise<Mandate>
  readonly periods: (id: string, query?: PeriodsQuery, options?: RequestOptions) => Promise<BudgetPeriods>
  /** Opens an approval session; an earlier open one is superseded. */
  readonly openApproval: (
    id: string,
    input: ApprovalSessionInput,
    options?: WriteOptions
  ) => Promise<ApprovalSession>
  /** The whole journal, signed; with `afterSeq`, the `seq` of the last event that you have, what followed. */
  readonly evidence: {
    (id: string, options?: RequestOptions & { readonly afterSeq?: undefined }): Promise<EvidenceEnvelope>
    (id: string, options: RequestOptions & { readonly afterSeq: number }): Promise<EvidenceContinuation>
  }
  /** The journal, oldest first. */
  readonly events: (id: string, query?: PageQuery, options?: RequestOptions) => Listing<JournalEvent>
}

/** What may be done with authorizations: a proposal is decided at once, its outcome is reported later. */
export interface AuthorizationCalls {
  /**
   * Proposes an action. Give the commitment of an opening that you have stored, or let the client make one and store it for
   * you: either way the opening is kept before the service hears of it. The answer comes for every decision; only `execute`
   * says whether to act.
   */
  readonly propose: {
    (
      mandateId: string,
      input: Omit<ProposalInput, "commitment">,
      options: ProposalOptions
    ): Promise<Authorization>
    (mandateId: string, input: ProposalInput, options?: WriteOptions): Promise<Authorization>
  }
  readonly get: (id: string, options?: RequestOptions) => Promise<Authorization>
  /** Those of a mandate, newest first, refused ones too. */
  readonly list: (
    mandateId: string,
    query?: AuthorizationListQuery,
    options?: RequestOptions
  ) => Listing<Authorization>
  /** Reports that your provider definitely accepted the action. */
  readonly commit: (id: string, input: CommitInput, options?: WriteOptions) => Promise<Authorization>
  /** Reports that the action definitely did not happen and no longer can. */
  readonly cancel: (id: string, input: CancellationInput, options?: WriteOptions) => Promise<Authorization>
  readonly reportRefund: (id: string, input: RefundInput, options?: WriteOptions) => Promise<Authorization>
}

/** What may be done with webhook endpoints and their deliveries. */
export interface WebhookCalls {
  readonly create: (input: WebhookEndpointInput, options?: WriteOptions) => Promise<WebhookEndpoint>
  readonly get: (id: string, options?: RequestOptions) => Promise<WebhookEndpoint>
  /** Newest first, without deleted ones. */
  readonly list: (query?: PageQuery, options?: RequestOptions) => Listing<WebhookEndpoint>
  readonly delete: (id: string, options?: WriteOptions) => Promise<void>
  readonly reactivate: (id: string, options?: WriteOptions) => Promise<WebhookEndpoint>
  /** The new secret alone signs from then on. */
  readonly rotateSecret: (id: string, options?: WriteOptions) => Promise<WebhookEndpoint>
  readonly test: (id: string, options?: WriteOptions) => Promise<WebhookDelivery>
  /** Newest first. */
  readonly deliveries: (id: string, query?: PageQuery, options?: RequestOptions) => Listing<WebhookDelivery>
  readonly redeliver: (id: string, deliveryId: string, options?: WriteOptions) => Promise<WebhookDelivery>
}

/** The events of all mandates in one order, for whoever polls rather than listens. */
export interface EventCalls {
  /** What happened to all mandates, oldest first. Keep `next_cursor` of each page to go on from there. */
  readonly list: (query?: FeedQuery, options?: RequestOptions) => Listing<FeedEvent, FeedPage>
}

/** The passkeys of end users, which they register on the approval page alone. */
export interface PasskeyCalls {
  /** Active ones, newest first. */
  readonly list: (subjectReference: string, query?: PageQuery, options?: RequestOptions) => Listing<Passkey>
  readonly retire: (subjectReference: string, id: string, options?: RequestOptions) => Promise<void>
}

/** A read. */
const get = (path: string): Operation => ({ method: "GET", path, status: 200 })

/** Makes something, once under its key. */
const post = (path: string, body?: unknown): Operation => ({
  method: "POST",
  path,
  status: 201,
  body,
  keyed: true
})

/** Changes something, once under its key. */
const put = (path: string, body?: unknown): Operation => ({
  method: "PUT",
  path,
  status: 200,
  body,
  keyed: true
})

/** A list whose later pages are asked for by this member of the query. */
const list = <Item, P extends Page<Item> = Page<Item>>(
  send: Transport,
  path: () => string,
  query: object | undefined,
  options: RequestOptions | undefined,
  cursorName: "cursor" | "after" = "cursor"
): Listing<Item, P> =>
  makeListing<Item, P>(async (cursor) => {
    const page = cursor === undefined ? query : { ...query, [cursorName]: cursor }
    return send(get(path() + queryText(page)), options)
  })

export const makeMandates = (send: Transport): MandateCalls => ({
  create: (input, options) => send(post("/v1/mandates", input), options),
  get: async (id, options) => send(get(routePath`/v1/mandates/${id}`), options),
  list: (query, options) => list(send, () => "/v1/mandates", query, options),
  revoke: async (id, input, options) => send(put(routePath`/v1/mandates/${id}/revocation`, input), options),
  periods: async (id, query, options) =>
    send(get(routePath`/v1/mandates/${id}/periods` + queryText(query)), options),
  openApproval: async (id, input, options) =>
    send(post(routePath`/v1/mandates/${id}/approval-sessions`, input), options),
  evidence: async <E>(
    id: string,
    { afterSeq, ...options }: RequestOptions & { readonly afterSeq?: number | undefined } = {}
  ): Promise<E> =>
    send(get(routePath`/v1/mandates/${id}/evidence` + queryText({ after_seq: afterSeq })), options),
  events: (id, query, options) => list(send, () => routePath`/v1/mandates/${id}/events`, query, options)
})

/** Makes the commitment of a proposal that has none, once its opening is stored. */
export const withCommitment = async (
  input: Omit<ProposalInput, "commitment"> & { readonly commitment?: string },
  options: WriteOptions & Partial<ProposalOptions>
): Promise<readonly [body: object, options: WriteOptions]> => {
  const { storeOpening, ...rest } = options
  if (input?.commitment !== undefined) return [input, rest]
  if (storeOpening === undefined) {
    throw invalidArgument("a proposal needs a commitment, or storeOpening to keep the opening of a new one")
  }
  checkLimits(rest)
  // As it is now, whatever happens to it while the opening is stored.
  const body: object = JSON.parse(jsonText(input))
  const idempotencyKey = rest.idempotencyKey ?? crypto.randomUUID()
  const { commitment, opening } = await createCommitment()
  await callerWork("storeOpening", () => storeOpening({ opening, commitment, idempotencyKey }), {
    ...rest,
    idempotencyKey
  })
  return [
    { ...body, commitment },
    { ...rest, idempotencyKey }
  ]
}

export const makeAuthorizations = (send: Transport): AuthorizationCalls => ({
  propose: async (
    mandateId: string,
    input: Omit<ProposalInput, "commitment"> & { readonly commitment?: string },
    options: WriteOptions & Partial<ProposalOptions> = {}
  ): Promise<Authorization> => {
    const path = routePath`/v1/mandates/${mandateId}/authorizations`
    const [body, writeOptions] = await withCommitment(input, options)
    return send(post(path, body), writeOptions)
  },
  get: async (id, options) => send(get(routePath`/v1/authorizations/${id}`), options),
  list: (mandateId, query, options) =>
    list(send, () => routePath`/v1/mandates/${mandateId}/authorizations`, query, options),
  commit: async (id, input, options) => send(put(routePath`/v1/authorizations/${id}/commit`, input), options),
  cancel: async (id, input, options) =>
    send(put(routePath`/v1/authorizations/${id}/cancellation`, input), options),
  reportRefund: async (id, input, options) =>
    send(post(routePath`/v1/authorizations/${id}/refunds`, input), options)
})

export const makeWebhooks = (send: Transport): WebhookCalls => {
  const at = (id: string) => routePath`/v1/webhook-endpoints/${id}`
  return {
    create: (input, options) => send(post("/v1/webhook-endpoints", input), options),
    get: async (id, options) => send(get(at(id)), options),
    list: (query, options) => list(send, () => "/v1/webhook-endpoints", query, options),
    delete: async (id, options) =>
      send({ method: "DELETE", path: at(id), status: 204, keyed: true }, options),
    reactivate: async (id, options) => send(put(`${at(id)}/reactivation`), options),
    rotateSecret: async (id, options) => send(put(`${at(id)}/secret`), options),
    test: async (id, options) => send(post(`${at(id)}/test`), options),
    deliveries: (id, query, options) => list(send, () => `${at(id)}/deliveries`, query, options),
    redeliver: async (id, deliveryId, options) =>
      send(post(at(id) + routePath`/deliveries/${deliveryId}/redelivery`), options)
  }
}

export const makeEvents = (send: Transport): EventCalls => ({
  list: (query, options) => list<FeedEvent, FeedPage>(send, () => "/v1/events", query, options, "after")
})

export const makePasskeys = (send: Transport): PasskeyCalls => {
  const at = (subject: string) => routePath`/v1/subjects/${subject}/passkeys`
  return {
    list: (subject, query, options) => list(send, () => at(subject), query, options),
    // Without a key: it is the same however often it is made.
    retire: async (subject, id, options) =>
      send({ method: "DELETE", path: at(subject) + routePath`/${id}`, status: 204 }, options)
  }
}

export const readKeySet = (send: Transport, options: RequestOptions | undefined): Promise<KeySet> =>
  send(get("/.well-known/jwks.json"), options)
