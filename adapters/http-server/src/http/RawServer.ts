import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { PROBLEM_MEDIA_TYPE, type ProblemCode } from "@svc/protocol/Problem"
import { problemOf, Refused } from "./ProblemResponse.ts"
import { makeRequestId, REQUEST_ID_HEADER } from "./RequestId.ts"

/** Largest header section, in bytes (part 2). */
export const MAX_HEADER_BYTES = 16 * 1024
/** Longest time for a whole request to arrive, in milliseconds (part 2). */
export const REQUEST_TIMEOUT_MS = 30_000
/** How often slow requests are looked for, in milliseconds. */
const TIMEOUT_CHECK_INTERVAL_MS = 500
/** How long an idle connection is kept, in milliseconds: longer than the 60 s that many balancers keep theirs, since it is theirs to end it. */
export const KEEP_ALIVE_MS = 75_000
/** Most requests of one connection that may wait for an answer; one that sends more is cut. */
export const MAX_PIPELINED_REQUESTS = 64
/** Longest time for what is in flight to finish after a stop, in milliseconds (part 9). */
export const STOP_TIMEOUT_MS = 10_000
/** How long a connection may stand still while an answer is owed or half read, in milliseconds. */
export const STALL_TIMEOUT_MS = 40_000
/** How long a stopping server still takes what was sent before it stopped, in milliseconds. */
const LAST_REQUESTS_MS = 200
/** How often it looks after that time whether more has come in the meantime: on a busy machine that may be all the time it had. */
const LAST_REQUESTS_TURNS = 8
/** How long a refused sender may go on sending before the connection is cut, in milliseconds. */
const LINGER_MS = 500

/** A refusal below the routes, as it is logged. */
export interface RawRefusal {
  readonly requestId: string
  readonly code: ProblemCode
  /** Address of the peer, a proxy's too: what was sent does not parse. */
  readonly peer: string | undefined
}

export interface RawServerOptions {
  /** Base address of the API, under which the problem pages are; without a trailing slash. */
  readonly baseUrl: string
  /** Headers of every response, in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Told of each refusal below the routes; the only trace that it leaves. */
  readonly onRefused?: (refusal: RawRefusal) => void
  /** In milliseconds, for tests. Default `REQUEST_TIMEOUT_MS`. */
  readonly requestTimeoutMs?: number
  /** In milliseconds, for tests. Default `STALL_TIMEOUT_MS`. */
  readonly stallTimeoutMs?: number
  /** In milliseconds, for tests. Default `STOP_TIMEOUT_MS`. */
  readonly stopTimeoutMs?: number
}

/**
 * A Node server whose own refusals are problems with request ids too (part 2): headers too large 431, a
 * request that does not arrive in time 408, an unknown expectation 417, CONNECT 405, anything that does not parse 400.
 *
 * Closing it is graceful: it stops accepting, answers what had been sent, ends each connection with its last answer, cuts
 * idle and silent ones after a moment, and what is left after 10 s.
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
  // A reader who takes nothing any more is cut off, however much is left; one who reads slowly is not.
  server.setTimeout(options.stallTimeoutMs ?? STALL_TIMEOUT_MS)
  // The size bounds the headers; a count would drop the ones after it in silence.
  server.maxHeadersCount = 0
  // Node drops what comes behind a request for an upgrade, so nothing may come on that connection.
  server.prependListener("request", (request, response) => {
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
  })
  const connections = serveInTurn(server)
  refuseBelowTheRoutes(server, options, connections)
  stopGracefully(server, connections, options.stopTimeoutMs ?? STOP_TIMEOUT_MS)
  return server
}

/** The open connections, and for each the answers that are still owed on it, in the order of their requests. */
type Connections = Map<Duplex, Set<ServerResponse>>

const lastOf = (owed: Iterable<ServerResponse> = []): ServerResponse | undefined => [...owed].at(-1)

const REQUEST_EVENTS = new Set(["request", "checkContinue", "checkExpectation"])

/**
 * Serves the requests of each connection in turn, the next once the network has taken the answer to the one before: whoever
 * does not read holds one answer, and not one for each request that fits into a packet. Node would tell of all at once,
 * and RFC 9112 (section 9.3.2) allows to serve them at once only where all are safe.
 */
const serveInTurn = (server: Server): Connections => {
  const connections: Connections = new Map()
  server.on("connection", (socket) => {
    connections.set(socket, new Set())
    socket.once("close", () => connections.delete(socket))
  })
  const emit = server.emit.bind(server)
  const take = (event: string, request: IncomingMessage, response: ServerResponse): boolean => {
    const { socket } = request
    const owed = connections.get(socket)
    if (owed === undefined) return false
    // An answer that came before the end of its request's body has closed the connection: nothing behind it is served.
    if (!socket.writable) return true
    if (owed.size >= MAX_PIPELINED_REQUESTS) {
      socket.destroy()
      return true
    }
    const before = lastOf(owed)
    owed.add(response)
    response.once("close", () => owed.delete(response))
    if (before === undefined) return emit(event, request, response)
    before.once("close", () => {
      // The answer before may have been the last that the connection carries.
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
  const refusal = (code: ProblemCode, socket: Duplex, more: Readonly<Record<string, string>> = {}) => {
    const requestId = makeRequestId()
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
    // Each further piece of what does not parse is told again.
    if (ending.has(socket)) return
    if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy()
    const answers = [...(connections.get(socket) ?? [])]
    // A request that had come whole has its effect, and its answer says so whatever was sent behind it.
    const whole = answers.findLast(({ req }) => req.complete)
    if (whole !== undefined) {
      ending.add(socket)
      return endAfter(socket, whole)
    }
    const [owed, later] = answers
    // An answer that has begun cannot be taken back, and a later one would be read as another's.
    if (owed?.headersSent === true || later !== undefined) return void socket.destroy()
    const answer = refusal(codeOf(error), socket)
    if (owed === undefined) return writeRaw(socket, answer)
    owed.writeHead(answer.status, answer.headers).end(answer.body)
    linger(socket)
  })
  server.on("checkExpectation", ({ socket }, response: ServerResponse) => {
    const answer = refusal("expectation_failed", socket)
    response.writeHead(answer.status, answer.headers).end(answer.body)
  })
  server.on("connect", (_request, socket) => {
    const before = lastOf(connections.get(socket))
    // Written now, it would be read as the answer to a request before it.
    if (before !== undefined) return endAfter(socket, before)
    writeRaw(socket, refusal("method_not_allowed", socket, { allow: "GET, HEAD, POST, PUT, DELETE" }))
  })
}

/** Lets the last answer that stands go out, and ends the connection with it. */
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

/** A connection cut while bytes are still coming in is reset, and the answer may be lost with it. */
const linger = (socket: Duplex): void => {
  socket.on("error", () => {})
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  socket.once("close", () => clearTimeout(timer))
}

const stopGracefully = (server: Server, connections: Connections, timeoutMs: number): void => {
  const close = server.close.bind(server)
  let stopping = false
  const endWith = (socket: Duplex, response: ServerResponse) => {
    if (!response.headersSent) response.setHeader("connection", "close")
    response.once("close", () => {
      if ((connections.get(socket)?.size ?? 0) === 0) socket.end()
    })
  }
  server.prependListener("request", ({ socket }, response) => {
    if (stopping && lastOf(connections.get(socket)) === response) endWith(socket, response)
  })
  server.close = (done) => {
    stopping = true
    for (const [socket, owed] of connections) {
      const last = lastOf(owed)
      if (last !== undefined) endWith(socket, last)
    }
    // What was sent before the stop may not have been read yet, or its connection not accepted: it is answered too.
    const cutIdle = () => {
      for (const [socket, owed] of connections) if (owed.size === 0) socket.destroy()
      const cut = setTimeout(() => server.closeAllConnections(), timeoutMs)
      close((error) => {
        clearTimeout(cut)
        done?.(error)
      })
    }
    setTimeout(() => afterTurns(LAST_REQUESTS_TURNS, cutIdle), LAST_REQUESTS_MS)
    return server
  }
}

/** Runs a step once the event loop has looked for input so many times. A timer alone may be over before it has looked once. */
const afterTurns = (turns: number, step: () => void): void => {
  if (turns === 0) step()
  else setImmediate(() => afterTurns(turns - 1, step))
}
