import { IncomingMessage } from "node:http"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Cause, Clock, Effect, Exit, Option } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { clientAddressOf, NO_PROXIES, networkOf, type TrustedProxies } from "./ClientAddress.ts"
import { annotationsOf, CurrentRequest, type RequestFacts } from "./CurrentRequest.ts"
import type { HttpRoute, RouteServices } from "./HttpRoute.ts"
import { loggedRequestId, loggedUserAgent } from "./LoggedHeader.ts"
import { Refused, respondWithProblem } from "./ProblemResponse.ts"
import { REQUEST_ID_HEADER, requestIdOf } from "./RequestId.ts"
import { RequestObserver } from "./RequestObserver.ts"
import { withinSpan } from "./RequestSpan.ts"
import { makeRouteTable, type RouteMatch } from "./RouteTable.ts"
import { unsharedBytes } from "./SharedResponse.ts"
import { parseTraceparent } from "./TraceContext.ts"
import { makeUnreadResponses, type Reader, type UnreadResponses } from "./UnreadResponses.ts"

export interface EdgeOptions {
  /** Base URL of the API and its problem pages, without a trailing slash. */
  readonly baseUrl: string
  /** Headers of every response, in lower case; a route may override them. */
  readonly headers: Readonly<Record<string, string>>
  /** Path that the routes are mounted at within a host, without a trailing slash. Default: none. */
  readonly mountPath?: string
  /** The address of the client, where the host knows it. Default: the peer of the socket, unknown without one. */
  readonly clientAddress?: (request: HttpServerRequest.HttpServerRequest) => string | undefined
  /** Proxies whose `X-Forwarded-For` is trusted. Default: none. */
  readonly trustedProxies?: TrustedProxies
}

type Response = HttpServerResponse.HttpServerResponse

/**
 * Serves routes (part 2): it assigns the request id, refuses unknown paths (404), other methods (405) and ambiguous headers
 * or framing (400), turns failures and defects into problems, sets common headers, and writes one log line, with the
 * template of the route instead of its path.
 */
export const httpEdge = <Route extends HttpRoute<unknown>>(
  routes: ReadonlyArray<Route>,
  options: EdgeOptions,
  unread: UnreadResponses = makeUnreadResponses()
): Effect.Effect<Response, never, RouteServices<Route> | HttpServerRequest.HttpServerRequest> => {
  const table = makeRouteTable(routes as ReadonlyArray<HttpRoute<RouteServices<Route>>>)
  const common = Object.entries(options.headers)
  return Effect.flatMap(HttpServerRequest.HttpServerRequest, (received) => {
    const request = withLiteralPath(received, options.mountPath ?? "")
    const match = table.find(request.method, request.url)
    const facts = factsOf(options, received, match._tag === "NotFound" ? undefined : match.template)
    return responseTo(match, request, facts).pipe(
      Effect.map((response) => withHeaders(boundUnread(response, request, unread, facts), common, facts)),
      (response) => logRequest(response, request, facts),
      (response) => observeRequest(response, request, facts),
      Effect.provideService(CurrentRequest, facts),
      (response) => withinSpan(response, request.method, facts)
    )
  })
}

/** The response of the route, interrupted if the client disconnects; a refusal or a fault becomes a problem. */
const responseTo = <R>(
  match: RouteMatch<HttpRoute<R>>,
  request: HttpServerRequest.HttpServerRequest,
  facts: RequestFacts
): Effect.Effect<Response, never, R> => {
  const refuse = (refused: Refused) => Effect.succeed(respondWithProblem(refused, facts))
  const unframed = framingFault(request)
  if (match._tag !== "Route") return refuse(routingRefusal(match, request, unframed))
  const refused = headerFault(request) ?? unframed
  if (refused !== undefined) return refuse(refused)
  const { params, route } = match
  return Effect.catchCause(
    // The server runs this in an uninterruptible region.
    Effect.interruptible(Effect.suspend(() => route.handle({ request, params }))),
    (cause) => answerCause(cause, facts)
  )
}

/** The message of a request that came over a socket; one that a host hands over has none. */
const messageOf = ({ source }: HttpServerRequest.HttpServerRequest): IncomingMessage | undefined =>
  source instanceof IncomingMessage ? source : undefined

const factsOf = (
  { baseUrl, clientAddress, trustedProxies = NO_PROXIES }: EdgeOptions,
  request: HttpServerRequest.HttpServerRequest,
  route: string | undefined
): RequestFacts => {
  const { headers } = request
  const message = messageOf(request)
  const peer = clientAddress?.(request) ?? message?.socket.remoteAddress
  const clientRequestId = loggedRequestId(headers[REQUEST_ID_HEADER])
  const trace = parseTraceparent(headers.traceparent)
  return {
    requestId: requestIdOf(request.source),
    baseUrl,
    route,
    clientAddress: clientAddressOf(peer, headers["x-forwarded-for"], trustedProxies),
    ...(clientRequestId === undefined ? {} : { clientRequestId }),
    ...(trace === undefined ? {} : { trace })
  }
}

/** The absolute form of a request target (RFC 9112, section 3.2.2). Its host is ignored, like `Host`. */
const ABSOLUTE_TARGET = /^https?:\/\/[^/?#]+(?=[/?#]|$)/iu

/** The path and query of a request target in origin or absolute form; other forms are left unchanged. */
const pathAndQueryOf = (target: string): string => {
  const rest = target.replace(ABSOLUTE_TARGET, "")
  return rest === target || rest.startsWith("/") ? rest : `/${rest}`
}

/** Path and query of a request as it was sent, also where a host that mounts the service has cut them. */
export const targetOf = (request: HttpServerRequest.HttpServerRequest): string => {
  const message: (IncomingMessage & { readonly originalUrl?: string }) | undefined = messageOf(request)
  return pathAndQueryOf(message?.originalUrl ?? message?.url ?? request.url)
}

/** The target below a mount path; one that is not below it matches no route. */
const below = (target: string, mountPath: string): string => {
  if (!target.startsWith(mountPath)) return ""
  const rest = target.slice(mountPath.length)
  return rest === "" || rest.startsWith("?") ? `/${rest}` : rest
}

const ENDS_OF_PATH = /[;#]/u

const withLiteralEnds = (target: string): string => {
  const [path, ...query] = target.split("?")
  const literal = path!.replaceAll(";", "%3B").replaceAll("#", "%23")
  return [literal, ...query].join("?")
}

/** Takes the mount path away, and escapes semicolons and number signs, at which the route table would end the path. */
const withLiteralPath = (
  request: HttpServerRequest.HttpServerRequest,
  mountPath: string
): HttpServerRequest.HttpServerRequest => {
  const target = below(targetOf(request), mountPath)
  const url = ENDS_OF_PATH.test(target) ? withLiteralEnds(target) : target
  return url === request.url ? request : request.modify({ url })
}

const routingRefusal = (
  match: Exclude<RouteMatch<unknown>, { readonly _tag: "Route" }>,
  { url }: HttpServerRequest.HttpServerRequest,
  unframed: Refused | undefined
): Refused => {
  const close = unframed?.headers ?? {}
  return match._tag === "NotFound"
    ? new Refused({ code: hasBadEscape(url) ? "malformed_request" : "not_found", headers: close })
    : new Refused({ code: "method_not_allowed", headers: { allow: match.allow, ...close } })
}

const ENDS_CHUNKED = /(?:^|,)[ \t]*chunked[ \t]*$/iu

/**
 * Refuses a body whose length cannot be determined (RFC 9112, sections 6.1 and 6.3), even on routes without a body, since
 * its bytes could be taken for the next request.
 */
const framingFault = (request: HttpServerRequest.HttpServerRequest): Refused | undefined => {
  const encoding = request.headers["transfer-encoding"]
  if (encoding === undefined) return undefined
  const isChunked = messageOf(request)?.httpVersion !== "1.0" && ENDS_CHUNKED.test(encoding)
  return isChunked
    ? undefined
    : new Refused({
        code: "malformed_request",
        detail: "The end of the body cannot be told.",
        headers: { connection: "close" }
      })
}

/** Whether the path has an invalid percent escape, or one for bytes that are not UTF-8. */
const hasBadEscape = (url: string): boolean => {
  try {
    decodeURIComponent(url.split("?")[0]!)
    return false
  } catch {
    return true
  }
}

/** Headers that may be sent once, since recipients disagree on which of two values counts. */
const SINGLE_HEADERS = new Set(["host", "authorization", "idempotency-key", "content-type", "origin"])

/** Refuses a repeated header of `SINGLE_HEADERS` and a missing `Host` (part 2). */
const headerFault = (request: HttpServerRequest.HttpServerRequest): Refused | undefined => {
  const message = messageOf(request)
  if (message === undefined) return undefined
  const { rawHeaders } = message
  const seen = new Set<string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase()
    if (!SINGLE_HEADERS.has(name)) continue
    if (seen.has(name)) {
      return new Refused({ code: "malformed_request", detail: `The header ${name} was sent more than once.` })
    }
    seen.add(name)
  }
  return seen.has("host")
    ? undefined
    : new Refused({ code: "malformed_request", detail: "The Host header is missing." })
}

/** Refusals become problems; anything else is logged and becomes an internal error without details. */
const answerCause = <E>(cause: Cause.Cause<E>, facts: RequestFacts): Effect.Effect<Response> => {
  if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause as Cause.Cause<never>)
  const refused = refusalIn(cause)
  if (refused !== undefined) return Effect.succeed(respondWithProblem(refused, facts))
  return Effect.as(
    Effect.logError("request failed unexpectedly", cause).pipe(Effect.annotateLogs(annotationsOf(facts))),
    respondWithProblem(new Refused({ code: "internal_error" }), facts)
  )
}

const refusalIn = <E>(cause: Cause.Cause<E>): Refused | undefined => {
  const failure = Option.getOrUndefined(Cause.findErrorOption(cause))
  return failure instanceof Refused ? failure : undefined
}

const UNREAD_HEADERS = { "retry-after": "1" }

const UNREAD_REFUSALS = {
  key: new Refused({
    code: "rate_limited",
    detail: "Answers that were asked for with this API key are still unread: read them first.",
    headers: UNREAD_HEADERS
  }),
  address: new Refused({
    code: "rate_limited",
    detail: "Answers that were asked for from your address are still unread: read them first.",
    headers: UNREAD_HEADERS
  }),
  all: new Refused({
    code: "store_unavailable",
    detail: "Too many answers to everybody together are still unread.",
    headers: UNREAD_HEADERS
  })
}

const readerOf = ({ apiKeyId, clientAddress }: RequestFacts): Reader =>
  apiKeyId === undefined ? { kind: "address", id: networkOf(clientAddress) } : { kind: "key", id: apiKeyId }

/** Withholds a large response from a client that has too many unread ones. Responses to writes are small and always sent. */
const boundUnread = (
  response: Response,
  request: HttpServerRequest.HttpServerRequest,
  unread: UnreadResponses,
  facts: RequestFacts
): Response => {
  if (request.method !== "GET" || messageOf(request) === undefined) return response
  const sink = NodeHttpServerRequest.toServerResponse(request)
  const verdict = unread.add(sink, readerOf(facts), unsharedBytes(response))
  return verdict === "counted" ? response : respondWithProblem(UNREAD_REFUSALS[verdict], facts)
}

type Header = readonly [name: string, value: string]

/** Adds the headers of every response after those that this one has of its own, which win. */
const withHeaders = (response: Response, common: ReadonlyArray<Header>, facts: RequestFacts): Response => {
  const added: Array<Header> = []
  const add = (header: Header) => {
    if (!(header[0] in response.headers)) added.push(header)
  }
  common.forEach(add)
  if (facts.rateLimit !== undefined) Object.entries(facts.rateLimit).forEach(add)
  added.push([REQUEST_ID_HEADER, facts.requestId])
  return HttpServerResponse.setHeaders(response, added)
}

const NANOS_PER_MICROSECOND = 1000n
const MICROSECONDS_PER_MILLISECOND = 1000

/** Logged status of a request whose client disconnected before the response; the code that nginx uses. */
const CLIENT_CLOSED_REQUEST = 499

/** The status that the client is sent: another one where the request was refused while its body was read. */
const statusOf = (exit: Exit.Exit<Response>, request: HttpServerRequest.HttpServerRequest): number => {
  if (!Exit.isSuccess(exit)) return CLIENT_CLOSED_REQUEST
  const sent = messageOf(request) && NodeHttpServerRequest.toServerResponse(request)
  return sent?.headersSent === true ? sent.statusCode : exit.value.status
}

/** The annotations about the client. */
const clientAnnotations = (
  { clientAddress }: RequestFacts,
  header: string | undefined
): Record<string, string> => {
  const userAgent = loggedUserAgent(header)
  return {
    ...(clientAddress === "" ? {} : { client_address: clientAddress }),
    ...(userAgent === undefined ? {} : { user_agent: userAgent })
  }
}

const logRequest = <R>(
  answered: Effect.Effect<Response, never, R>,
  request: HttpServerRequest.HttpServerRequest,
  facts: RequestFacts
): Effect.Effect<Response, never, R> =>
  Clock.clockWith((clock) => {
    const began = clock.currentTimeNanosUnsafe()
    return Effect.onExit(answered, (exit) => {
      const nanos = clock.currentTimeNanosUnsafe() - began
      return Effect.logInfo("request").pipe(
        Effect.annotateLogs({
          ...annotationsOf(facts),
          method: request.method,
          ...clientAnnotations(facts, request.headers["user-agent"]),
          status: statusOf(exit, request),
          duration_ms: Number(nanos / NANOS_PER_MICROSECOND) / MICROSECONDS_PER_MILLISECOND
        })
      )
    })
  })

/** Tells the observer, if there is one, when the request begins and how it ends. */
const observeRequest = <R>(
  answered: Effect.Effect<Response, never, R>,
  request: HttpServerRequest.HttpServerRequest,
  facts: RequestFacts
): Effect.Effect<Response, never, R> =>
  Effect.flatMap(RequestObserver, (observer) => {
    if (observer === undefined) return answered
    const ended = observer.began()
    return Effect.onExit(answered, (exit) =>
      Effect.sync(() =>
        ended({
          route: facts.route,
          method: request.method,
          status: statusOf(exit, request),
          problem: facts.problem
        })
      )
    )
  })
