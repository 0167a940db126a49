import {
  type Authorization,
  AuthorizationStateName,
  CommitBody,
  CreateAuthorizationBody,
  RefundBody
} from "@svc/protocol/Authorization"
import type { JsonValue } from "@svc/protocol/json/Json"
import type { MemberFault } from "@svc/protocol/Problem"
import { decodeBody } from "@svc/protocol/request/DecodeBody"
import { KEYED_ROUTES } from "@svc/protocol/request/KeyedRoute"
import type { ListPage } from "@svc/protocol/request/ListPage"
import { Effect, type Result, Schema } from "effect"
import { listPageOf, numberCursor } from "../engine/Cursor.ts"
import { inSpan } from "../engine/InSpan.ts"
import { listReader, pageLimit, pathReader, type QueryRefusal } from "../engine/ProgramQuery.ts"
import { namedStream, readStream } from "../engine/ReadStream.ts"
import { settledList } from "../engine/SettledList.ts"
import type { SettledStream } from "../engine/StreamCommand.ts"
import {
  admitWrite,
  LIFECYCLE_WRITE,
  type WriteRefusal,
  type WriteRequest,
  type WriteResult
} from "../engine/WriteRequest.ts"
import { type StreamWriteResult, writeStream } from "../engine/WriteStream.ts"
import { identifierAt } from "../Identifiers.ts"
import { authorizationResourceOf } from "../mandate/AuthorizationResource.ts"
import { readCancellation } from "../mandate/CancellationRequest.ts"
import type { Command, Refusal } from "../mandate/Decide.ts"
import type { Deployment } from "../ports/Deployment.ts"
import { MandateStore, type StoreUnavailable } from "../ports/MandateStore.ts"
import type { Randomness } from "../ports/Randomness.ts"
import {
  type CommitmentReused,
  type IdempotencyKeyReused,
  type InvalidCursor,
  NotFound,
  type OrganizationUnknown
} from "../Refusals.ts"
import { readMandateStream } from "./Mandates.ts"

type WriteFailure = WriteRefusal | IdempotencyKeyReused | CommitmentReused | Refusal | StoreUnavailable

const decodePropose = decodeBody(CreateAuthorizationBody)
const decodeCommit = decodeBody(CommitBody)
const decodeRefund = decodeBody(RefundBody)

const shown = ({ now, state }: SettledStream, id: string): Effect.Effect<Authorization, NotFound> => {
  const authorization = state.authorizations.get(id)
  return authorization === undefined
    ? Effect.fail(new NotFound())
    : Effect.succeed(authorizationResourceOf(authorization, state.mandate, now))
}

const shownWritten = Effect.fnUntraced(function* ({
  stream,
  resource,
  replayed
}: StreamWriteResult): Effect.fn.Return<WriteResult<Authorization>, NotFound> {
  return { resource: yield* shown(stream, resource), replayed }
})

/** Proposes an action and gets a decision (part 5, POST /v1/mandates/{mandate_id}/authorizations). */
export const proposeAuthorization = Effect.fnUntraced(function* (
  request: WriteRequest & { readonly mandateId: string }
): Effect.fn.Return<WriteResult<Authorization>, WriteFailure, MandateStore | Randomness | Deployment> {
  const admitted = yield* admitWrite(request, LIFECYCLE_WRITE, ["mandateId"])
  const { mandateId } = admitted.path
  const written = yield* writeStream(admitted, {
    operation: { operation: KEYED_ROUTES.createAuthorization, path: { mandate_id: mandateId } },
    stream: { mandate: mandateId },
    decode: decodePropose,
    command: (body, now, randomness) => ({
      _tag: "Propose",
      authorizationId: identifierAt("aut_", now, randomness),
      body,
      reportGraceSeconds: admitted.organization.reportGraceSeconds
    }),
    resource: authorizationIdOf,
    commitment: (body) => body.commitment
  })
  return yield* shownWritten(written)
}, inSpan("proposeAuthorization"))

const authorizationIdOf = (command: Command): string =>
  "authorizationId" in command ? command.authorizationId : ""

const readAuthorizationPath = pathReader("authorizationId")

/** Reads an authorization (part 5, GET /v1/authorizations/{authorization_id}). */
export const readAuthorization = Effect.fnUntraced(function* (query: {
  readonly organization: string
  readonly authorizationId: string
}): Effect.fn.Return<
  Authorization,
  OrganizationUnknown | NotFound | StoreUnavailable,
  MandateStore | Randomness
> {
  const { authorizationId, organization } = yield* readAuthorizationPath(query)
  const stream = namedStream({ authorization: authorizationId })
  if (stream === undefined) return yield* new NotFound()
  const settled = yield* readStream({ organization, stream })
  return yield* shown(settled, authorizationId)
}, inSpan("readAuthorization"))

const readListQuery = listReader(
  { limit: pageLimit, state: Schema.optionalKey(AuthorizationStateName) },
  "mandateId"
)

/** Authorizations of a mandate, newest first (part 5, GET /v1/mandates/{mandate_id}/authorizations). */
export const listAuthorizations = Effect.fnUntraced(function* (query: {
  readonly organization: string
  readonly mandateId: string
  readonly state?: AuthorizationStateName
  readonly cursor?: string
  readonly limit: number
}): Effect.fn.Return<
  ListPage<Authorization>,
  QueryRefusal | InvalidCursor | NotFound | StoreUnavailable,
  MandateStore | Randomness
> {
  const { cursor, limit, mandateId, organization, state } = yield* readListQuery(query)
  const store = yield* MandateStore
  const scope = { list: "authorizations", organization, mandate_id: mandateId, state: state ?? "" }
  const afterOrder = yield* numberCursor(scope, cursor)
  if (namedStream({ mandate: mandateId }) === undefined) return yield* new NotFound()
  const list = yield* settledList({
    read: Effect.gen(function* () {
      const read = yield* store.listAuthorizations({
        organization,
        mandate: mandateId,
        ...(state === undefined ? {} : { state }),
        ...(afterOrder === undefined ? {} : { afterOrder }),
        limit
      })
      return read ?? (yield* new NotFound())
    }),
    isDue: (read) => read.due,
    settle: () => Effect.asVoid(readMandateStream({ organization, mandateId }))
  })
  return listPageOf(
    scope,
    list.authorizations,
    limit,
    (authorization) => authorization.order,
    (authorization) => authorizationResourceOf(authorization, list.mandate, list.now)
  )
}, inSpan("listAuthorizations"))

type AuthorizationWrite = WriteRequest & { readonly authorizationId: string }

const writeAuthorization = Effect.fnUntraced(function* <Body>(
  request: AuthorizationWrite,
  write: {
    readonly operation: string
    readonly decode: (body: JsonValue) => Result.Result<Body, ReadonlyArray<MemberFault>>
    readonly command: (body: Body, authorizationId: string) => Command
  }
): Effect.fn.Return<WriteResult<Authorization>, WriteFailure, MandateStore | Randomness | Deployment> {
  const admitted = yield* admitWrite(request, LIFECYCLE_WRITE, ["authorizationId"])
  const { authorizationId } = admitted.path
  const written = yield* writeStream(admitted, {
    operation: { operation: write.operation, path: { authorization_id: authorizationId } },
    stream: { authorization: authorizationId },
    decode: write.decode,
    command: (body) => write.command(body, authorizationId),
    resource: () => authorizationId
  })
  return yield* shownWritten(written)
})

/** Reports that the executor accepted the action (part 5, PUT /v1/authorizations/{authorization_id}/commit). */
export const commitAuthorization = (request: AuthorizationWrite) =>
  writeAuthorization(request, {
    operation: KEYED_ROUTES.commitAuthorization,
    decode: decodeCommit,
    command: (body, authorizationId) => ({ _tag: "Commit", authorizationId, body })
  }).pipe(inSpan("commitAuthorization"))

/** Reports that the action can no longer occur (part 5, PUT /v1/authorizations/{authorization_id}/cancellation). */
export const cancelAuthorization = (request: AuthorizationWrite) =>
  writeAuthorization(request, {
    operation: KEYED_ROUTES.cancelAuthorization,
    decode: readCancellation,
    command: (body, authorizationId) => ({ _tag: "Cancel", authorizationId, body })
  }).pipe(inSpan("cancelAuthorization"))

/** Reports a refund after a commit; nothing else changes (part 5, POST /v1/authorizations/{authorization_id}/refunds). */
export const reportRefund = (request: AuthorizationWrite) =>
  writeAuthorization(request, {
    operation: KEYED_ROUTES.reportRefund,
    decode: decodeRefund,
    command: (body, authorizationId) => ({ _tag: "ReportRefund", authorizationId, body })
  }).pipe(inSpan("reportRefund"))
