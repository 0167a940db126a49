import type { IncomingMessage } from "node:http"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Cause, Clock, Effect, Exit, Option, Tracer, type Types } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { clientAddressOf, NO_PROXIES, networkOf, type TrustedProxies } from "./ClientAddress.ts"
import { annotationsOf, CurrentRequest, type RequestFacts } from "./CurrentRequest.ts"
import { bytesMadeForOne } from "./KeptResponse.ts"
import { loggedRequestId, loggedUserAgent } from "./LoggedHeader.ts"
import { Refused, respondWithProblem } from "./ProblemResponse.ts"
import { makeRequestId, REQUEST_ID_HEADER } from "./RequestId.ts"
import type { RouteTable } from "./RouteTable.ts"
import { parseTraceparent, type TraceContext } from "./TraceContext.ts"
import { makeUnreadAnswers, type Reader, type UnreadAnswers } from "./UnreadAnswers.ts"

/** What one listener's edge needs to know. */
export interface EdgeOptions {
  /** Base address of the API, under which the problem pages are; without a trailing slash. */
  readonly baseUrl: string
  /** Every route of the listener. */
  readonly routes: RouteTable
  /** Headers of every response, in lower case, unless the route sets its own value. */
  readonly headers: Readonly<Record<string, string>>
  /** Whose word on the client's address counts. Default: nobody's. */
  readonly trustedProxies?: TrustedProxies
}

type Response = HttpServerResponse.HttpServerResponse

/**
 * The outermost layer of a listener: names the request, refuses what no route is for (404, 405) and what
 * names its sender twice (400), turns every failure and defect into a problem, sets the headers of
 * every response, and writes one log line (part 2). The log holds the route's template, never a path.
 */
export const httpEdge = (options: EdgeOptions, unread: UnreadAnswers = makeUnreadAnswers()) =>
  HttpRouter.middleware<{ handles: Refused }>()(
    (app) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, serve(options, unread, app)) as Effect.Effect<
        Response,
        // Nothing is left unhandled, which the router's types have no word for.
        Types.unhandled,
        HttpServerRequest.HttpServerRequest
      >,
    { global: true }
  )

const serve =
  <E>(options: EdgeOptions, unread: UnreadAnswers, app: Effect.Effect<Response, E>) =>
  (received: HttpServerRequest.HttpServerRequest): Effect.Effect<Response> => {
    const request = withLiteralPath(received)
    const match = options.routes.find(request.method, request.url)
    const facts = factsOf(options, received, match._tag === "Nowhere" ? undefined : match.template)
    const refused = admissionFault(match, request)
    const answered =
      refused === undefined
        ? Effect.matchCauseEffect(app, {
            onSuccess: Effect.succeed,
            onFailure: (cause) => answerCause(cause, facts)
          })
        : Effect.succeed(respondWithProblem(refused, facts))
    return answered.pipe(
      Effect.map((response) =>
        withHeaders(bounded(response, request, unread, facts), options.headers, facts)
      ),
      (response) => logged(response, request, facts),
      Effect.provideService(CurrentRequest, facts),
      Effect.provideService(HttpServerRequest.HttpServerRequest, request),
      (response) => withinTrace(response, facts.trace)
    )
  }

const factsOf = (
  { baseUrl, trustedProxies = NO_PROXIES }: EdgeOptions,
  { headers, source }: HttpServerRequest.HttpServerRequest,
  route: string | undefined
): RequestFacts => {
  const peer = (source as IncomingMessage).socket.remoteAddress
  const clientRequestId = loggedRequestId(headers[REQUEST_ID_HEADER])
  const trace = parseTraceparent(headers.traceparent)
  return {
    requestId: makeRequestId(),
    baseUrl,
    route,
    clientAddress: clientAddressOf(peer, headers["x-forwarded-for"], trustedProxies),
    ...(clientRequestId === undefined ? {} : { clientRequestId }),
    ...(trace === undefined ? {} : { trace })
  }
}

const withinTrace = <A>(effect: Effect.Effect<A>, trace: TraceContext | undefined): Effect.Effect<A> =>
  trace === undefined ? effect : Effect.withParentSpan(effect, Tracer.externalSpan(trace))

/** The absolute form of a target (RFC 9112, section 3.2.2). Its host decides nothing here, as `Host` does not. */
const ABSOLUTE_TARGET = /^https?:\/\/[^/?#]+(?=[/?#]|$)/iu

/** The target as it was sent, from its path on; one in no form that names a path is left as it is. */
const pathAndQueryOf = (target: string): string => {
  const rest = target.replace(ABSOLUTE_TARGET, "")
  return rest === target || rest.startsWith("/") ? rest : `/${rest}`
}

/** The router would end the path at a semicolon or a number sign; here they are characters like any other. */
const withLiteralPath = (
  request: HttpServerRequest.HttpServerRequest
): HttpServerRequest.HttpServerRequest => {
  const target = pathAndQueryOf((request.source as IncomingMessage).url ?? "")
  const [path, ...query] = target.split("?")
  const literal = path!.replaceAll(";", "%3B").replaceAll("#", "%23")
  const url = [literal, ...query].join("?")
  return url === request.url ? request : request.modify({ url })
}

const admissionFault = (
  match: ReturnType<RouteTable["find"]>,
  request: HttpServerRequest.HttpServerRequest
): Refused | undefined => {
  if (match._tag === "Nowhere")
    return new Refused({ code: hasBadEscape(request.url) ? "malformed_request" : "not_found" })
  if (match._tag === "OtherMethods") {
    return new Refused({ code: "method_not_allowed", headers: { allow: match.allow } })
  }
  return headerFault((request.source as IncomingMessage).rawHeaders) ?? framingFault(request)
}

const ENDS_CHUNKED = /(?:^|,)[ \t]*chunked[ \t]*$/iu

/**
 * A body whose end nobody can tell (RFC 9112, section 6.3), or that HTTP/1.0 has no word for (section 6.1); also where none is
 * asked for, since it is sent.
 */
const framingFault = ({ headers, source }: HttpServerRequest.HttpServerRequest): Refused | undefined => {
  const encoding = headers["transfer-encoding"]
  const isKnown = (source as IncomingMessage).httpVersion !== "1.0" && ENDS_CHUNKED.test(encoding ?? "")
  return encoding === undefined || isKnown
    ? undefined
    : new Refused({
        code: "malformed_request",
        detail: "The end of the body cannot be told.",
        headers: { connection: "close" }
      })
}

/** Whether a percent escape of the path is none, or stands for bytes that are no UTF-8. */
const hasBadEscape = (url: string): boolean => {
  try {
    decodeURIComponent(url.split("?")[0]!)
    return false
  } catch {
    return true
  }
}

/** Headers of which a second line could make one party read another value than the next. */
const ONCE = new Set(["host", "authorization", "idempotency-key", "content-type", "origin"])

/** Part 2: two lines of such a header, and a missing `Host`, act for nobody. */
const headerFault = (rawHeaders: ReadonlyArray<string>): Refused | undefined => {
  const seen = new Set<string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase()
    if (!ONCE.has(name)) continue
    if (seen.has(name)) {
      return new Refused({ code: "malformed_request", detail: `The header ${name} was sent more than once.` })
    }
    seen.add(name)
  }
  return seen.has("host")
    ? undefined
    : new Refused({ code: "malformed_request", detail: "The Host header is missing." })
}

/** Refusals are answered as they are; anything else is a fault of ours, logged and not explained. */
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

const UNREAD_RETRY = { "retry-after": "1" }

const TOO_MUCH_UNREAD = {
  key: new Refused({
    code: "rate_limited",
    detail: "Answers that were asked for with this API key are still unread: read them first.",
    headers: UNREAD_RETRY
  }),
  address: new Refused({
    code: "rate_limited",
    detail: "Answers that were asked for from your address are still unread: read them first.",
    headers: UNREAD_RETRY
  }),
  all: new Refused({
    code: "store_unavailable",
    detail: "Too many answers to everybody together are still unread.",
    headers: UNREAD_RETRY
  })
}

const readerOf = ({ apiKeyId, clientAddress }: RequestFacts): Reader =>
  apiKeyId === undefined ? { kind: "address", id: networkOf(clientAddress) } : { kind: "key", id: apiKeyId }

/** Holds back a large answer to a reader who leaves too many unread. What a write answers is small, and always sent. */
const bounded = (
  response: Response,
  request: HttpServerRequest.HttpServerRequest,
  unread: UnreadAnswers,
  facts: RequestFacts
): Response => {
  if (request.method !== "GET") return response
  const sink = NodeHttpServerRequest.toServerResponse(request)
  const verdict = unread.add(sink, readerOf(facts), bytesMadeForOne(response))
  return verdict === "counted" ? response : respondWithProblem(TOO_MUCH_UNREAD[verdict], facts)
}

const withHeaders = (
  response: Response,
  headers: Readonly<Record<string, string>>,
  facts: RequestFacts
): Response =>
  HttpServerResponse.setHeaders(response, {
    ...headers,
    ...facts.rateLimit,
    ...response.headers,
    [REQUEST_ID_HEADER]: facts.requestId
  })

const NANOS_PER_MICROSECOND = 1000n
const MICROSECONDS_PER_MILLISECOND = 1000

/** Status in the log of a request whose sender went away before its answer. */
const CLIENT_GONE = 499

/** Who sent a request, as far as the log tells. */
const senderOf = ({ clientAddress }: RequestFacts, header: string | undefined): Record<string, string> => {
  const userAgent = loggedUserAgent(header)
  return {
    ...(clientAddress === "" ? {} : { client_address: clientAddress }),
    ...(userAgent === undefined ? {} : { user_agent: userAgent })
  }
}

const logged = (
  answered: Effect.Effect<Response>,
  { headers, method }: HttpServerRequest.HttpServerRequest,
  facts: RequestFacts
): Effect.Effect<Response> =>
  Effect.flatMap(Clock.currentTimeNanos, (began) =>
    Effect.onExit(answered, (exit) =>
      Effect.flatMap(Clock.currentTimeNanos, (ended) =>
        Effect.logInfo("request").pipe(
          Effect.annotateLogs({
            ...annotationsOf(facts),
            method,
            ...senderOf(facts, headers["user-agent"]),
            status: Exit.isSuccess(exit) ? exit.value.status : CLIENT_GONE,
            duration_ms: Number((ended - began) / NANOS_PER_MICROSECOND) / MICROSECONDS_PER_MILLISECOND
          })
        )
      )
    )
  )
