import type {
  Authorization,
  AuthorizationListQuery,
  CancellationInput,
  CommitInput,
  ProposalInput,
  RefundInput
} from "./Authorization.ts"
import { createCommitment } from "./Commitment.ts"
import type { FeedEvent, FeedPage, FeedQuery, JournalEvent } from "./Event.ts"
import type { EvidenceEnvelope, KeySet } from "./Evidence.ts"
import {
  type Execution,
  type ExecutionOptions,
  type ExecutionReport,
  makeExecutor,
  type Run,
  type RunOutcome,
  sendReport
} from "./Execution.ts"
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
import type { Backoff } from "./RetryDelay.ts"
import { queryText, routePath } from "./RoutePath.ts"
import { invalidArgument, numberWithin } from "./SvcError.ts"
import { TIMER_MAX_MILLISECONDS } from "./TimeLimit.ts"
import {
  checkLimits,
  makeTransport,
  type RequestOptions,
  type Transport,
  type WriteOptions
} from "./Transport.ts"
import type { WebhookDelivery, WebhookEndpoint, WebhookEndpointInput } from "./Webhook.ts"

/** Milliseconds for one attempt unless the options say otherwise. */
export const TIMEOUT_DEFAULT_MILLISECONDS = 30_000
/** Attempts after the first unless the options say otherwise. */
export const RETRIES_DEFAULT = 4

const BACKOFF_DEFAULT: Backoff = { initial: 250, max: 8000 }

export interface ClientOptions {
  /** Address of the API, with its path prefix if it has one: `https://api.example/spending`. */
  readonly baseUrl: string
  /** For servers alone: never in a browser, an app or a prompt of an agent. */
  readonly apiKey: string
  /** Default: the runtime's. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** Milliseconds for each attempt, its answer included. Default {@link TIMEOUT_DEFAULT_MILLISECONDS}. */
  readonly timeout?: number
  /** Attempts after the first, where another one may succeed. Default {@link RETRIES_DEFAULT}. */
  readonly retries?: number
  /** Waits between attempts. */
  readonly backoff?: Partial<Backoff>
}

/** What has to be kept before a proposal is sent. */
export interface StoredOpening {
  readonly opening: string
  readonly commitment: string
  /** Key of the proposal: to send it again, propose the same with this `commitment` under this key. */
  readonly idempotencyKey: string
}

/** How a proposal whose commitment the client makes is sent. */
export interface ProposalOptions extends WriteOptions {
  /** Keeps the opening for good. Called, and waited for, before anything is sent; if it rejects, nothing is. */
  readonly storeOpening: (opening: StoredOpening) => Promise<unknown>
}

/** A query of a list without filters. */
export interface PageQuery {
  /** Entries of a page, 1 to 100. Default 25. */
  readonly limit?: number | undefined
  /** `next_cursor` of the page before. */
  readonly cursor?: string | undefined
}

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
  readonly evidence: (id: string, options?: RequestOptions) => Promise<EvidenceEnvelope>
  /** The journal, oldest first. */
  readonly events: (id: string, query?: PageQuery, options?: RequestOptions) => Listing<JournalEvent>
}

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

export interface EventCalls {
  /** What happened to all mandates, oldest first. Keep `next_cursor` of each page to go on from there. */
  readonly list: (query?: FeedQuery, options?: RequestOptions) => Listing<FeedEvent, FeedPage>
}

export interface PasskeyCalls {
  /** Active ones, newest first. */
  readonly list: (subjectReference: string, query?: PageQuery, options?: RequestOptions) => Listing<Passkey>
  readonly retire: (subjectReference: string, id: string, options?: RequestOptions) => Promise<void>
}

/** The service, as a caller of its HTTP API sees it. Every method rejects with an `SvcError`. */
export interface Client {
  readonly mandates: MandateCalls
  readonly authorizations: AuthorizationCalls
  readonly webhooks: WebhookCalls
  readonly events: EventCalls
  readonly passkeys: PasskeyCalls
  /** The keys that evidence is verified with. */
  readonly keySet: (options?: RequestOptions) => Promise<KeySet>
  /**
   * Executes an authorization: reads it anew, checks every condition of the execution gate, calls `run` once, and reports
   * what it says: commits what was accepted, cancels what was refused, and does neither with anything else, what `run` throws
   * included. Rejects only if `run` was not called, with `execution_not_allowed` for a condition that does not hold.
   */
  readonly execute: (
    authorization: string | Pick<Authorization, "id">,
    run: (run: Run) => Promise<RunOutcome>,
    options: ExecutionOptions
  ) => Promise<Execution>
  /** Sends a report of `execute` again, as it was. */
  readonly repeatReport: (report: ExecutionReport, options?: RequestOptions) => Promise<Authorization>
}

const makeMandates = (send: Transport): MandateCalls => ({
  create: (body, options) =>
    send({ method: "POST", path: "/v1/mandates", status: 201, body, keyed: true }, options),
  get: async (id, options) =>
    send({ method: "GET", path: routePath`/v1/mandates/${id}`, status: 200 }, options),
  list: (query, options) =>
    makeListing((cursor) =>
      send({ method: "GET", path: `/v1/mandates${pageText(query, cursor)}`, status: 200 }, options)
    ),
  revoke: async (id, body, options) =>
    send(
      { method: "PUT", path: routePath`/v1/mandates/${id}/revocation`, status: 200, body, keyed: true },
      options
    ),
  periods: async (id, query = {}, options) =>
    send(
      { method: "GET", path: routePath`/v1/mandates/${id}/periods` + queryText(query), status: 200 },
      options
    ),
  openApproval: async (id, body, options) =>
    send(
      {
        method: "POST",
        path: routePath`/v1/mandates/${id}/approval-sessions`,
        status: 201,
        body,
        keyed: true
      },
      options
    ),
  evidence: async (id, options) =>
    send({ method: "GET", path: routePath`/v1/mandates/${id}/evidence`, status: 200 }, options),
  events: (id, query, options) => listAt(send, () => routePath`/v1/mandates/${id}/events`, query, options)
})

/** The query of a page: that of the first one, with the cursor of a later one. */
const pageText = (query: object = {}, cursor: string | undefined): string =>
  queryText(cursor === undefined ? query : { ...query, cursor })

const listAt = <Item>(
  send: Transport,
  path: () => string,
  query: object | undefined,
  options: RequestOptions | undefined
): Listing<Item> =>
  makeListing(async (cursor) =>
    send<Page<Item>>({ method: "GET", path: path() + pageText(query, cursor), status: 200 }, options)
  )

/** Makes the commitment of a proposal that has none, once its opening is stored. */
const withCommitment = async (
  input: Omit<ProposalInput, "commitment"> & { readonly commitment?: string },
  options: WriteOptions & Partial<ProposalOptions>
): Promise<readonly [body: object, options: WriteOptions]> => {
  const { storeOpening, ...rest } = options
  if (input.commitment !== undefined) return [input, rest]
  if (storeOpening === undefined) {
    throw invalidArgument("a proposal needs a commitment, or storeOpening to keep the opening of a new one")
  }
  const body = { ...input }
  const idempotencyKey = rest.idempotencyKey ?? crypto.randomUUID()
  const { commitment, opening } = await createCommitment()
  await storeOpening({ opening, commitment, idempotencyKey })
  return [
    { ...body, commitment },
    { ...rest, idempotencyKey }
  ]
}

const makeAuthorizations = (send: Transport): AuthorizationCalls => ({
  propose: async (
    mandateId: string,
    input: Omit<ProposalInput, "commitment"> & { readonly commitment?: string },
    options: WriteOptions & Partial<ProposalOptions> = {}
  ): Promise<Authorization> => {
    const path = routePath`/v1/mandates/${mandateId}/authorizations`
    const [body, writeOptions] = await withCommitment(input, options)
    return send({ method: "POST", path, status: 201, body, keyed: true }, writeOptions)
  },
  get: async (id, options) =>
    send({ method: "GET", path: routePath`/v1/authorizations/${id}`, status: 200 }, options),
  list: (mandateId, query, options) =>
    listAt(send, () => routePath`/v1/mandates/${mandateId}/authorizations`, query, options),
  commit: async (id, body, options) =>
    send(
      { method: "PUT", path: routePath`/v1/authorizations/${id}/commit`, status: 200, body, keyed: true },
      options
    ),
  cancel: async (id, body, options) =>
    send(
      {
        method: "PUT",
        path: routePath`/v1/authorizations/${id}/cancellation`,
        status: 200,
        body,
        keyed: true
      },
      options
    ),
  reportRefund: async (id, body, options) =>
    send(
      { method: "POST", path: routePath`/v1/authorizations/${id}/refunds`, status: 201, body, keyed: true },
      options
    )
})

const makeWebhooks = (send: Transport): WebhookCalls => {
  const at = (id: string) => routePath`/v1/webhook-endpoints/${id}`
  return {
    create: (body, options) =>
      send({ method: "POST", path: "/v1/webhook-endpoints", status: 201, body, keyed: true }, options),
    get: async (id, options) => send({ method: "GET", path: at(id), status: 200 }, options),
    list: (query, options) => listAt(send, () => "/v1/webhook-endpoints", query, options),
    delete: async (id, options) =>
      send({ method: "DELETE", path: at(id), status: 204, keyed: true }, options),
    reactivate: async (id, options) =>
      send({ method: "PUT", path: `${at(id)}/reactivation`, status: 200, keyed: true }, options),
    rotateSecret: async (id, options) =>
      send({ method: "PUT", path: `${at(id)}/secret`, status: 200, keyed: true }, options),
    test: async (id, options) =>
      send({ method: "POST", path: `${at(id)}/test`, status: 201, keyed: true }, options),
    deliveries: (id, query, options) => listAt(send, () => `${at(id)}/deliveries`, query, options),
    redeliver: async (id, deliveryId, options) => {
      const path = at(id) + routePath`/deliveries/${deliveryId}/redelivery`
      return send({ method: "POST", path, status: 201, keyed: true }, options)
    }
  }
}

const makeEvents = (send: Transport): EventCalls => ({
  list: (query = {}, options) =>
    makeListing(async (after) =>
      send<FeedPage>(
        {
          method: "GET",
          path: `/v1/events${queryText(after === undefined ? query : { ...query, after })}`,
          status: 200
        },
        options
      )
    )
})

const makePasskeys = (send: Transport): PasskeyCalls => {
  const at = (subject: string) => routePath`/v1/subjects/${subject}/passkeys`
  return {
    list: (subject, query, options) => listAt(send, () => at(subject), query, options),
    retire: async (subject, id, options) =>
      send({ method: "DELETE", path: at(subject) + routePath`/${id}`, status: 204 }, options)
  }
}

const normalizedBase = (baseUrl: string): string => {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  const isPlain = url?.username === "" && url.password === "" && url.search === "" && url.hash === ""
  if (url === undefined || !isPlain || !/^https?:$/.test(url.protocol)) {
    throw invalidArgument("baseUrl must be an http or https address without user, query or fragment")
  }
  return url.href.replace(/\/+$/, "")
}

/**
 * A client of the HTTP API. Throws `invalid_argument` for options with which nothing can be sent.
 *
 * Every call is retried where that is safe: reads, and writes under their one idempotency key, after a failure that another
 * attempt may mend. A call that fails for good may have been carried out all the same; to go on, repeat it with the same
 * input and the `idempotencyKey` of its error.
 */
export const createClient = (options: ClientOptions): Client => {
  const { apiKey, backoff, retries = RETRIES_DEFAULT, timeout = TIMEOUT_DEFAULT_MILLISECONDS } = options
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw invalidArgument("apiKey must be visible ASCII characters")
  const waits = { ...BACKOFF_DEFAULT, ...backoff }
  checkLimits({ retries, timeout })
  numberWithin("backoff.initial", waits.initial, 0, TIMER_MAX_MILLISECONDS)
  numberWithin("backoff.max", waits.max, 0, TIMER_MAX_MILLISECONDS)
  const send = makeTransport({
    baseUrl: normalizedBase(options.baseUrl),
    apiKey,
    // Looked up with each call, and called without a receiver: some runtimes insist on that.
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    timeout,
    retries,
    backoff: waits
  })
  const authorizations = makeAuthorizations(send)
  const executor = makeExecutor(authorizations)
  return {
    mandates: makeMandates(send),
    authorizations,
    webhooks: makeWebhooks(send),
    events: makeEvents(send),
    passkeys: makePasskeys(send),
    keySet: (requestOptions) =>
      send({ method: "GET", path: "/.well-known/jwks.json", status: 200 }, requestOptions),
    execute: (authorization, run, executionOptions) =>
      executor(typeof authorization === "string" ? authorization : authorization.id, run, executionOptions),
    repeatReport: (report, requestOptions) => sendReport(authorizations, report, requestOptions)
  }
}
