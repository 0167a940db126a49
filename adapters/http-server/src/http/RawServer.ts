import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { PROBLEM_MEDIA_TYPE, type ProblemCode } from "@svc/protocol/Problem"
import { problemOf, Refused } from "./ProblemResponse.ts"
import { makeRequestId, REQUEST_ID_HEADER, requestIdOf } from "./RequestId.ts"

/** Largest header section, in bytes (part 1). */
export const MAX_HEADER_BYTES = 16 * 1024
/** Time in which a whole request must arrive, in milliseconds (part 1). */
export const REQUEST_TIMEOUT_MS = 30_000
/** Interval of the check for slow requests, in milliseconds. */
const TIMEOUT_CHECK_INTERVAL_MS = 500
/** How long an idle connection stays open, in milliseconds. Longer than the usual 60 s of load balancers, which should be the ones to close it. */
export const KEEP_ALIVE_MS = 75_000
/** Most unanswered requests on one connection; a client that sends more is disconnected. */
export const MAX_PIPELINED_REQUESTS = 64
/** How long requests in flight may take to finish during shutdown, in milliseconds. */
export const STOP_TIMEOUT_MS = 10_000
/** How long a connection may be inactive while a response is pending or partly read, in milliseconds. */
export const STALL_TIMEOUT_MS = 40_000
/** How long a server that shuts down still reads requests that were already sent, in milliseconds. */
const DRAIN_MS = 200
/** Turns of the event loop after that time; a busy machine may have polled for input in none before. */
const DRAIN_TURNS = 8
/** How long a refused client may keep sending before its connection is destroyed, in milliseconds. */
const LINGER_MS = 500

/** A refusal that happens below the routes, for the log. */
export interface RawRefusal {
  readonly requestId: string
  readonly code: ProblemCode
  /** Address of the peer, which may be a proxy: the headers may not have been parsed. */
  readonly peer: string | undefined
}

export interface RawServerOptions {
  /** Base URL of the API and its problem pages, without a trailing slash. */
  readonly baseUrl: string
  /** Headers of every response, in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Called for each refusal below the routes, which nothing else logs. */
  readonly onRefused?: (refusal: RawRefusal) => void
  /** In milliseconds. Default `REQUEST_TIMEOUT_MS`. */
  readonly requestTimeoutMs?: number
  /** In milliseconds. Default `STALL_TIMEOUT_MS`. */
  readonly stallTimeoutMs?: number
  /** In milliseconds. Default `STOP_TIMEOUT_MS`. */
  readonly stopTimeoutMs?: number
}

/**
 * A Node server whose own refusals are problems with request ids too (part 2): 431 for headers that are too large, 408 for a
 * request that arrives too slowly, 417 for an unknown expectation, 405 for CONNECT, 400 for whatever does not parse.
 *
 * It closes gracefully: after a moment it stops accepting, answers the requests that were already sent, each last response of a
 * connection with `Connection: close`, closes idle connections after another moment, and destroys the rest after
 * `STOP_TIMEOUT_MS`.
 */
export const makeRawServer = (options: RawServerOptions): Server => {
  const requestTimeout = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS
  const server = createServer({
    requireHostHeader: false,
    requestTimeout,
    headersTimeout: requestTimeout,
    connectionsCheckingInterval: Math.min(TIMEOUT_CHECK_INTERVAL_MS, requestTimeout),
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    shouldUpgradeCallback: () => false
  })
  // Disconnects a client that has stopped reading; a slow one still makes progress.
  server.setTimeout(options.stallTimeoutMs ?? STALL_TIMEOUT_MS)
  // Headers are bounded by size; Node would silently drop headers beyond a count.
  server.maxHeadersCount = 0
  // Node ignores everything after an upgrade request, so the connection must not be reused.
  server.prependListener("request", (request, response) => {
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
  })
  const connections = serializeRequests(server)
  refuseBelowTheRoutes(server, options, connections)
  stopGracefully(server, connections, options.stopTimeoutMs ?? STOP_TIMEOUT_MS)
  return server
}

/** The open connections, each with its pending responses in the order of their requests. */
type Connections = Map<Duplex, Array<ServerResponse>>

const REQUEST_EVENTS = new Set(["request", "checkContinue", "checkExpectation"])

/**
 * Serves pipelined requests one at a time, each after the previous response has been sent, so that a client that does not
 * read holds one response rather than one per request. Node would emit them all at once, which RFC 9112 (section 9.3.2)
 * allows for safe methods only.
 */
const serializeRequests = (server: Server): Connections => {
  const connections: Connections = new Map()
  server.on("connection", (socket) => {
    connections.set(socket, [])
    socket.once("close", () => connections.delete(socket))
  })
  const emit = server.emit.bind(server)
  const take = (event: string, request: IncomingMessage, response: ServerResponse): boolean => {
    const { socket } = request
    const pending = connections.get(socket)
    if (pending === undefined) return false
    // A response sent before the end of its request's body has closed the connection.
    if (!socket.writable) return true
    if (pending.length >= MAX_PIPELINED_REQUESTS) {
      socket.destroy()
      return true
    }
    const previous = pending.at(-1)
    pending.push(response)
    response.once("close", () => pending.splice(pending.indexOf(response), 1))
    if (previous === undefined) return emit(event, request, response)
    previous.once("close", () => {
      // The previous response may have closed the connection.
      if (socket.writable) emit(event, request, response)
    })
    return true
  }
  server.emit = (event: string, ...values: ReadonlyArray<unknown>): boolean =>
    REQUEST_EVENTS.has(event)
      ? take(event, values[0] as IncomingMessage, values[1] as ServerResponse)
      : emit(event, ...values)
  return connections
}

const refuseBelowTheRoutes = (server: Server, options: RawServerOptions, connections: Connections): void => {
  const refusal = (
    code: ProblemCode,
    socket: Duplex,
    {
      more = {},
      request
    }: {
      readonly more?: Readonly<Record<string, string>>
      readonly request?: IncomingMessage | undefined
    } = {}
  ) => {
    const requestId = request === undefined ? makeRequestId() : requestIdOf(request)
    options.onRefused?.({ requestId, code, peer: (socket as Socket).remoteAddress })
    const refused = new Refused({ code })
    const problem = problemOf(refused, { requestId, baseUrl: options.baseUrl, route: undefined })
    const body = JSON.stringify(problem)
    const headers = {
      ...options.headers,
      ...more,
      "content-type": PROBLEM_MEDIA_TYPE,
      "content-length": String(Buffer.byteLength(body)),
      connection: "close",
      [REQUEST_ID_HEADER]: requestId
    }
    return { status: problem.status, headers, body }
  }
  const ending = new WeakSet<Duplex>()
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    // Node emits the event again for every further chunk.
    if (ending.has(socket)) return
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy()
    const answers = [...(connections.get(socket) ?? [])]
    // A complete request takes effect, so its response must be sent whatever follows it.
    const complete = answers.findLast(({ req }) => req.complete)
    if (complete !== undefined) {
      ending.add(socket)
      return endAfter(socket, complete)
    }
    const [first, second] = answers
    // A response that has begun cannot be replaced, and with two pending ones the client could not attribute the problem.
    if (first?.headersSent === true || second !== undefined) return void socket.destroy()
    const answer = refusal(codeOf(error), socket, { request: first?.req })
    if (first === undefined) return writeRaw(socket, answer)
    first.writeHead(answer.status, answer.headers).end(answer.body)
    linger(socket)
  })
  server.on("checkExpectation", ({ socket }, response: ServerResponse) => {
    const answer = refusal("expectation_failed", socket)
    response.writeHead(answer.status, answer.headers).end(answer.body)
  })
  server.on("connect", (_request, socket) => {
    const pending = connections.get(socket)?.at(-1)
    // A response written now would be taken for that of the pending request.
    if (pending !== undefined) return endAfter(socket, pending)
    writeRaw(
      socket,
      refusal("method_not_allowed", socket, { more: { allow: "GET, HEAD, POST, PUT, DELETE" } })
    )
  })
}

/** Closes the connection once a response has been sent. */
const endAfter = (socket: Duplex, response: ServerResponse): void => {
  if (!response.headersSent) response.setHeader("connection", "close")
  socket.on("error", () => {})
  socket.resume()
  response.once("close", () => {
    socket.end()
    linger(socket)
  })
}

const codeOf = (error: NodeJS.ErrnoException): ProblemCode => {
  if (error.code === "HPE_HEADER_OVERFLOW") return "headers_too_large"
  if (error.code === "ERR_HTTP_REQUEST_TIMEOUT") return "request_timeout"
  return "malformed_request"
}

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  405: "Method Not Allowed",
  408: "Request Timeout",
  431: "Request Header Fields Too Large"
}

const writeRaw = (
  socket: Duplex,
  answer: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }
): void => {
  const lines = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}`)
  const head = [`HTTP/1.1 ${answer.status} ${REASONS[answer.status]}`, ...lines]
  socket.end(`${head.join("\r\n")}\r\n\r\n${answer.body}`)
  linger(socket)
}

/** Destroying a socket with unread input resets the connection, which may lose the response. */
const linger = (socket: Duplex): void => {
  socket.on("error", () => {})
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once("close", () => clearTimeout(timer))
}

const stopGracefully = (server: Server, connections: Connections, timeoutMs: number): void => {
  const close = server.close.bind(server)
  let stopping = false
  const closeAfter = (socket: Duplex, response: ServerResponse) => {
    if (!response.headersSent) response.setHeader("connection", "close")
    response.once("close", () => {
      if ((connections.get(socket)?.length ?? 0) === 0) socket.end()
    })
  }
  server.prependListener("request", ({ socket }, response) => {
    if (stopping && connections.get(socket)?.at(-1) === response) closeAfter(socket, response)
  })
  server.close = (done) => {
    const afterDrain = (step: () => void) => setTimeout(() => afterTurns(DRAIN_TURNS, step), DRAIN_MS)
    const cutIdle = () => {
      for (const [socket, pending] of connections) if (pending.length === 0) socket.destroy()
    }
    const stopListening = () => {
      stopping = true
      for (const [socket, pending] of connections) {
        const last = pending.at(-1)
        if (last !== undefined) closeAfter(socket, last)
      }
      const cut = setTimeout(() => server.closeAllConnections(), timeoutMs)
      // Node would close idle connections with it, among them those that were just opened and whose request is not yet read.
      server.closeIdleConnections = () => {}
      close((error) => {
        clearTimeout(cut)
        done?.(error)
      })
      afterDrain(cutIdle)
    }
    // Connections that were opened before may not be accepted yet. No answer closes its connection until nothing listens any
    // more: its client would open another at once, which would be reset if it waited to be accepted as that ends.
    afterDrain(stopListening)
    return server
  }
}

/** Runs a step after so many turns of the event loop, each of which polls for input. */
const afterTurns = (turns: number, step: () => void): void => {
  if (turns === 0) step()
  else setImmediate(() => afterTurns(turns - 1, step))
}
