import type { Socket } from "node:net"
import type { TargetRefused } from "@svc/domain/ports/WebhookTransport"
import { Effect, type Scope } from "effect"
import type { Client, Dispatcher } from "undici"
import { closedWithScope } from "./ClosedWithScope.ts"
import { connectTo, ExchangeFailed } from "./GuardedConnection.ts"
import type { ResolutionFailed } from "./NameResolver.ts"
import { checkTarget, type TargetGuard } from "./TargetGuard.ts"

/** How long the name's look-up, the connection and the TLS handshake may take together: 5 s (part 8). */
export const CONNECT_LIMIT_MS = 5000
/** How long the response headers may take to arrive: 15 s (part 8). */
export const WHOLE_LIMIT_MS = 15_000
/** Most bytes of the response headers: 16 KiB. */
export const MAX_HEADER_BYTES = 16_384
/**
 * Most bytes on the wire before the end of the final response's headers: nothing else bounds the handshake, interim
 * responses (1xx) and the reason phrase.
 */
export const MAX_PREAMBLE_BYTES = 131_072

/** A client that connects to nothing its guard does not permit. */
export interface GuardedClientOptions {
  readonly guard: TargetGuard
  readonly connectLimitMs?: number
  /** Certificates to trust in place of the well-known authorities', as PEM. */
  readonly ca?: string
}

export interface GuardedRequest {
  readonly method: "GET" | "POST"
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array
}

/** A response whose headers have arrived; its body ends with the scope and is not decompressed. */
export type GuardedAnswer = Pick<Dispatcher.ResponseData, "statusCode" | "headers" | "body">

const CONNECTION_ERRORS = ["UND_ERR_SOCKET", "ECONNRESET", "EPIPE", "ETIMEDOUT"]

const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause ? String(cause.code) : ""

const errorOf = (cause: unknown): ExchangeFailed["error"] =>
  CONNECTION_ERRORS.includes(codeOf(cause)) ? "connection_failed" : "response_invalid"

interface Connected {
  readonly url: URL
  readonly socket: Socket
}

/**
 * Loaded with the first request, to keep the start of an embedded service short, and before connecting: loading blocks the event
 * loop, in which time connection attempts would time out.
 */
const loadHttp = Effect.promise(() => import("undici"))

/** Loads what the first request would load. */
export const loadClient: Effect.Effect<void> = Effect.asVoid(loadHttp)

/** The reason for destroying a client after its request; shared, to avoid a stack trace for each. */
const SETTLED = new Error("the request is settled")

/** HTTP/1.1 over this connection, for one request. */
const clientOver = ({ Client }: typeof import("undici"), { socket, url }: Connected) =>
  closedWithScope(
    () => {
      let unused: Socket | undefined = socket
      return new Client(url.origin, {
        // Not synchronously: the client does not expect a connection within the call.
        connect: (_options, callback) => {
          const given = unused
          unused = undefined
          queueMicrotask(() =>
            given === undefined
              ? callback(new Error("one connection, one request"), null)
              : callback(null, given)
          )
        },
        pipelining: 0,
        allowH2: false,
        maxHeaderSize: MAX_HEADER_BYTES,
        // The caller limits the whole exchange.
        headersTimeout: 0,
        bodyTimeout: 0
      })
    },
    (client) => Effect.promise(() => client.destroy(SETTLED))
  )

/** Ends the connection when the bytes received exceed the preamble and the response has not arrived. */
const boundPreamble = (socket: Socket, answer: Promise<GuardedAnswer>): void => {
  let isWaiting = true
  const stop = () => {
    isWaiting = false
  }
  answer.then(stop, stop)
  const end = () => {
    if (isWaiting) socket.destroy(new Error("no headers within the bytes allowed"))
  }
  socket.on("readable", () => {
    // The parser runs first: the headers may be among the bytes just read.
    if (isWaiting && socket.bytesRead > MAX_PREAMBLE_BYTES) setImmediate(end)
  })
}

const send = (client: Client, { url, socket }: Connected, request: GuardedRequest) =>
  Effect.tryPromise({
    try: (signal): Promise<GuardedAnswer> => {
      const answer = client.request({
        method: request.method,
        path: `${url.pathname}${url.search}`,
        headers: { ...request.headers },
        body: request.body ?? null,
        signal
      })
      boundPreamble(socket, answer)
      return answer
    },
    catch: (cause) => cause
  }).pipe(
    Effect.catch((cause) =>
      codeOf(cause) === "UND_ERR_INVALID_ARG"
        ? Effect.die(cause)
        : Effect.fail(new ExchangeFailed({ error: errorOf(cause), cause }))
    )
  )

const checkAndConnect = Effect.fnUntraced(function* (
  options: GuardedClientOptions,
  target: string
): Effect.fn.Return<Connected, TargetRefused | ExchangeFailed | ResolutionFailed, Scope.Scope> {
  const checked = yield* checkTarget(options.guard, target)
  return { url: checked.url, socket: yield* connectTo(checked, options.ca) }
})

/**
 * Sends one request over a new connection and returns once the headers have arrived (part 8,
 * Attempt and Target guard). The target is checked, its name looked up and its address checked again for every
 * request; redirects are not followed; proxy variables of the environment are ignored. The connection ends with the scope.
 *
 * Errors: `TargetRefused`; `ExchangeFailed` with `timeout` when connecting takes too long. The caller limits the time
 * until the response, by default with `WHOLE_LIMIT_MS`.
 */
export const exchange = Effect.fnUntraced(function* (
  options: GuardedClientOptions,
  request: GuardedRequest
): Effect.fn.Return<GuardedAnswer, TargetRefused | ExchangeFailed, Scope.Scope> {
  const http = yield* loadHttp
  const connected = yield* checkAndConnect(options, request.url).pipe(
    Effect.catchTag("ResolutionFailed", ({ cause }) =>
      Effect.fail(new ExchangeFailed({ error: "connection_failed", cause }))
    ),
    // The limit holds even in an uninterruptible caller.
    Effect.interruptible,
    Effect.timeoutOrElse({
      duration: options.connectLimitMs ?? CONNECT_LIMIT_MS,
      orElse: () => Effect.fail(new ExchangeFailed({ error: "timeout" }))
    })
  )
  return yield* send(yield* clientOver(http, connected), connected, request)
})
