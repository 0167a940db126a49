import { organizationOnRecord } from "@svc/domain/engine/OrganizationRecord"
import type { ApiKeyScope, Organization } from "@svc/domain/organization/Organization"
import type { Deployment } from "@svc/domain/ports/Deployment"
import type { Organizations } from "@svc/domain/ports/Organizations"
import { authenticateApiKey } from "@svc/domain/programs/AuthenticateApiKey"
import { RouteRule } from "@svc/protocol/api/RouteRule"
import { isIdempotencyKey } from "@svc/protocol/request/IdempotencyKey"
import { EMPTY_BODY, type RequestBody } from "@svc/protocol/request/RequestBody"
import { Clock, Context, Effect, Redacted, Result } from "effect"
import type { Headers, HttpServerRequest } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { FailedCredentials } from "../gate/FailedCredentials.ts"
import { RateLimit } from "../gate/RateLimit.ts"
import { parseEmptyBody, readCheckedBody, requireAcceptable } from "../gate/RequestSteps.ts"
import { parseBody } from "../gate/StrictBody.ts"
import { CurrentRequest } from "../http/CurrentRequest.ts"
import { Refused, refusing } from "../http/ProblemResponse.ts"
import { CallerAuthentication, type HostCaller } from "./CallerAuthentication.ts"
import { queryDecoder } from "./QueryParameters.ts"

/** A request that has passed the gate of its route. */
export interface AdmittedRequest {
  /** Absent on a route without an API key. */
  readonly organization: Organization | undefined
  /** The decoded query. */
  readonly query: unknown
  /** Empty where the route takes no key, or an optional one was left out. */
  readonly idempotencyKey: string
  /** `{}` where the route's body has no members. */
  readonly body: RequestBody
}

/** The services that the gate requires. */
export type GateServices = Deployment | Organizations | RateLimit | FailedCredentials

/**
 * The gate of one route: credentials and scope, rate, query, `Accept`, media type and encoding, size, form of the
 * idempotency key, JSON, in this order (part 2). The edge checks before it, the handler after it.
 */
export const apiGate = (
  endpoint: HttpApiEndpoint.Top
): ((
  request: HttpServerRequest.HttpServerRequest
) => Effect.Effect<AdmittedRequest, Refused, GateServices>) => {
  const rule = Context.get(endpoint.annotations, RouteRule)
  const mediaType = rule.mediaType ?? JSON_MEDIA_TYPE
  const decodeQuery = queryDecoder(endpoint.query)
  return Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    const { headers } = request
    const caller = rule.scope === undefined ? undefined : yield* authenticate(request, rule.scope)
    if (caller !== undefined) yield* takeRate(caller.rateKey)
    const authenticatedAt = yield* Clock.currentTimeMillis
    const query = yield* Effect.fromResult(decodeQuery(request.url))
    yield* requireAcceptable(request, mediaType)
    const bytes =
      rule.body === "none" ? undefined : yield* readCheckedBody(request, MEDIA_TYPE_CHECK[rule.body])
    const idempotencyKey = yield* Effect.fromResult(idempotencyKeyOf(headers["idempotency-key"], rule))
    const body = yield* Effect.fromResult(parseBodyOf(bytes, rule))
    const elapsed = (yield* Clock.currentTimeMillis) - authenticatedAt
    // A body may take 30 s to arrive, and the key may have been revoked meanwhile.
    const current =
      rule.scope !== undefined && elapsed > AUTHENTICATION_LIFETIME_MS
        ? yield* authenticate(request, rule.scope)
        : caller
    return { organization: current?.organization, query, idempotencyKey, body }
  })
}

/** Media type of a response unless the route names another. */
export const JSON_MEDIA_TYPE = "application/json"

const MEDIA_TYPE_CHECK = { empty: "with-body", members: "if-named" } as const

const BEARER = /^Bearer +(\S+)$/iu

/** Longest API key that is looked up, in characters; valid ones have 52 or 53. */
const MAX_API_KEY_CHARACTERS = 128

/**
 * How long an authentication holds while the body arrives, in milliseconds. It may rest on a look-up that was remembered for
 * `API_KEY_CACHE_SECONDS`, and a revocation acts within 5 s (part 9).
 */
const AUTHENTICATION_LIFETIME_MS = 1000

/** Whom a request acts for. */
interface Caller {
  readonly organization: Organization
  readonly scopes: ReadonlyArray<ApiKeyScope>
  /** What its rate is counted by. */
  readonly rateKey: string
  /** Absent where a host has authenticated the request. */
  readonly apiKeyId?: string
}

const authenticate = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  scope: ApiKeyScope
): Effect.fn.Return<Caller, Refused, Deployment | Organizations | FailedCredentials> {
  const byHost = yield* CallerAuthentication
  const caller = yield* byHost === undefined
    ? authenticateByKey(request.headers)
    : Effect.flatMap(refusing(byHost(request)), callerOfHost)
  const facts = yield* CurrentRequest
  facts.organizationId = caller.organization.id
  if (caller.apiKeyId !== undefined) facts.apiKeyId = caller.apiKeyId
  if (!caller.scopes.includes(scope)) {
    return yield* new Refused({
      code: "scope_insufficient",
      detail: `This operation needs ${byHost === undefined ? "an API key with " : ""}the scope ${scope}.`
    })
  }
  return caller
})

const authenticateByKey = ({
  authorization
}: Headers.Headers): Effect.Effect<Caller, Refused, Deployment | Organizations | FailedCredentials> => {
  const key = BEARER.exec(authorization ?? "")?.[1]
  const found = Effect.flatMap(FailedCredentials, ({ lookUp }) => lookUp(key, findHolder(key), isInvalidKey))
  return Effect.map(found, ({ apiKey, organization }) => ({
    organization,
    scopes: apiKey.scopes,
    rateKey: apiKey.id,
    apiKeyId: apiKey.id
  }))
}

const callerOfHost = Effect.fnUntraced(function* (
  caller: HostCaller | undefined
): Effect.fn.Return<Caller, Refused, Deployment | Organizations> {
  if (caller === undefined) return yield* new Refused({ code: "authentication_required" })
  const found = Effect.catchTag(organizationOnRecord(caller.organization), "OrganizationUnknown", () =>
    Effect.die(new Error("the host authenticated a request for an organization that does not exist"))
  )
  const organization = yield* refusing(found)
  return { organization, scopes: caller.scopes, rateKey: organization.id }
})

const findHolder = (key: string | undefined) => {
  if (key === undefined) return Effect.fail(new Refused({ code: "authentication_required" }))
  if (key.length > MAX_API_KEY_CHARACTERS) return Effect.fail(new Refused({ code: "api_key_invalid" }))
  return refusing(authenticateApiKey(Redacted.make(key, { label: "api_key" })))
}

const isInvalidKey = ({ code }: Refused): boolean =>
  code === "authentication_required" || code === "api_key_invalid"

const takeRate = Effect.fnUntraced(function* (apiKeyId: string): Effect.fn.Return<void, Refused, RateLimit> {
  const limit = yield* RateLimit
  const { allowed, headers } = yield* limit.take(apiKeyId)
  if (!allowed) return yield* new Refused({ code: "rate_limited", headers })
  const facts = yield* CurrentRequest
  facts.rateLimit = headers
})

const idempotencyKeyOf = (sent: string | undefined, rule: RouteRule): Result.Result<string, Refused> => {
  if (rule.idempotencyKey === "none") return Result.succeed("")
  if (sent === undefined) {
    return rule.idempotencyKey === "optional"
      ? Result.succeed("")
      : Result.fail(new Refused({ code: "idempotency_key_required" }))
  }
  return isIdempotencyKey(sent)
    ? Result.succeed(sent)
    : Result.fail(new Refused({ code: "idempotency_key_invalid" }))
}

const parseBodyOf = (bytes: Uint8Array | undefined, rule: RouteRule): Result.Result<RequestBody, Refused> => {
  if (bytes === undefined) return Result.succeed(EMPTY_BODY)
  return rule.body === "members" ? parseBody(bytes) : parseEmptyBody(bytes)
}
