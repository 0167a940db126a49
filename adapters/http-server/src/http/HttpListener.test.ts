import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { assert, describe, it } from "@effect/vitest"
import { MAX_BODY_BYTES } from "@svc/protocol/request/MaxBodyBytes"
import {
  Context,
  Deferred,
  type Duration,
  Effect,
  Exit,
  Fiber,
  Layer,
  Logger,
  References,
  Scope
} from "effect"
import { HttpServer, HttpServerResponse } from "effect/http"
import { ask, exchange, openConnection, parseAnswer, type RawAnswer } from "../../test/RawExchange.ts"
import { readCheckedBody } from "../gate/RequestSteps.ts"
import { parseBody } from "../gate/StrictBody.ts"
import { parseTrustedProxies, type TrustedProxies } from "./ClientAddress.ts"
import { httpListener } from "./HttpListener.ts"
import { httpRoute, type RoutedRequest } from "./HttpRoute.ts"
import { Refused } from "./ProblemResponse.ts"
import { MAX_PIPELINED_REQUESTS } from "./RawServer.ts"
import { RequestObserver } from "./RequestObserver.ts"
import { sharedResponse } from "./SharedResponse.ts"

const BASE_URL = "https://api.example"
const JSON_TYPE = "Content-Type: application/json"

const json = (body: unknown) =>
  HttpServerResponse.text(JSON.stringify(body), { contentType: "application/json" })

const conflict = new Refused({ code: "state_conflict", currentState: "ACTIVE", resourceId: "mnd_1" })

/** More than the buffers of a connection hold. */
const LARGE_ANSWER_BYTES = 32 * 1024 * 1024

interface Gate {
  readonly opened: Deferred.Deferred<void>
  readonly entered: Deferred.Deferred<void>
  /** The sender has gone away. */
  readonly deserted: Deferred.Deferred<void>
  readonly written: Deferred.Deferred<void>
}

const waitingWrite = (gate: Gate) =>
  Effect.fnUntraced(function* ({ request }: RoutedRequest) {
    const response = NodeHttpServerRequest.toServerResponse(request)
    response.once("close", () => Deferred.doneUnsafe(gate.deserted, Effect.void))
    yield* Deferred.succeed(gate.entered, undefined)
    yield* Deferred.await(gate.opened)
    yield* Deferred.succeed(gate.written, undefined)
    return json("written")
  })

const kept = sharedResponse("x".repeat(LARGE_ANSWER_BYTES), { contentType: "text/plain" })

const routes = (gate: Gate) => {
  const write = waitingWrite(gate)
  return [
    httpRoute("GET", "/v1/things/:thing_id", ({ params }) => Effect.succeed(json(params))),
    httpRoute("POST", "/v1/things", ({ request }) =>
      Effect.map(
        Effect.flatMap(readCheckedBody(request, "always"), (bytes) =>
          Effect.map(Effect.fromResult(parseBody(bytes)), ({ value }) => value)
        ),
        json
      )
    ),
    httpRoute("GET", "/refused", () => Effect.fail(conflict)),
    // Made only when it is asked for: it takes longer than all else that a test does.
    httpRoute("GET", "/large", () => Effect.sync(() => json("x".repeat(LARGE_ANSWER_BYTES)))),
    httpRoute("GET", "/kept", () => Effect.succeed(kept)),
    httpRoute("GET", "/boom", () => Effect.die(new Error("internals"))),
    httpRoute("GET", "/thrown", (): Effect.Effect<never> => {
      throw new Error("internals")
    }),
    httpRoute("GET", "/read", waitingWrite(gate)),
    httpRoute("PUT", "/write", (routed) => Effect.uninterruptible(write(routed)))
  ]
}

/** What was logged: message and annotations of each entry. */
type LogEntry = Readonly<Record<string, unknown>>

const start = Effect.fnUntraced(function* (
  options: {
    readonly requestTimeoutMs?: number
    readonly stallTimeoutMs?: number
    readonly stopTimeoutMs?: number
    readonly trustedProxies?: TrustedProxies
    readonly observer?: RequestObserver
  } = {}
) {
  const gate: Gate = {
    opened: yield* Deferred.make<void>(),
    entered: yield* Deferred.make<void>(),
    deserted: yield* Deferred.make<void>(),
    written: yield* Deferred.make<void>()
  }
  const log: Array<LogEntry> = []
  const logger = Logger.make<unknown, void>(({ fiber, message }) => {
    log.push({ message: String(message), ...fiber.getRef(References.CurrentLogAnnotations) })
  })
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
  const listener = httpListener(routes(gate), {
    port: 0,
    host: "127.0.0.1",
    baseUrl: BASE_URL,
    headers: { "cache-control": "no-store" },
    ...options
  }).pipe(
    Layer.provideMerge(Logger.layer([logger])),
    Layer.provide(Layer.succeed(RequestObserver)(options.observer))
  )
  const context = yield* Layer.buildWithScope(listener, scope)
  const { address } = Context.get(context, HttpServer.HttpServer)
  if (!("port" in address)) return yield* Effect.die(new Error("no port"))
  return { port: address.port, gate, log, stop: Scope.close(scope, Exit.void) }
})

const send = (port: number, lines: ReadonlyArray<string>, body: string | Buffer = "") =>
  Effect.promise(() => ask(port, lines, body))

const raw = (port: number, bytes: string | ReadonlyArray<string | Buffer>) =>
  Effect.map(
    Effect.promise(() => exchange(port, bytes)),
    parseAnswer
  )

const assertProblem = (answer: RawAnswer, status: number, code: string) => {
  const problem = JSON.parse(answer.body)
  assert.strictEqual(answer.status, status)
  assert.strictEqual(problem.code, code)
  assert.strictEqual(problem.status, status)
  assert.strictEqual(problem.type, `${BASE_URL}/problems/${code.replaceAll("_", "-")}`)
  assert.strictEqual(answer.headers["content-type"], "application/problem+json")
  assert.strictEqual(answer.headers["cache-control"], "no-store")
  assert.match(problem.request_id, /^[0-9a-f-]{36}$/u)
  assert.strictEqual(problem.request_id, answer.headers["x-request-id"])
  return problem
}

describe("the edge of a listener (part 2)", () => {
  it.live("decodes a path parameter exactly once", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      const answer = yield* send(port, [
        "GET /v1/things/a%2Fb%2525;c?x=1 HTTP/1.1",
        "Host: x",
        "X-Request-Id: mine"
      ])
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.body, '{"thing_id":"a/b%25;c"}')
      assert.strictEqual(answer.headers["cache-control"], "no-store")
      assert.match(answer.headers["x-request-id"] ?? "", /^[0-9a-f-]{36}$/u)
    })
  )

  for (const path of [
    "/v1/Things/a",
    "/v1/things/a/",
    "//v1/things/a",
    "/v1//things/a",
    "/refused;x",
    "/refused#x",
    "*",
    "/v1/things/a/../a",
    "/v1/things/..",
    "/v1/%74hings/a",
    "/%76%31/things/a",
    "/v1%2Fthings/a",
    "ftp://other/v1/things/a",
    "http://other",
    "http://other?/v1/things/a"
  ]) {
    it.live(`answers 404 to ${path}`, () =>
      Effect.gen(function* () {
        const { port } = yield* start()
        const answer = yield* send(port, [`GET ${path} HTTP/1.1`, "Host: x"])
        const problem = assertProblem(answer, 404, "not_found")
        assert.notProperty(problem, "instance")
      })
    )
  }

  for (const target of ["http://other/v1/things/a?x=1", "HTTPS://other:1/v1/things/a"]) {
    it.live(`accepts the absolute form ${target}`, () =>
      Effect.gen(function* () {
        const { port } = yield* start()
        const answer = yield* send(port, [`GET ${target} HTTP/1.1`, "Host: x"])
        assert.strictEqual(answer.body, '{"thing_id":"a"}')
      })
    )
  }

  for (const path of ["/v1/things/%ZZ", "/v1/things/%80", "/v1/things/%", "/nowhere/%C3%28"]) {
    it.live(`refuses the invalid escape in ${path}`, () =>
      Effect.gen(function* () {
        const { port } = yield* start()
        const answer = yield* send(port, [`GET ${path} HTTP/1.1`, "Host: x"])
        assert.notProperty(assertProblem(answer, 400, "malformed_request"), "instance")
      })
    )
  }

  for (const [method, path, allow] of [
    ["OPTIONS", "/v1/things", "POST"],
    ["GET", "/v1/things", "POST"],
    ["HEAD", "/v1/things", "POST"],
    ["DELETE", "/v1/things/a", "GET, HEAD"],
    ["PATCH", "/refused", "GET, HEAD"],
    ["TRACE", "/write", "PUT"]
  ] as const) {
    it.live(`answers 405 to ${method} ${path}`, () =>
      Effect.gen(function* () {
        const { port } = yield* start()
        const answer = yield* send(port, [`${method} ${path} HTTP/1.1`, "Host: x"])
        assert.strictEqual(answer.status, 405)
        assert.strictEqual(answer.headers.allow, allow)
        if (method !== "HEAD") assertProblem(answer, 405, "method_not_allowed")
      })
    )
  }

  for (const [method, body] of [
    ["GET", '{"thing_id":"\u00fc"}'],
    ["HEAD", ""]
  ] as const) {
    it.live(`sends these bytes in answer to ${method}`, () =>
      Effect.gen(function* () {
        const { port } = yield* start()
        const request = `${method} /v1/things/%C3%BC HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
        const answer = yield* Effect.promise(() => exchange(port, request))
        const constant = answer
          .replace(/(?<=x-request-id: )[\da-f-]{36}/u, "(id)")
          .replace(/(?<=Date: )[^\r]+/u, "(date)")
        assert.deepStrictEqual(constant.split("\r\n"), [
          "HTTP/1.1 200 OK",
          "content-type: application/json",
          "content-length: 17",
          "cache-control: no-store",
          "x-request-id: (id)",
          "Date: (date)",
          "Connection: close",
          "",
          body
        ])
      })
    )
  }

  it.live("answers HEAD as GET, without the body", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      const got = yield* send(port, ["GET /v1/things/a HTTP/1.1", "Host: x"])
      const answer = yield* send(port, ["HEAD /v1/things/a HTTP/1.1", "Host: x"])
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.body, "")
      assert.strictEqual(answer.headers["content-length"], got.headers["content-length"])
    })
  )

  for (const [what, lines] of [
    ["no Host", []],
    ["two Host lines", ["Host: x", "host: x"]],
    ["two Authorization lines", ["Host: x", "Authorization: Bearer a", "authorization: Bearer a"]],
    ["two Idempotency-Key lines", ["Host: x", "Idempotency-Key: a", "IDEMPOTENCY-KEY: b"]],
    ["two Content-Type lines", ["Host: x", "Content-Type: application/json", "Content-Type: text/plain"]]
  ] as const) {
    it.live(`answers malformed_request with the route as instance to ${what}`, () =>
      Effect.gen(function* () {
        const { port } = yield* start()
        const answer = yield* send(port, ["GET /v1/things/a HTTP/1.1", ...lines])
        assert.strictEqual(assertProblem(answer, 400, "malformed_request").instance, "/v1/things/{thing_id}")
      })
    )
  }

  it.live("sees a repeated header beyond the two thousandth", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      const many = Array.from({ length: 2100 }, () => "a:")
      const answer = yield* send(port, ["GET /v1/things/a HTTP/1.1", "Host: x", ...many, "host: y"])
      assertProblem(answer, 400, "malformed_request")
    })
  )

  it.live("answers a refusal with its members", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      const problem = assertProblem(
        yield* send(port, ["GET /refused HTTP/1.1", "Host: x"]),
        409,
        "state_conflict"
      )
      assert.strictEqual(problem.current_state, "ACTIVE")
      assert.strictEqual(problem.resource_id, "mnd_1")
      assert.strictEqual(problem.retryable, false)
    })
  )

  for (const path of ["/boom", "/thrown"]) {
    it.live(`answers the defect of ${path} without details, and logs it under the request id`, () =>
      Effect.gen(function* () {
        const { log, port } = yield* start()
        const answer = yield* send(port, [`GET ${path} HTTP/1.1`, "Host: x"])
        const problem = assertProblem(answer, 500, "internal_error")
        assert.strictEqual(problem.retryable, true)
        assert.notInclude(answer.body, "internals")
        const fault = log.find(({ message }) => message === "request failed unexpectedly")
        assert.strictEqual(fault?.request_id, problem.request_id)
      })
    )
  }

  it.live("logs one line with the template, and neither path nor query", () =>
    Effect.gen(function* () {
      const { log, port } = yield* start()
      yield* send(port, [
        "GET /v1/things/canary?canary=1 HTTP/1.1",
        "Host: x",
        "Authorization: Bearer canary"
      ])
      yield* send(port, ["GET /canary HTTP/1.1", "Host: x"])
      assert.strictEqual(log.length, 2)
      assert.include(log[0], {
        message: "request",
        route: "/v1/things/{thing_id}",
        method: "GET",
        status: 200
      })
      assert.include(log[1], { message: "request", status: 404, problem: "not_found" })
      assert.isNumber(log[0]?.duration_ms)
      assert.notInclude(JSON.stringify(log), "canary")
    })
  )

  it.live("logs the client, and the caller's ids of the request", () =>
    Effect.gen(function* () {
      const { log, port } = yield* start({ trustedProxies: parseTrustedProxies("127.0.0.1,10.0.0.0/8")! })
      yield* send(port, [
        "GET /v1/things/a HTTP/1.1",
        "Host: x",
        "User-Agent: a\tb\u009b",
        "X-Forwarded-For: 198.51.100.1, 203.0.113.7",
        "X-Forwarded-For: 10.0.0.1",
        "X-Request-Id: theirs-1",
        "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
      ])
      assert.include(log[0], {
        client_address: "203.0.113.7",
        user_agent: "a\\u0009b\\u009b",
        client_request_id: "theirs-1",
        trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
        span_id: "00f067aa0ba902b7"
      })
    })
  )

  it.live("ignores X-Forwarded-For unless a trusted proxy sends it", () =>
    Effect.gen(function* () {
      const { log, port } = yield* start()
      yield* send(port, ["GET /v1/things/a HTTP/1.1", "Host: x", "X-Forwarded-For: 203.0.113.7"])
      assert.strictEqual(log[0]?.client_address, "127.0.0.1")
      for (const name of ["user_agent", "client_request_id", "trace_id", "span_id"]) {
        assert.notProperty(log[0], name)
      }
    })
  )

  it.live("logs the address of a client whose request does not parse", () =>
    Effect.gen(function* () {
      const { log, port } = yield* start()
      yield* raw(port, "rubbish\r\n\r\n")
      assert.include(log[0], { problem: "malformed_request", client_address: "127.0.0.1" })
    })
  )

  it.live("keeps an idle connection longer than load balancers do", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      const socket = yield* Effect.promise(() => openConnection(port))
      const head = yield* Effect.promise(
        () =>
          new Promise<string>((resolve) => {
            socket.once("data", (chunk) => resolve(String(chunk)))
            socket.write("GET /v1/things/a HTTP/1.1\r\nHost: x\r\n\r\n")
          })
      )
      socket.destroy()
      assert.match(head, /^keep-alive: timeout=75\r$/imu)
    })
  )
})

describe("the observer of a listener", () => {
  it.live("is told of each request by the template of its route, and of refusals below the routes", () =>
    Effect.gen(function* () {
      const told: Array<unknown> = []
      const began = () => {
        told.push("began")
        return (ended: unknown) => void told.push(ended)
      }
      const { gate, port } = yield* start({
        observer: { began, refused: (problem) => void told.push(problem) }
      })
      yield* send(port, ["GET /v1/things/secret HTTP/1.1", "Host: x"])
      yield* send(port, ["DELETE /refused HTTP/1.1", "Host: x"])
      yield* send(port, ["GET /secret HTTP/1.1", "Host: x"])
      yield* send(port, ["GET /boom HTTP/1.1", "Host: x"])
      yield* raw(port, "GET /secret HTTP/9.9\r\n\r\n")
      const leaving = yield* Effect.promise(() => openConnection(port))
      leaving.write("GET /read HTTP/1.1\r\nHost: x\r\n\r\n")
      yield* Deferred.await(gate.entered)
      leaving.destroy()
      yield* Deferred.await(gate.deserted)
      const ended = (route: string | undefined, method: string, status: number, problem?: string) => [
        "began",
        { route, method, status, problem }
      ]
      while (told.length < 11) yield* Effect.sleep(1)
      assert.deepStrictEqual(told, [
        ...ended("/v1/things/{thing_id}", "GET", 200),
        ...ended("/refused", "DELETE", 405, "method_not_allowed"),
        ...ended(undefined, "GET", 404, "not_found"),
        ...ended("/boom", "GET", 500, "internal_error"),
        "malformed_request",
        ...ended("/read", "GET", 499)
      ])
    })
  )
})

describe("pipelined requests (part 2)", () => {
  const GET = "GET /v1/things/a HTTP/1.1\r\nHost: x\r\n\r\n"
  const WRITE = "PUT /write HTTP/1.1\r\nHost: x\r\n\r\n"
  const LAST = "GET /v1/things/last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

  it.live("are served in turn", () =>
    Effect.gen(function* () {
      const { gate, log, port } = yield* start()
      const received = exchange(port, WRITE + LAST)
      yield* Deferred.await(gate.entered)
      yield* send(port, ["GET /refused HTTP/1.1", "Host: x"])
      yield* Deferred.succeed(gate.opened, undefined)
      const answers = (yield* Effect.promise(() => received)).split("HTTP/1.1 200 OK").slice(1)
      assert.deepStrictEqual(
        answers.map((answer) => answer.split("\r\n\r\n")[1]),
        ['"written"', '{"thing_id":"last"}']
      )
      assert.deepStrictEqual(
        log.map(({ route }) => route),
        ["/refused", "/write", "/v1/things/{thing_id}"]
      )
    })
  )

  it.live("are all answered up to the limit", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      const received = yield* Effect.promise(() =>
        exchange(port, GET.repeat(MAX_PIPELINED_REQUESTS - 1) + LAST)
      )
      assert.lengthOf(received.split("HTTP/1.1 200 OK").slice(1), MAX_PIPELINED_REQUESTS)
    })
  )

  it.live("close the connection beyond the limit, and the running one completes", () =>
    Effect.gen(function* () {
      const { gate, log, port } = yield* start()
      const received = yield* Effect.promise(() =>
        exchange(port, WRITE + GET.repeat(MAX_PIPELINED_REQUESTS)).catch(() => "")
      )
      assert.strictEqual(received, "")
      yield* Deferred.succeed(gate.opened, undefined)
      yield* Deferred.await(gate.written)
      assert.notInclude(JSON.stringify(log), "things")
    })
  )

  it.live("followed by CONNECT get their own answers", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      const received = yield* Effect.promise(() =>
        exchange(port, `${GET}CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n`)
      )
      assert.match(received, /^HTTP\/1\.1 200 OK/u)
      assert.notInclude(received, "HTTP/1.1 405")
    })
  )
})

describe("unread answers (part 2)", () => {
  /** Asks on a connection that takes nothing, and waits until the answer is under way. */
  const askAndNotRead = Effect.fnUntraced(function* (
    { log, port }: { readonly log: ReadonlyArray<LogEntry>; readonly port: number },
    path: string
  ) {
    const socket = yield* Effect.promise(() => openConnection(port))
    yield* Effect.addFinalizer(() => Effect.sync(() => socket.destroy()))
    socket.on("error", () => {})
    socket.pause()
    const before = log.length
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    while (log.length === before) yield* Effect.sleep("5 millis")
  })

  it.live("withhold further ones from the same address, with a matching detail", () =>
    Effect.gen(function* () {
      const { log, port } = yield* start({ trustedProxies: parseTrustedProxies("127.0.0.1")! })
      yield* askAndNotRead({ log, port }, "/large")
      const second = yield* send(port, ["GET /large HTTP/1.1", "Host: x"])
      assert.match(assertProblem(second, 429, "rate_limited").detail, /your address/u)
      const elsewhere = ["GET /large HTTP/1.1", "Host: x", "X-Forwarded-For: 203.0.113.7"]
      assert.strictEqual((yield* send(port, elsewhere)).status, 200)
    })
  )

  it.live("are not counted if they are shared by everybody", () =>
    Effect.gen(function* () {
      const listener = yield* start()
      for (let readers = 0; readers < 45; readers++) yield* askAndNotRead(listener, "/kept")
      assert.strictEqual((yield* send(listener.port, ["GET /kept HTTP/1.1", "Host: x"])).status, 200)
      assert.strictEqual((yield* send(listener.port, ["GET /large HTTP/1.1", "Host: x"])).status, 200)
    })
  )
})

describe("a request body (parts 1 and 2)", () => {
  const post = (port: number, lines: ReadonlyArray<string>, body: string | Buffer) =>
    send(
      port,
      ["POST /v1/things HTTP/1.1", "Host: x", ...lines, `Content-Length: ${Buffer.byteLength(body)}`],
      body
    )

  for (const type of [
    "application/json",
    "APPLICATION/JSON",
    "application/json; charset=UTF-8",
    "application/json;v=1"
  ]) {
    it.live(`is accepted as ${type}`, () =>
      Effect.gen(function* () {
        const { port } = yield* start()
        const answer = yield* post(port, [`Content-Type: ${type}`], '{"a":1}')
        assert.strictEqual(answer.body, '{"a":1}')
      })
    )
  }

  for (const lines of [
    [],
    ["Content-Type: text/plain"],
    ["Content-Type: application/x+json"],
    ["Content-Type: application/jsonp"],
    ["Content-Type: application/json; charset=latin1"],
    [JSON_TYPE, "Content-Encoding: gzip"],
    [JSON_TYPE, "Content-Encoding: br, identity"]
  ]) {
    it.live(`is 415 with ${lines.join(" and ") || "no type"}`, () =>
      Effect.gen(function* () {
        const { port } = yield* start()
        assertProblem(yield* post(port, lines, "{}"), 415, "unsupported_media_type")
      })
    )
  }

  it.live("of the largest size is read, and one byte more is 413", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      const largest = JSON.stringify("a".repeat(MAX_BODY_BYTES - 2))
      assert.strictEqual((yield* post(port, [JSON_TYPE], largest)).status, 200)
      assertProblem(yield* post(port, [JSON_TYPE], `${largest} `), 413, "payload_too_large")
    })
  )

  it.live("of 20 MB is answered 413, with a length and chunked", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      const body = Buffer.alloc(20_000_000, 0x20)
      const lengthy = yield* post(port, [JSON_TYPE], body)
      assertProblem(lengthy, 413, "payload_too_large")
      assert.strictEqual(lengthy.headers.connection, "close")
      const head = `POST /v1/things HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`
      assertProblem(yield* raw(port, [head, body]), 413, "payload_too_large")
    })
  )

  for (const body of [
    "",
    "{bad",
    "\ufeff{}",
    '{"a":1,"a":1}',
    '{"a":9007199254740993}',
    "[".repeat(33) + "]".repeat(33)
  ]) {
    it.live(`${JSON.stringify(body).slice(0, 30)} is malformed_json`, () =>
      Effect.gen(function* () {
        const { port } = yield* start()
        assertProblem(yield* post(port, [JSON_TYPE], body), 400, "malformed_json")
      })
    )
  }

  it.live("with an ill-formed string is validation_failed at its pointer", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      const problem = assertProblem(
        yield* post(port, [JSON_TYPE], '{"a":["\\u0000"]}'),
        422,
        "validation_failed"
      )
      assert.strictEqual(problem.errors[0].pointer, "/a/0")
    })
  )

  it.live("is requested with 100 Continue", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      const socket = yield* Effect.promise(() => openConnection(port))
      const received = yield* Effect.promise(
        () =>
          new Promise<string>((resolve) => {
            let all = ""
            socket.on("data", (chunk) => {
              all += chunk
              if (all.includes("100 Continue") && !all.includes("200 OK")) socket.write("{}")
            })
            socket.on("close", () => resolve(all))
            socket.write(
              `POST /v1/things HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`
            )
          })
      )
      assert.match(received, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/u)
    })
  )
})

const PIPELINED = "GET /v1/things/a HTTP/1.1\r\nHost: x\r\n\r\n"

describe("refusals below the routes (part 2)", () => {
  for (const [what, bytes, status, code] of [
    ["rubbish", "rubbish\r\n\r\n", 400, "malformed_request"],
    ["a bad header", "GET /boom HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n", 400, "malformed_request"],
    [
      "two framings",
      `POST /v1/things HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`,
      400,
      "malformed_request"
    ],
    [
      "chunks in HTTP/1.0",
      `POST /v1/things HTTP/1.0\r\nHost: x\r\n${JSON_TYPE}\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
      400,
      "malformed_request"
    ],
    [
      "a bad chunk",
      `POST /v1/things HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      400,
      "malformed_request"
    ],
    [
      "headers over 16 KiB",
      `GET /boom HTTP/1.1\r\nHost: x\r\nX: ${"a".repeat(17_000)}\r\n\r\n`,
      431,
      "headers_too_large"
    ],
    [
      "another expectation",
      "GET /boom HTTP/1.1\r\nHost: x\r\nExpect: a-miracle\r\n\r\n",
      417,
      "expectation_failed"
    ],
    ["CONNECT", "CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", 405, "method_not_allowed"]
  ] as const) {
    it.live(`${what}: ${status}`, () =>
      Effect.gen(function* () {
        const { port } = yield* start()
        const answer = yield* raw(port, bytes)
        assertProblem(answer, status, code)
        assert.strictEqual(answer.headers.connection, "close")
      })
    )
  }

  for (const [what, bytes] of [
    ["headers that do not end", "GET /boom HTTP/1.1\r\nHost: x\r\n"],
    [
      "a body that does not end",
      `POST /v1/things HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}\r\nContent-Length: 9\r\n\r\n{`
    ],
    ["silence", ""]
  ] as const) {
    it.live(`${what}: 408`, () =>
      Effect.gen(function* () {
        const { port } = yield* start({ requestTimeoutMs: 50 })
        assertProblem(yield* raw(port, bytes), 408, "request_timeout")
      })
    )
  }

  const POST = `POST /v1/things HTTP/1.1\r\nHost: x\r\n${JSON_TYPE}\r\n`

  for (const [what, bytes, status, requestTimeoutMs] of [
    ["a body that ends too soon", `${POST}Content-Length: 9\r\n\r\n{`, 400, undefined],
    ["a chunked body that ends too soon", `${POST}Transfer-Encoding: chunked\r\n\r\n9\r\n{`, 400, undefined],
    ["a bad chunk", `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 400, undefined],
    ["a body that takes too long", `${POST}Content-Length: 9\r\n\r\n{`, 408, 50]
  ] as const) {
    it.live(
      `${what}: the request that waits for it ends, and is logged by the id and status that were sent`,
      () =>
        Effect.gen(function* () {
          const { log, port } = yield* start(requestTimeoutMs === undefined ? {} : { requestTimeoutMs })
          const socket = yield* Effect.promise(() => openConnection(port))
          const received = new Promise<string>((resolve) => {
            let all = ""
            socket.on("data", (chunk) => {
              all += chunk
            })
            socket.once("close", () => resolve(all))
          })
          socket.write(bytes)
          if (requestTimeoutMs === undefined) socket.end()
          const answer = parseAnswer(yield* Effect.promise(() => received))
          while (log.length < 2) yield* Effect.sleep("5 millis")
          const lines = log.map(({ message, request_id: id }) => [message, id])
          const id = answer.headers["x-request-id"]
          assert.deepStrictEqual(lines, [
            ["request refused", id],
            ["request", id]
          ])
          assert.include(log[1], { route: "/v1/things", status })
          assert.strictEqual(answer.status, status)
        })
    )
  }

  for (const [target, status] of [
    ["POST /nowhere", 404],
    ["PATCH /v1/things", 405]
  ] as const) {
    it.live(`${target} with a body whose end cannot be told is ${status}, and the connection ends`, () =>
      Effect.gen(function* () {
        const { port } = yield* start()
        const first = `${target} HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`
        const received = yield* Effect.promise(() => exchange(port, first + PIPELINED))
        const answer = parseAnswer(received)
        assert.deepStrictEqual([answer.status, answer.headers.connection], [status, "close"])
        assert.lengthOf(received.split("HTTP/1.1 ").slice(1), 1)
      })
    )
  }

  it.live("an upgrade is ignored", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      const answer = yield* send(port, ["GET /v1/things/a HTTP/1.1", "Host: x", "Upgrade: websocket"])
      assert.strictEqual(answer.status, 200)
    })
  )
})

describe("a write (part 2)", () => {
  it.live("completes after its client disconnects", () =>
    Effect.gen(function* () {
      const { gate, port } = yield* start()
      const socket = yield* Effect.promise(() => openConnection(port))
      socket.write("PUT /write HTTP/1.1\r\nHost: x\r\n\r\n")
      yield* Deferred.await(gate.entered)
      socket.destroy()
      yield* Deferred.await(gate.deserted)
      yield* Deferred.succeed(gate.opened, undefined)
      yield* Deferred.await(gate.written)
    })
  )
})

describe("a read (part 2)", () => {
  it.live("is interrupted when its client disconnects, and logged as such", () =>
    Effect.gen(function* () {
      const { gate, log, port } = yield* start()
      const socket = yield* Effect.promise(() => openConnection(port))
      socket.write("GET /read HTTP/1.1\r\nHost: x\r\n\r\n")
      yield* Deferred.await(gate.entered)
      socket.destroy()
      while (log.length === 0) yield* Effect.sleep("5 millis")
      assert.include(log[0], { route: "/read", status: 499 })
      assert.isFalse(Deferred.isDoneUnsafe(gate.written))
    })
  )
})

describe("a client that stops reading (part 2)", () => {
  /** Bytes that arrive when nothing is read for a while. */
  const receivedAfter = (port: number, pause: Duration.Input) =>
    Effect.gen(function* () {
      const socket = yield* Effect.promise(() => openConnection(port))
      socket.pause()
      socket.write("GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
      yield* Effect.sleep(pause)
      return yield* Effect.promise(
        () =>
          new Promise<number>((resolve) => {
            let bytes = 0
            socket.on("data", (chunk) => {
              bytes += chunk.length
            })
            socket.on("error", () => {})
            socket.once("close", () => resolve(bytes))
            socket.resume()
          })
      )
    })

  it.live(
    "is disconnected in the middle of the answer",
    () =>
      Effect.gen(function* () {
        const { port } = yield* start({ stallTimeoutMs: 300 })
        // On a busy machine the server may not have begun to wait when the first pauses are over.
        for (const pause of ["1 second", "3 seconds", "9 seconds", "27 seconds"] as const) {
          if ((yield* receivedAfter(port, pause)) < LARGE_ANSWER_BYTES) return
        }
        assert.fail("the whole answer was sent to somebody who did not read it")
      }),
    120_000
  )

  it.live("gets the whole answer if it resumes in time", () =>
    Effect.gen(function* () {
      const { port } = yield* start()
      const received = yield* Effect.promise(() =>
        exchange(port, "GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
      )
      assert.isAbove(received.length, LARGE_ANSWER_BYTES)
    })
  )
})

describe("a graceful shutdown", () => {
  it.live("answers requests that were sent before it and not yet read", () =>
    Effect.gen(function* () {
      const { port, stop } = yield* start()
      const sockets = yield* Effect.promise(() =>
        Promise.all(Array.from({ length: 16 }, () => openConnection(port)))
      )
      const answers = sockets.map(
        (socket) =>
          new Promise<string>((resolve) => {
            let all = ""
            socket.on("data", (chunk) => {
              all += chunk
            })
            socket.once("close", () => resolve(all))
            socket.write("GET /v1/things/a HTTP/1.1\r\nHost: x\r\n\r\n")
          })
      )
      const stopping = yield* Effect.forkChild(stop)
      const received = yield* Effect.promise(() => Promise.all(answers))
      for (const answer of received) assert.strictEqual(parseAnswer(answer).status, 200)
      yield* Fiber.join(stopping)
    })
  )

  it.live("closes idle and silent connections, and completes requests in flight", () =>
    Effect.gen(function* () {
      const { gate, port, stop } = yield* start()
      const silent = yield* Effect.promise(() => openConnection(port))
      const closed = Effect.promise(
        () => new Promise<void>((resolve) => silent.once("close", () => resolve()))
      )
      const answered = exchange(port, "PUT /write HTTP/1.1\r\nHost: x\r\n\r\n")
      yield* Deferred.await(gate.entered)
      const stopping = yield* Effect.forkChild(stop)
      yield* closed
      yield* Deferred.succeed(gate.opened, undefined)
      const answer = parseAnswer(yield* Effect.promise(() => answered))
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.connection, "close")
      yield* Fiber.join(stopping)
    })
  )
})
