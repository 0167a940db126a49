import { SvcError } from "@svc/client"
import {
  type Calls,
  type ExecutingCalls,
  makeListing,
  type ProposalOptions,
  type RequestOptions,
  type WriteOptions,
  withCommitment
} from "@svc/client/calls"
import type {
  ApprovalSession,
  Authorization,
  BudgetPeriod,
  FeedEvent,
  FeedPage,
  JournalEvent,
  Mandate,
  Page,
  Passkey,
  ProposalInput,
  WebhookDelivery,
  WebhookEndpoint
} from "@svc/client/resources"
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
import type { DomainRefusal } from "@svc/domain/programs/RefusalProblem"
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
import { ValidationFailed } from "@svc/domain/Refusals"
import { PERIODS_LIMIT_DEFAULT } from "@svc/protocol/api/RequestParts"
import type { JsonValue } from "@svc/protocol/json/Json"
import { parseJson } from "@svc/protocol/json/ParseJson"
import { LIST_LIMIT_DEFAULT, type ListPage } from "@svc/protocol/request/ListPage"
import { parseTimestamp } from "@svc/protocol/Timestamp"
import { Effect } from "effect"
import type { Caller } from "./CallBounds.ts"
import { givenWords } from "./OptionFaults.ts"
import type { Services } from "./ServiceRuntime.ts"
import { svcErrorOf } from "./SvcError.ts"
import { isThenable } from "./Thenable.ts"

/**
 * The resources of an organization as typed calls without HTTP, the same as those of the client: code that takes a `Calls`
 * runs against either. A refused call rejects with an `SvcError` and has changed nothing.
 */
export type OrganizationFace = ExecutingCalls

interface PageOptions {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** Members without those that are `undefined`. */
const given = <Members extends object>(
  members: Members
): { [Name in keyof Members]?: Exclude<Members[Name], undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never

const pageOf = ({ cursor, limit = LIST_LIMIT_DEFAULT }: PageOptions) => ({ limit, ...given({ cursor }) })

const parsed = <A>(page: ListPage<string>): Page<A> => ({
  ...page,
  data: page.data.map((text) => parseJson(text) as A)
})

/** Levels of a body that are copied: more than any body may have. What is deeper is refused, as what refers to itself is. */
const MAX_COPIED_LEVELS = 64

/** A copy without the members that are `undefined`, as JSON would have it: an optional member that is not given. */
const withoutUndefined = (value: unknown, levels = MAX_COPIED_LEVELS): unknown => {
  if (levels === 0) return value
  if (Array.isArray(value)) return value.map((item) => withoutUndefined(item, levels - 1))
  const isPlain =
    typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype
  if (!isPlain) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => [name, withoutUndefined(member, levels - 1)])
  )
}

/** The copy; or the value itself where it cannot be read, which is refused as such. */
const copyOf = (value: unknown): unknown => {
  try {
    return withoutUndefined(value)
  } catch {
    return value
  }
}

type ReadProgram = (organization: string) => Effect.Effect<unknown, DomainRefusal, Services>

interface WriteRequest {
  readonly organization: Organization
  readonly idempotencyKey: string
  readonly body: JsonValue
}

type WriteProgram = (request: WriteRequest) => Effect.Effect<WriteResult<unknown>, DomainRefusal, Services>

/** The ways in which calls run programs. What a program answers is a resource as it is in JSON. */
const makeWays = (call: Caller) => {
  const read = <A>(program: ReadProgram, options?: RequestOptions) =>
    call((organization) => program(organization.id), options) as Promise<A>
  return {
    read,
    write: async <A>(program: WriteProgram, input: object, options: WriteOptions = {}): Promise<A> => {
      const { idempotencyKey = crypto.randomUUID() } = options
      // As it is now, whatever happens to it while the call is under way.
      const body = copyOf(input) as JsonValue
      return call(
        (organization) =>
          Effect.map(program({ organization, idempotencyKey, body }), ({ resource }) => resource as A),
        options,
        idempotencyKey
      )
    }
  }
}

type Ways = ReturnType<typeof makeWays>

/** The cursor of a page: the one of the page before, at first the query's. */
const at = <Query extends PageOptions>(query: Query, cursor: string | undefined): Query =>
  cursor === undefined ? query : { ...query, cursor }

/** The faults of a query, at the member that the caller gave: its program has another name for it. */
const namedAsGiven = <Refusal extends DomainRefusal>(refusal: Refusal): Refusal | ValidationFailed =>
  refusal instanceof ValidationFailed
    ? new ValidationFailed({
        errors: refusal.errors.map((fault) => ({
          ...fault,
          pointer: fault.pointer.replace(/^\/subjectReference$/u, "/subject_reference")
        }))
      })
    : refusal

const mandateCalls = ({ read, write }: Ways): Calls["mandates"] => ({
  create: (input, options) => write(createMandate, input, options),
  get: (mandateId, options) =>
    read<Mandate>((organization) => readMandate({ organization, mandateId }), options),
  list: (query = {}, options) =>
    makeListing((cursor) => {
      const { state, subject_reference: subjectReference, ...page } = at(query, cursor)
      return read<Page<Mandate>>(
        (organization) =>
          Effect.mapError(
            listMandates({ organization, ...pageOf(page), ...given({ state, subjectReference }) }),
            namedAsGiven
          ),
        options
      )
    }),
  revoke: (mandateId, input, options) =>
    write((request) => revokeMandate({ ...request, mandateId }), input, options),
  periods: async (mandateId, { from, limit = PERIODS_LIMIT_DEFAULT } = {}, options) => {
    const instant = from === undefined ? undefined : parseTimestamp(from)
    if (from !== undefined && instant === undefined)
      throw svcErrorOf({ code: "malformed_request", detail: "from must be an RFC 3339 time in UTC." })
    return read<{ readonly data: ReadonlyArray<BudgetPeriod> }>(
      (organization) => listPeriods({ organization, mandateId, limit, ...given({ from: instant }) }),
      options
    )
  },
  events: (mandateId, query = {}, options) =>
    makeListing(async (cursor) =>
      parsed<JournalEvent>(
        await read<ListPage<string>>(
          (organization) => listEvents({ organization, mandateId, ...pageOf(at(query, cursor)) }),
          options
        )
      )
    ),
  openApproval: (mandateId, input, options) =>
    write<ApprovalSession>((request) => createApprovalSession({ ...request, mandateId }), input, options),
  evidence: <E>(
    mandateId: string,
    { afterSeq, ...options }: RequestOptions & { readonly afterSeq?: number | undefined } = {}
  ) =>
    read<E>(
      (organization) =>
        afterSeq === undefined
          ? readEvidence({ organization, mandateId })
          : readContinuation({ organization, mandateId, afterSeq }),
      options
    )
})

const authorizationCalls = ({ read, write }: Ways): Calls["authorizations"] => ({
  propose: async (
    mandateId: string,
    input: Omit<ProposalInput, "commitment">,
    options: WriteOptions & Partial<ProposalOptions> = {}
  ): Promise<Authorization> => {
    const [body, writeOptions] =
      options.storeOpening === undefined ? [input, options] : await withCommitment(input, options)
    return write((request) => proposeAuthorization({ ...request, mandateId }), body, writeOptions)
  },
  get: (authorizationId, options) =>
    read<Authorization>((organization) => readAuthorization({ organization, authorizationId }), options),
  list: (mandateId, query = {}, options) =>
    makeListing((cursor) => {
      const { state, ...page } = at(query, cursor)
      return read<Page<Authorization>>(
        (organization) =>
          listAuthorizations({ organization, mandateId, ...pageOf(page), ...given({ state }) }),
        options
      )
    }),
  commit: (authorizationId, input, options) =>
    write((request) => commitAuthorization({ ...request, authorizationId }), input, options),
  cancel: (authorizationId, input, options) =>
    write((request) => cancelAuthorization({ ...request, authorizationId }), input, options),
  reportRefund: (authorizationId, input, options) =>
    write((request) => reportRefund({ ...request, authorizationId }), input, options)
})

const passkeyCalls = ({ read }: Ways): Calls["passkeys"] => ({
  list: (subjectReference, query = {}, options) =>
    makeListing((cursor) =>
      read<Page<Passkey>>(
        (organization) => listPasskeys({ organization, subjectReference, ...pageOf(at(query, cursor)) }),
        options
      )
    ),
  retire: (subjectReference, passkeyId, options) =>
    read<void>((organization) => retirePasskey({ organization, subjectReference, passkeyId }), options)
})

const webhookCalls = ({ read, write }: Ways): Calls["webhooks"] => ({
  create: (input, options) => write(createWebhookEndpoint, input, options),
  get: (endpointId, options) =>
    read<WebhookEndpoint>((organization) => readWebhookEndpoint({ organization, endpointId }), options),
  list: (query = {}, options) =>
    makeListing((cursor) =>
      read<Page<WebhookEndpoint>>(
        (organization) => listWebhookEndpoints({ organization, ...pageOf(at(query, cursor)) }),
        options
      )
    ),
  delete: async (endpointId, options) => {
    await write((request) => deleteWebhookEndpoint({ ...request, endpointId }), {}, options)
  },
  reactivate: (endpointId, options) =>
    write((request) => reactivateWebhookEndpoint({ ...request, endpointId }), {}, options),
  rotateSecret: (endpointId, options) =>
    write((request) => rotateWebhookSecret({ ...request, endpointId }), {}, options),
  test: (endpointId, options) =>
    write((request) => testWebhookEndpoint({ ...request, endpointId }), {}, options),
  deliveries: (endpointId, query = {}, options) =>
    makeListing((cursor) =>
      read<Page<WebhookDelivery>>(
        (organization) => listWebhookDeliveries({ organization, endpointId, ...pageOf(at(query, cursor)) }),
        options
      )
    ),
  redeliver: (endpointId, deliveryId, options) =>
    write((request) => redeliverWebhook({ ...request, endpointId, deliveryId }), {}, options)
})

const eventCalls = ({ read }: Ways): Calls["events"] => ({
  list: ({ after, limit = LIST_LIMIT_DEFAULT } = {}, options) =>
    makeListing<FeedEvent, FeedPage>(async (cursor) => {
      const page = await read<ListPage<string>>(
        (organization) => readEventFeed({ organization, limit, ...given({ after: cursor ?? after }) }),
        options
      )
      return parsed<FeedEvent>(page) as FeedPage
    })
})

/** Calls whose first argument is no identifier. */
const WITHOUT_IDENTIFIER: ReadonlySet<string> = new Set([
  "mandates.create",
  "mandates.list",
  "webhooks.create",
  "webhooks.list",
  "events.list"
])

/** What is wrong with the arguments of a call, if it can be seen from outside. */
const argumentFault = (call: string, given: ReadonlyArray<unknown>): SvcError | undefined => {
  const refused = (words: string) => new SvcError({ code: "invalid_argument", message: `${call} ${words}` })
  if (given.some(isThenable)) return refused("was given a promise: await it")
  if (WITHOUT_IDENTIFIER.has(call) || typeof given[0] === "string") return undefined
  return refused(`takes an identifier as its first argument, and was given ${givenWords(given[0])}`)
}

/** The same calls. They reject what cannot be meant, as after a forgotten `await`: a promise, or no identifier. */
const refusingMistakes = <Group extends object>(of: string, group: Group): Group => {
  const guarded = Object.entries(group).map(([name, call]) => [
    name,
    (...given: ReadonlyArray<unknown>) => {
      const fault = argumentFault(`${of}.${name}`, given)
      if (fault === undefined) return call(...given)
      return makeListing(async () => {
        throw fault
      })
    }
  ])
  return Object.fromEntries(guarded) as Group
}

/** Typed calls by what runs their programs. */
export const makeCalls = (call: Caller): Calls => {
  const ways = makeWays(call)
  return {
    mandates: refusingMistakes("mandates", mandateCalls(ways)),
    authorizations: refusingMistakes("authorizations", authorizationCalls(ways)),
    passkeys: refusingMistakes("passkeys", passkeyCalls(ways)),
    webhooks: refusingMistakes("webhooks", webhookCalls(ways)),
    events: refusingMistakes("events", eventCalls(ways))
  }
}
