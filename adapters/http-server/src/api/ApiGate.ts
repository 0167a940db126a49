import type { ApiKey, Organization } from "@svc/domain/organization/Organization"
import type { Deployment } from "@svc/domain/ports/Deployment"
import type { Organizations } from "@svc/domain/ports/Organizations"
import { authenticateApiKey } from "@svc/domain/programs/AuthenticateApiKey"
import { RouteRule } from "@svc/protocol/api/RouteRule"
import { emptyBodyFaults } from "@svc/protocol/DecodeBody"
import type { JsonValue } from "@svc/protocol/Json"
import { LIST_LIMIT_MAX } from "@svc/protocol/ListPage"
import { Clock, Context, Effect, Redacted, Result, Schema, SchemaIssue } from "effect"
import { type Headers, HttpServerRequest } from "effect/http"
import type { HttpApiEndpoint } from "effect/http-api"
import { CurrentRequest } from "../http/CurrentRequest.ts"
import { FailedCredentials } from "../http/FailedCredentials.ts"
import { Refused } from "../http/ProblemResponse.ts"
import { checkMediaType, hasBody, parseBody, readBody } from "../http/StrictBody.ts"
import { accepts } from "./Acceptance.ts"
import { parseQuery } from "./QueryString.ts"
import { RateLimit } from "./RateLimit.ts"
import { refusing } from "./RefusalProblem.ts"

/** A request that passed the gate of its route. */
export interface Admitted {
  /** Absent on a route without an API key. */
  readonly organization: Organization | undefined
  /** The decoded query. */
  readonly query: unknown
  /** Empty where the route takes none. */
  readonly idempotencyKey: string
  /** `{}` where the route's body has no members. */
  readonly body: JsonValue
}

/** What the gate needs. */
export type GateServices = Deployment | Organizations | RateLimit | FailedCredentials

/**
 * The gate of one route: credentials and scope, rate, query, accept, media type and encoding, size, key
 * form, JSON, in this order (part 2). What comes before is the edge's, what comes after the program's.
 */
export const apiGate = (
  endpoint: HttpApiEndpoint.Top
): Effect.Effect<Admitted, Refused, GateServices | HttpServerRequest.HttpServerRequest> => {
  const rule = Context.get(endpoint.annotations, RouteRule)
  const mediaType = rule.mediaType ?? JSON_MEDIA_TYPE
  const readQuery = queryReader(endpoint.query)
  return Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const { headers } = request
    const caller = rule.scope === undefined ? undefined : yield* authenticated(headers, rule.scope)
    if (caller !== undefined) yield* takeRate(caller.apiKey.id)
    const admittedAt = yield* Clock.currentTimeMillis
    const query = yield* Effect.fromResult(readQuery(request.url))
    if (!accepts(headers.accept, mediaType)) return yield* new Refused({ code: "not_acceptable" })
    const bytes = yield* bodyOf(request, rule)
    const idempotencyKey = yield* Effect.fromResult(keyOf(headers["idempotency-key"], rule))
    const body = yield* Effect.fromResult(jsonOf(bytes, rule))
    const waited = (yield* Clock.currentTimeMillis) - admittedAt
    // A body may take 30 s to come, and a revocation must act within 5: a key is looked at again before it is used late.
    const current =
      rule.scope !== undefined && waited > ADMISSION_LIFETIME_MS
        ? yield* authenticated(headers, rule.scope)
        : caller
    return { organization: current?.organization, query, idempotencyKey, body }
  })
}

/** Media type of an answer unless the route names another. */
export const JSON_MEDIA_TYPE = "application/json"

const BEARER = /^Bearer +(\S+)$/iu

/** Longest API key that is looked at, in characters; ours have 52 or 53. */
const MAX_API_KEY_CHARACTERS = 128

/** How long a key that was looked up counts as looked up, in milliseconds. */
const ADMISSION_LIFETIME_MS = 1000

const authenticated = Effect.fnUntraced(function* (
  headers: Headers.Headers,
  scope: NonNullable<RouteRule["scope"]>
): Effect.fn.Return<
  { readonly apiKey: ApiKey; readonly organization: Organization },
  Refused,
  Deployment | Organizations | FailedCredentials
> {
  const failures = yield* FailedCredentials
  const key = BEARER.exec(headers.authorization ?? "")?.[1]
  const { apiKey, organization } = yield* failures.lookUp(key, holderOf(key), isWrongKey)
  const facts = yield* CurrentRequest
  facts.organizationId = organization.id
  facts.apiKeyId = apiKey.id
  if (!apiKey.scopes.includes(scope)) {
    return yield* new Refused({
      code: "scope_insufficient",
      detail: `This operation needs an API key with the scope ${scope}.`
    })
  }
  return { apiKey, organization }
})

const holderOf = Effect.fnUntraced(function* (key: string | undefined) {
  if (key === undefined) return yield* new Refused({ code: "authentication_required" })
  if (key.length > MAX_API_KEY_CHARACTERS) return yield* new Refused({ code: "api_key_invalid" })
  return yield* refusing(authenticateApiKey(Redacted.make(key, { label: "api_key" })))
})

const isWrongKey = ({ code }: Refused): boolean =>
  code === "authentication_required" || code === "api_key_invalid"

const takeRate = Effect.fnUntraced(function* (apiKeyId: string): Effect.fn.Return<void, Refused, RateLimit> {
  const limit = yield* RateLimit
  const { allowed, headers } = yield* limit.take(apiKeyId)
  if (!allowed) return yield* new Refused({ code: "rate_limited", headers })
  const facts = yield* CurrentRequest
  facts.rateLimit = headers
})

const malformedQuery = (detail: string) => Result.fail(new Refused({ code: "malformed_request", detail }))

/** Numbers of a query are written in digits alone. */
const LIMIT = /^\d{1,3}$/u

const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1()

/** Names of the parameters; the query of an endpoint is a struct. */
const parametersOf = (schema: Schema.Top): ReadonlyArray<string> =>
  schema.ast._tag === "Objects" ? schema.ast.propertySignatures.map(({ name }) => String(name)) : []

/** Names what may be sent, never what was. */
const foreignParameterOf = (names: ReadonlyArray<string>): string =>
  names.length === 0
    ? "This route takes no query."
    : `The query has a parameter that this route does not take; it takes ${names.join(", ")}.`

const queryReader = (schema: Schema.Top | undefined): ((url: string) => Result.Result<unknown, Refused>) => {
  const decode =
    schema === undefined ? Result.succeed : Schema.decodeUnknownResult(schema as Schema.Codec<unknown>)
  const names = new Set(schema === undefined ? [] : parametersOf(schema))
  const foreignParameter = foreignParameterOf([...names])
  return (url) => {
    const query = parseQuery(url)
    if (query === undefined) return malformedQuery("The query is malformed or repeats a parameter.")
    if (Object.keys(query).some((name) => !names.has(name))) {
      return malformedQuery(foreignParameter)
    }
    if (query.limit !== undefined && !LIMIT.test(query.limit)) {
      return outOfBounds("limit", `must be a whole number of 1 to ${LIST_LIMIT_MAX}`)
    }
    const decoded = decode({ ...query })
    if (Result.isSuccess(decoded)) return Result.succeed(decoded.success)
    const [issue] = formatIssues(decoded.failure.issue).issues
    return outOfBounds(String(issue?.path?.[0]), issue?.message)
  }
}

const outOfBounds = (name: string, rule = "is not valid") => malformedQuery(`The parameter ${name}: ${rule}.`)

const NO_BYTES = new Uint8Array(0)

const bodyOf = (
  request: HttpServerRequest.HttpServerRequest,
  rule: RouteRule
): Effect.Effect<Uint8Array, Refused> => {
  if (rule.body === "none") return Effect.succeed(NO_BYTES)
  const sent = hasBody(request.headers)
  const named = rule.body === "members" && request.headers["content-type"] !== undefined
  const refused = sent || named ? checkMediaType(request.headers) : undefined
  if (refused !== undefined) return Effect.fail(refused)
  return sent ? readBody(request) : Effect.succeed(NO_BYTES)
}

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/u

const keyOf = (sent: string | undefined, rule: RouteRule): Result.Result<string, Refused> => {
  if (rule.idempotencyKey === "none") return Result.succeed("")
  if (sent === undefined) {
    return rule.idempotencyKey === "optional"
      ? Result.succeed("")
      : Result.fail(new Refused({ code: "idempotency_key_required" }))
  }
  return IDEMPOTENCY_KEY.test(sent)
    ? Result.succeed(sent)
    : Result.fail(new Refused({ code: "idempotency_key_invalid" }))
}

/** An empty body and `{}` are the same input where the body has no members (part 1). */
const jsonOf = (bytes: Uint8Array, rule: RouteRule): Result.Result<JsonValue, Refused> => {
  if (rule.body === "none" || (rule.body === "empty" && bytes.length === 0)) return Result.succeed({})
  const parsed = parseBody(bytes)
  if (rule.body === "members" || Result.isFailure(parsed)) return parsed
  const errors = emptyBodyFaults(parsed.success)
  return errors.length === 0 ? parsed : Result.fail(new Refused({ code: "validation_failed", errors }))
}
