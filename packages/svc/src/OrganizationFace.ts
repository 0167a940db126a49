import type { WriteResult } from "@svc/domain/engine/WriteRequest"
import type { Organization } from "@svc/domain/organization/Organization"
import { createApprovalSession } from "@svc/domain/programs/ApprovalSessions"
import {
  cancelAuthorization,
  commitAuthorization,
  listAuthorizations,
  proposeAuthorization,
  readAuthorization,
  reportRefund
} from "@svc/domain/programs/Authorizations"
import { readEventFeed } from "@svc/domain/programs/EventFeed"
import { readContinuation, readEvidence } from "@svc/domain/programs/Evidence"
import {
  createMandate,
  listEvents,
  listMandates,
  listPeriods,
  readMandate,
  revokeMandate
} from "@svc/domain/programs/Mandates"
import { listPasskeys, retirePasskey } from "@svc/domain/programs/Passkeys"
import {
  listWebhookDeliveries,
  redeliverWebhook,
  testWebhookEndpoint
} from "@svc/domain/programs/WebhookDeliveries"
import {
  createWebhookEndpoint,
  deleteWebhookEndpoint,
  listWebhookEndpoints,
  reactivateWebhookEndpoint,
  readWebhookEndpoint,
  rotateWebhookSecret
} from "@svc/domain/programs/WebhookEndpoints"
import type { DomainRefusal } from "@svc/http-server/http/RefusalProblem"
import { PERIODS_LIMIT_DEFAULT } from "@svc/protocol/api/RequestParts"
import type { EvidenceContinuation, EvidenceEnvelope } from "@svc/protocol/evidence/EvidenceEnvelope"
import type { JsonValue } from "@svc/protocol/json/Json"
import { LIST_LIMIT_DEFAULT, type ListPage } from "@svc/protocol/request/ListPage"
import { parseTimestamp } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import type {
  ApprovalSession,
  Authorization,
  AuthorizationState,
  CancelAuthorization,
  CommitAuthorization,
  CreateApprovalSession,
  CreateMandate,
  CreateWebhookEndpoint,
  JournalEvent,
  Mandate,
  MandateState,
  Page,
  Passkey,
  PeriodEntry,
  ProposeAuthorization,
  ReportRefund,
  RevokeMandate,
  WebhookDelivery,
  WebhookEndpoint
} from "./Resources.ts"
import type { Services } from "./ServiceRuntime.ts"
import { SvcError } from "./SvcError.ts"

/** Options of a write. */
export interface WriteOptions {
  /**
   * The same key for the same operation, 1 to 255 visible ASCII characters: a second call with it changes nothing and
   * returns the resource. Default: a new one, so that every call is an operation of its own.
   */
  readonly idempotencyKey?: string
}

/** Options of a list. */
export interface ListOptions {
  /** Entries of the page, 1 to 100. Default: 25. */
  readonly limit?: number
  /** `next_cursor` of the page before. */
  readonly cursor?: string
}

export interface FeedOptions {
  /** Begins after this cursor, from the beginning without one. */
  readonly after?: string
  readonly limit?: number
}

/** A page of the feed: `next_cursor` is there at the end too, and waits for the next event. */
export interface EventPage extends Page<JournalEvent> {
  readonly next_cursor: string
}

type Program<A> = Effect.Effect<A, DomainRefusal, Services>

/** Runs a program of an organization, and throws its refusal as an `SvcError`. */
export type RunFor = <A>(program: (organization: Organization) => Program<A>) => Promise<A>

const pageOf = ({ cursor, limit = LIST_LIMIT_DEFAULT }: ListOptions) => ({
  limit,
  ...(cursor === undefined ? {} : { cursor })
})

const parsed = <A>(page: ListPage<string>): Page<A> => ({
  ...page,
  data: page.data.map((text) => JSON.parse(text) as A)
})

/** A value without the members that are `undefined`, as JSON would have it: an optional member that is not given. */
const withoutUndefined = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutUndefined)
  const isPlain =
    typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype
  if (!isPlain) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => [name, withoutUndefined(member)])
  )
}

/** The resources of an organization, as typed calls without HTTP. A refused call throws an `SvcError` and has changed nothing. */
export const makeOrganizationFace = (runFor: RunFor) => {
  const read = <A>(program: (organization: string) => Effect.Effect<unknown, DomainRefusal, Services>) =>
    runFor((organization) => program(organization.id)) as Promise<A>
  const write = <A>(
    program: (request: {
      readonly organization: Organization
      readonly idempotencyKey: string
      readonly body: JsonValue
    }) => Program<WriteResult<unknown>>,
    body: object,
    { idempotencyKey = crypto.randomUUID() }: WriteOptions = {}
  ): Promise<A> =>
    runFor((organization) =>
      Effect.map(
        program({ organization, idempotencyKey, body: withoutUndefined(body) as JsonValue }),
        ({ resource }) => resource as A
      )
    )

  return {
    mandates: {
      create: (mandate: CreateMandate, options?: WriteOptions) =>
        write<Mandate>(createMandate, mandate, options),
      get: (mandateId: string) => read<Mandate>((organization) => readMandate({ organization, mandateId })),
      list: ({
        state,
        subject_reference: subjectReference,
        ...page
      }: ListOptions & { readonly state?: MandateState; readonly subject_reference?: string } = {}) =>
        read<Page<Mandate>>((organization) =>
          listMandates({
            organization,
            ...pageOf(page),
            ...(state === undefined ? {} : { state }),
            ...(subjectReference === undefined ? {} : { subjectReference })
          })
        ),
      revoke: (mandateId: string, revocation: RevokeMandate, options?: WriteOptions) =>
        write<Mandate>((request) => revokeMandate({ ...request, mandateId }), revocation, options),
      periods: (
        mandateId: string,
        { from, limit = PERIODS_LIMIT_DEFAULT }: { readonly from?: string; readonly limit?: number } = {}
      ) => {
        const instant = from === undefined ? undefined : parseTimestamp(from)
        if (from !== undefined && instant === undefined)
          return Promise.reject(
            new SvcError({ code: "malformed_request", detail: "from must be an RFC 3339 time in UTC." })
          )
        return read<{ readonly data: ReadonlyArray<PeriodEntry> }>((organization) =>
          listPeriods({ organization, mandateId, limit, ...(instant === undefined ? {} : { from: instant }) })
        )
      },
      events: async (mandateId: string, page: ListOptions = {}) =>
        parsed<JournalEvent>(
          await read<ListPage<string>>((organization) =>
            listEvents({ organization, mandateId, ...pageOf(page) })
          )
        ),
      /** Opens an approval session: send the end user to its `approval_url`. */
      openApproval: (mandateId: string, session: CreateApprovalSession, options?: WriteOptions) =>
        write<ApprovalSession>(
          (request) => createApprovalSession({ ...request, mandateId }),
          session,
          options
        ),
      evidence: makeEvidenceCall(read)
    },
    authorizations: {
      /** Execute the action only if the result's `can_execute` is true. */
      propose: (mandateId: string, proposal: ProposeAuthorization, options?: WriteOptions) =>
        write<Authorization>((request) => proposeAuthorization({ ...request, mandateId }), proposal, options),
      get: (authorizationId: string) =>
        read<Authorization>((organization) => readAuthorization({ organization, authorizationId })),
      list: (
        mandateId: string,
        { state, ...page }: ListOptions & { readonly state?: AuthorizationState } = {}
      ) =>
        read<Page<Authorization>>((organization) =>
          listAuthorizations({
            organization,
            mandateId,
            ...pageOf(page),
            ...(state === undefined ? {} : { state })
          })
        ),
      commit: (authorizationId: string, report: CommitAuthorization, options?: WriteOptions) =>
        write<Authorization>(
          (request) => commitAuthorization({ ...request, authorizationId }),
          report,
          options
        ),
      cancel: (authorizationId: string, report: CancelAuthorization, options?: WriteOptions) =>
        write<Authorization>(
          (request) => cancelAuthorization({ ...request, authorizationId }),
          report,
          options
        ),
      reportRefund: (authorizationId: string, refund: ReportRefund, options?: WriteOptions) =>
        write<Authorization>((request) => reportRefund({ ...request, authorizationId }), refund, options)
    },
    passkeys: {
      list: (subjectReference: string, page: ListOptions = {}) =>
        read<Page<Passkey>>((organization) =>
          listPasskeys({ organization, subjectReference, ...pageOf(page) })
        ),
      retire: (subjectReference: string, passkeyId: string) =>
        read<void>((organization) => retirePasskey({ organization, subjectReference, passkeyId }))
    },
    webhooks: {
      create: (endpoint: CreateWebhookEndpoint, options?: WriteOptions) =>
        write<WebhookEndpoint>(createWebhookEndpoint, endpoint, options),
      list: (page: ListOptions = {}) =>
        read<Page<WebhookEndpoint>>((organization) =>
          listWebhookEndpoints({ organization, ...pageOf(page) })
        ),
      get: (endpointId: string) =>
        read<WebhookEndpoint>((organization) => readWebhookEndpoint({ organization, endpointId })),
      delete: async (endpointId: string, options?: WriteOptions): Promise<void> => {
        await write((request) => deleteWebhookEndpoint({ ...request, endpointId }), {}, options)
      },
      reactivate: (endpointId: string, options?: WriteOptions) =>
        write<WebhookEndpoint>(
          (request) => reactivateWebhookEndpoint({ ...request, endpointId }),
          {},
          options
        ),
      rotateSecret: (endpointId: string, options?: WriteOptions) =>
        write<WebhookEndpoint>((request) => rotateWebhookSecret({ ...request, endpointId }), {}, options),
      test: (endpointId: string, options?: WriteOptions) =>
        write<WebhookDelivery>((request) => testWebhookEndpoint({ ...request, endpointId }), {}, options),
      deliveries: (endpointId: string, page: ListOptions = {}) =>
        read<Page<WebhookDelivery>>((organization) =>
          listWebhookDeliveries({ organization, endpointId, ...pageOf(page) })
        ),
      redeliver: (endpointId: string, deliveryId: string, options?: WriteOptions) =>
        write<WebhookDelivery>(
          (request) => redeliverWebhook({ ...request, endpointId, deliveryId }),
          {},
          options
        )
    },
    events: makeEventFeed((query) =>
      read<ListPage<string>>((organization) => readEventFeed({ organization, ...query }))
    )
  }
}

/** The whole journal, signed; with `afterSeq`, the `seq` of the last event that you have, what followed. */
interface EvidenceCall {
  (mandateId: string, options?: { readonly afterSeq?: undefined }): Promise<EvidenceEnvelope>
  (mandateId: string, options: { readonly afterSeq: number }): Promise<EvidenceContinuation>
}

const makeEvidenceCall = (
  read: <A>(program: (organization: string) => Effect.Effect<unknown, DomainRefusal, Services>) => Promise<A>
): EvidenceCall => {
  const call = <A>(mandateId: string, { afterSeq }: { readonly afterSeq?: number | undefined } = {}) =>
    read<A>((organization) =>
      afterSeq === undefined
        ? readEvidence({ organization, mandateId })
        : readContinuation({ organization, mandateId, afterSeq })
    )
  return call
}

const makeEventFeed = (
  readPage: (query: { readonly limit: number; readonly after?: string }) => Promise<ListPage<string>>
) => {
  const list = async ({ after, limit = LIST_LIMIT_DEFAULT }: FeedOptions = {}): Promise<EventPage> => {
    const page = parsed<JournalEvent>(await readPage({ limit, ...(after === undefined ? {} : { after }) }))
    return page as EventPage
  }
  return {
    /** A page of the events of all mandates, in the order of the feed. */
    list,
    /** Every event there is after a cursor, in turn, with the cursor to go on from after it has been handled. */
    iterate: async function* ({ after, limit }: FeedOptions = {}): AsyncGenerator<EventPage> {
      for (let from = after; ; ) {
        const page = await list({
          ...(from === undefined ? {} : { after: from }),
          ...(limit === undefined ? {} : { limit })
        })
        if (page.data.length > 0) yield page
        if (!page.has_more) return
        from = page.next_cursor
      }
    }
  }
}

export type OrganizationFace = ReturnType<typeof makeOrganizationFace>
