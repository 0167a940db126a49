import type { WriteRequest } from "@svc/domain/engine/WriteRequest"
import type { Organization } from "@svc/domain/organization/Organization"
import type { DomainRefusal } from "@svc/domain/programs/RefusalProblem"
import { RouteRule } from "@svc/protocol/api/RouteRule"
import { isIdentifier } from "@svc/protocol/Identifier"
import { Context, Effect } from "effect"
import { type Headers, HttpServerResponse } from "effect/http"
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { CurrentRequest, type RequestFacts } from "../http/CurrentRequest.ts"
import { type HttpRoute, httpRoute, type RoutedRequest } from "../http/HttpRoute.ts"
import type { Refused } from "../http/ProblemResponse.ts"
import { refusing } from "../http/ProblemResponse.ts"
import type { PathParameters } from "../http/RouteTable.ts"
import { streamedResponse, unsharedResponse } from "../http/SharedResponse.ts"
import { type Answer, BodyBytes, BodyStream, JsonText } from "./Answer.ts"
import { type AdmittedRequest, apiGate, type GateServices, JSON_MEDIA_TYPE } from "./ApiGate.ts"

type EndpointsOf<Group> = HttpApiGroup.Endpoints<Group>
type EndpointAt<Group, Id extends string> = HttpApiEndpoint.WithIdentifier<EndpointsOf<Group>, Id>
type IdentifiersOf<Group> = HttpApiEndpoint.Identifier<EndpointsOf<Group>>

/** A request as its handler sees it: path and query decoded, caller authenticated, body parsed. */
export interface Call<Endpoint> {
  readonly params: HttpApiEndpoint.Params<Endpoint>["Type"]
  readonly query: HttpApiEndpoint.Query<Endpoint>["Type"]
  readonly headers: Headers.Headers
  /** The organization of the API key. Throws on a route without one. */
  readonly organization: Organization
  /** The request of a lifecycle write. */
  readonly write: WriteRequest
}

/** A handler for every endpoint of a group. */
export type GroupHandlers<Group> = {
  readonly [Id in IdentifiersOf<Group>]: (call: Call<EndpointAt<Group, Id>>) => Effect.Effect<
    Answer<HttpApiEndpoint.SuccessWithIdentifier<EndpointsOf<Group> & HttpApiEndpoint.Constraint, Id>>,
    DomainRefusal | Refused,
    // biome-ignore lint/suspicious/noExplicitAny: the required services are inferred from the handlers.
    any
  >
}

type ServicesOf<Handlers> = {
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  [Id in keyof Handlers]: Handlers[Id] extends (call: any) => Effect.Effect<any, any, infer R> ? R : never
}[keyof Handlers]

type AnyHandler = (call: Call<HttpApiEndpoint.Top>) => Effect.Effect<Answer<unknown>, DomainRefusal | Refused>

/**
 * The routes of a group of the API, each behind its gate. A write is not interrupted by a client that disconnects after its
 * body has been read.
 */
export const groupRoutes = <
  Group extends HttpApiGroup.Constraint,
  const Handlers extends GroupHandlers<Group>
>(
  group: Group,
  handlers: Handlers
): ReadonlyArray<HttpRoute<GateServices | ServicesOf<Handlers>>> =>
  endpointsOf(group).map((endpoint) => {
    const handler = (handlers as unknown as Readonly<Record<string, AnyHandler>>)[endpoint.identifier]!
    return httpRoute(
      endpoint.method as "GET" | "POST" | "PUT" | "DELETE",
      endpoint.path as `/${string}`,
      handleEndpoint(endpoint, handler)
    )
  })

const endpointsOf = (group: HttpApiGroup.Constraint): ReadonlyArray<HttpApiEndpoint.Top> =>
  Object.values((group as HttpApiGroup.Top).endpoints)

const handleEndpoint = (endpoint: HttpApiEndpoint.Top, handler: AnyHandler) => {
  const gate = apiGate(endpoint)
  const isWrite = Context.get(endpoint.annotations, RouteRule).body !== "none"
  const respond = responder(endpoint)
  return Effect.fnUntraced(function* ({ params, request }: RoutedRequest) {
    const facts = yield* CurrentRequest
    noteParams(facts, params)
    const admitted = yield* gate(request)
    const program = refusing(handler(new AdmittedCall({ params, request }, admitted)))
    const answer = yield* isWrite ? Effect.uninterruptible(program) : program
    noteResource(facts, answer.body)
    return respond(answer)
  })
}

/** An admitted request as a call. */
class AdmittedCall implements Call<HttpApiEndpoint.Top> {
  readonly params: PathParameters
  readonly headers: Headers.Headers
  readonly query: unknown
  readonly #admitted: AdmittedRequest
  constructor({ params, request }: RoutedRequest, admitted: AdmittedRequest) {
    this.params = params
    this.headers = request.headers
    this.query = admitted.query
    this.#admitted = admitted
  }
  get organization(): Organization {
    return callerOf(this.#admitted)
  }
  get write(): WriteRequest {
    const { body, idempotencyKey } = this.#admitted
    return { organization: this.organization, idempotencyKey, body }
  }
}

const callerOf = (admitted: AdmittedRequest): Organization => {
  if (admitted.organization === undefined) throw new Error("a route without an API key has no organization")
  return admitted.organization
}

/** Statuses of success other than 200 (part 1). */
const SUCCESS_STATUS: Readonly<Record<string, number>> = { POST: 201, DELETE: 204 }

const responder = (endpoint: HttpApiEndpoint.Top) => {
  const status = SUCCESS_STATUS[endpoint.method] ?? 200
  const contentType = Context.get(endpoint.annotations, RouteRule).mediaType ?? JSON_MEDIA_TYPE
  return (answer: Answer<unknown>): HttpServerResponse.HttpServerResponse => {
    const headers = answer.headers ?? {}
    if (answer.notModified === true) return HttpServerResponse.empty({ status: 304, headers })
    if (answer.body === undefined) return HttpServerResponse.empty({ status, headers })
    return responseOf(answer.body, { status, contentType, headers })
  }
}

const responseOf = (
  body: unknown,
  options: {
    readonly status: number
    readonly contentType: string
    readonly headers: Readonly<Record<string, string>>
  }
): HttpServerResponse.HttpServerResponse => {
  if (body instanceof BodyBytes) return unsharedResponse(body.bytes, options)
  if (body instanceof BodyStream) return streamedResponse(body.stream, options)
  return HttpServerResponse.text(body instanceof JsonText ? body.text : JSON.stringify(body), options)
}

/** Malformed identifiers are not logged, since a path may hold anything. */
const noteParams = (facts: RequestFacts, params: Readonly<Record<string, string | undefined>>): void => {
  const { authorization_id, mandate_id } = params
  if (mandate_id !== undefined && isIdentifier("mnd_", mandate_id)) facts.mandateId = mandate_id
  if (authorization_id !== undefined && isIdentifier("aut_", authorization_id)) {
    facts.authorizationId = authorization_id
  }
}

const noteResource = (facts: RequestFacts, body: unknown): void => {
  if (typeof body !== "object" || body === null) return
  if ("mandate_id" in body) facts.mandateId = String(body.mandate_id)
  if (!("id" in body) || typeof body.id !== "string") return
  if (isIdentifier("mnd_", body.id)) facts.mandateId = body.id
  if (isIdentifier("aut_", body.id)) facts.authorizationId = body.id
}
