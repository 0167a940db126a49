import { gzipSync } from "node:zlib"
import { assert, describe, it } from "@effect/vitest"
import { TargetRefused, WebhookTransport } from "@svc/domain/ports/WebhookTransport"
import { Effect, Fiber } from "effect"
import { certificateAuthority } from "../test/CertificateAuthority.ts"
import {
  answering,
  type Behaviour,
  dripping,
  endlessly,
  plainReceiver,
  type Receiver,
  silentReceiver,
  tlsReceiver
} from "../test/HostileReceiver.ts"
import { nameServer } from "../test/NameServer.ts"
import { dnsResolve, ResolutionFailed } from "./NameResolver.ts"
import { DISCARD_MAX_BYTES, layer, type WebhookTransportOptions } from "./WebhookTransportHttp.ts"

const NAME = "hooks.example"
const authority = certificateAuthority("test authority")
const certified = authority.issue([NAME])
const BODY = Buffer.from('{"id":"evt_1"}\u00fc')

/** Of loopback, one address stands for the public Internet; everything else is what it is. */
const PUBLIC = "127.0.0.1"
const OPTIONS: WebhookTransportOptions = {
  loopbackAllowed: false,
  isPublic: (address) => address === PUBLIC,
  resolve: () => Effect.succeed([PUBLIC]),
  ca: authority.certificate,
  connectLimitMs: 2000,
  wholeLimitMs: 4000,
  discardLimitMs: 200
}

const deliverTo = (url: string, options: Partial<WebhookTransportOptions> = {}) =>
  WebhookTransport.use((transport) =>
    transport.deliver({ url, headers: { "content-type": "application/json" }, body: BODY })
  ).pipe(Effect.provide(layer({ ...OPTIONS, ...options }), { local: true }))

const check = (url: string, options: Partial<WebhookTransportOptions> = {}) =>
  WebhookTransport.use((transport) => transport.check(url)).pipe(
    Effect.as("accepted"),
    Effect.catch((refused) => Effect.succeed(refused instanceof TargetRefused ? refused.reason : "defect")),
    Effect.provide(layer({ ...OPTIONS, ...options }), { local: true })
  )

const urlOf = ({ port }: Receiver, path = "/") => `https://${NAME}:${port}${path}`

/** Waits for what happens at the other end of a connection soon. */
const eventually = (holds: () => boolean) =>
  Effect.gen(function* () {
    while (!holds()) yield* Effect.sleep(5)
  }).pipe(Effect.timeout(5000))

const received = (status: number) => answering(`HTTP/1.1 ${status} X`, "Content-Length: 0", "", "")

describe("an attempt", () => {
  it.live("sends these bytes to the name, over TLS, and asks to close the connection", () =>
    Effect.gen(function* () {
      const receiver = yield* tlsReceiver(certified, received(200))
      const result = yield* deliverTo(urlOf(receiver, "/a/b?c=%20&d"))
      assert.strictEqual(result.status, 200)
      assert.isUndefined(result.error)
      assert.isAtLeast(result.durationMs, 0)
      assert.isTrue(Number.isInteger(result.durationMs))
      const { serverNames, requests } = receiver.seen
      assert.deepStrictEqual(serverNames, [NAME])
      assert.strictEqual(requests.length, 1)
      const lines = requests[0]!.head.split("\r\n")
      assert.strictEqual(lines[0], "POST /a/b?c=%20&d HTTP/1.1")
      assert.sameMembers(
        lines.slice(1).map((line) => line.toLowerCase()),
        [
          `host: ${NAME}:${receiver.port}`,
          "connection: close",
          "content-type: application/json",
          `content-length: ${BODY.length}`
        ]
      )
      assert.deepStrictEqual(requests[0]!.body, BODY)
    })
  )

  for (const status of [200, 201, 204, 299, 304, 400, 401, 410, 429, 500, 503, 599]) {
    it.live(`answers ${status}`, () =>
      Effect.gen(function* () {
        const receiver = yield* tlsReceiver(certified, received(status))
        assert.strictEqual((yield* deliverTo(urlOf(receiver))).status, status)
      })
    )
  }

  for (const status of [301, 302, 303, 307, 308]) {
    it.live(`does not follow ${status}`, () =>
      Effect.gen(function* () {
        const trap = yield* tlsReceiver(certified, received(200))
        const receiver = yield* tlsReceiver(
          certified,
          answering(`HTTP/1.1 ${status} X`, `Location: ${urlOf(trap)}`, "Content-Length: 0", "", "")
        )
        const result = yield* deliverTo(urlOf(receiver))
        assert.deepStrictEqual({ status: result.status, error: result.error }, { status, error: undefined })
        assert.strictEqual(receiver.seen.requests.length, 1)
        assert.strictEqual(trap.seen.connections, 0)
      })
    )
  }

  it.live("uses a connection of its own, whatever the receiver offers", () =>
    Effect.gen(function* () {
      const receiver = yield* tlsReceiver(
        certified,
        answering(
          "HTTP/1.1 200 OK",
          "Connection: keep-alive",
          "Keep-Alive: timeout=60",
          "Content-Length: 0",
          "",
          ""
        )
      )
      yield* WebhookTransport.use((transport) =>
        Effect.forEach([1, 2, 3], () =>
          Effect.gen(function* () {
            const { status } = yield* transport.deliver({ url: urlOf(receiver), headers: {}, body: BODY })
            assert.strictEqual(status, 200)
            yield* eventually(() => receiver.seen.open === 0)
          })
        )
      ).pipe(Effect.provide(layer(OPTIONS), { local: true }))
      assert.strictEqual(receiver.seen.connections, 3)
    })
  )

  it.live("ends its connection when it is interrupted", () =>
    Effect.gen(function* () {
      const receiver = yield* tlsReceiver(certified, () => undefined)
      const fiber = yield* Effect.forkChild(deliverTo(urlOf(receiver)))
      yield* eventually(() => receiver.seen.requests.length === 1)
      yield* Fiber.interrupt(fiber)
      yield* eventually(() => receiver.seen.open === 0)
    })
  )

  it.live("ends its connection when it is interrupted in mid-handshake", () =>
    Effect.gen(function* () {
      const receiver = yield* silentReceiver()
      const fiber = yield* Effect.forkChild(deliverTo(urlOf(receiver)))
      yield* eventually(() => receiver.seen.bytes > 0)
      yield* Fiber.interrupt(fiber)
      yield* eventually(() => receiver.seen.open === 0)
    })
  )
})

describe("limits", () => {
  it.live("hold where the caller may not be interrupted", () =>
    Effect.gen(function* () {
      const silent = yield* silentReceiver()
      const connecting = deliverTo(urlOf(silent), { connectLimitMs: 100 })
      assert.strictEqual((yield* Effect.uninterruptible(connecting)).error, "timeout")
      const receiver = yield* tlsReceiver(certified, () => undefined)
      const waiting = deliverTo(urlOf(receiver), { wholeLimitMs: 300 })
      assert.strictEqual((yield* Effect.uninterruptible(waiting)).error, "timeout")
      const hanging = check("https://nowhere.example/", { resolve: () => Effect.never, connectLimitMs: 50 })
      assert.strictEqual(yield* Effect.uninterruptible(hanging), "name_unresolved")
    })
  )
})

describe("a hostile answer", () => {
  const HEAD = "HTTP/1.1 200 OK\r\n"

  /** Behaviour, what the attempt comes to, and limits where it takes them. */
  const rows: Readonly<
    Record<string, readonly [Behaviour, number | string, Partial<WebhookTransportOptions>?]>
  > = {
    silence: [() => undefined, "timeout", { wholeLimitMs: 200 }],
    "a header that drips": [
      (socket) => {
        socket.write(`${HEAD}x: `)
        dripping(socket, "y")
      },
      "timeout",
      { wholeLimitMs: 300 }
    ],
    "headers that do not end": [
      (socket) => {
        socket.write(HEAD)
        dripping(socket, "x: y\r\n")
      },
      "timeout",
      { wholeLimitMs: 300 }
    ],
    "endless headers": [
      (socket) => {
        socket.write(HEAD)
        endlessly(socket, `x: ${"y".repeat(1000)}\r\n`)
      },
      "response_invalid"
    ],
    "one endless header": [
      (socket) => {
        socket.write(`${HEAD}x: `)
        endlessly(socket, "y".repeat(1000))
      },
      "response_invalid"
    ],
    "an endless reason": [
      (socket) => {
        socket.write("HTTP/1.1 200 ")
        endlessly(socket, "y".repeat(1000))
      },
      "response_invalid"
    ],
    "endless interim answers": [
      (socket) => endlessly(socket, "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
      "response_invalid"
    ],
    "one interim answer": [
      answering("HTTP/1.1 103 Early Hints", "Link: </x>", "", "HTTP/1.1 202 OK", "Content-Length: 0", "", ""),
      202
    ],
    "a switch of protocols": [
      answering("HTTP/1.1 101 Switching", "Upgrade: x", "Connection: Upgrade", "", ""),
      "connection_failed"
    ],
    "no HTTP": [answering("SSH-2.0-OpenSSH_9.9", "", ""), "response_invalid"],
    "a status that is none": [answering("HTTP/1.1 abc X", "", ""), "response_invalid"],
    "two lengths": [
      answering("HTTP/1.1 200 OK", "Content-Length: 1", "Content-Length: 2", "", "ab"),
      "response_invalid"
    ],
    "a body that never comes": [answering("HTTP/1.1 200 OK", "Content-Length: 10", "", ""), 200],
    "a body that drips": [
      (socket) => {
        socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`)
        dripping(socket, "1\r\nx\r\n")
      },
      200
    ],
    "a body that is cut off": [
      (socket) => {
        socket.write(`${HEAD}Content-Length: 10\r\n\r\nab`, () => socket.destroy())
      },
      200
    ],
    "a body that is malformed": [
      answering("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "", "zz", ""),
      200
    ],
    "a bomb": [
      (socket) => {
        const bomb = gzipSync(Buffer.alloc(50_000_000))
        socket.write(`${HEAD}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`)
        socket.write(bomb)
      },
      200
    ],
    "a close without an answer": [(socket) => void socket.end(), "connection_failed"],
    "a close in mid-headers": [(socket) => void socket.end(`${HEAD}x: y`), "connection_failed"],
    "a reset": [(socket) => void socket.destroy(), "connection_failed"]
  }
  for (const [title, [behave, expected, limits]] of Object.entries(rows)) {
    it.live(`${title}: ${expected}`, () =>
      Effect.gen(function* () {
        const receiver = yield* tlsReceiver(certified, behave)
        const fiber = yield* Effect.forkChild(
          WebhookTransport.use((transport) =>
            Effect.gen(function* () {
              const result = yield* transport.deliver({ url: urlOf(receiver), headers: {}, body: BODY })
              yield* eventually(() => receiver.seen.open === 0)
              return result
            })
          ).pipe(Effect.provide(layer({ ...OPTIONS, ...limits }), { local: true }))
        )
        const result = yield* Fiber.join(fiber)
        assert.strictEqual(result.status ?? result.error, expected)
        assert.strictEqual(receiver.seen.requests.length, 1)
      })
    )
  }

  it.live("an endless body: its status decides, and little of it is read", () =>
    Effect.gen(function* () {
      const piece = Buffer.alloc(1000, "x")
      let written = 0
      const receiver = yield* tlsReceiver(certified, (socket) => {
        socket.write(`${HEAD}\r\n`)
        endlessly(socket, piece)
        socket.on("close", () => {
          written = socket.bytesWritten
        })
      })
      yield* WebhookTransport.use((transport) =>
        Effect.gen(function* () {
          const { status } = yield* transport.deliver({ url: urlOf(receiver), headers: {}, body: BODY })
          assert.strictEqual(status, 200)
          yield* eventually(() => written > 0)
        })
      ).pipe(Effect.provide(layer({ ...OPTIONS, discardLimitMs: 60_000 }), { local: true }))
      // What fits into buffers of both systems has been sent before anybody could stop it.
      assert.isBelow(written, 8_000_000 + DISCARD_MAX_BYTES)
    })
  )

  it.live("a body is read to its end, so that a receiver can finish its answer", () =>
    Effect.gen(function* () {
      let hadError: boolean | undefined
      const receiver = yield* tlsReceiver(certified, (socket) => {
        socket.on("close", (failed) => {
          hadError = failed
        })
        socket.write(`${HEAD}Content-Length: ${DISCARD_MAX_BYTES}\r\n\r\n`)
        setTimeout(() => socket.write("x".repeat(DISCARD_MAX_BYTES)), 50)
      })
      yield* WebhookTransport.use((transport) =>
        Effect.gen(function* () {
          yield* transport.deliver({ url: urlOf(receiver), headers: {}, body: BODY })
          yield* eventually(() => hadError !== undefined)
        })
      ).pipe(Effect.provide(layer({ ...OPTIONS, discardLimitMs: 3000 }), { local: true }))
      assert.isFalse(hadError)
    })
  )
})

describe("TLS", () => {
  const failing: Readonly<Record<string, () => ReturnType<typeof authority.issue>>> = {
    "another name's certificate": () => authority.issue(["other.example"]),
    "a certificate of the parent domain": () => authority.issue(["example"]),
    "an expired certificate": () => authority.issue([NAME], -1),
    "a certificate that is not valid yet": () => authority.issue([NAME], 40),
    "a certificate of an unknown authority": () => certificateAuthority("test authority").issue([NAME])
  }
  for (const [title, issue] of Object.entries(failing)) {
    it.live(`refuses ${title}, and sends nothing`, () =>
      Effect.gen(function* () {
        const receiver = yield* tlsReceiver(issue(), received(200))
        assert.strictEqual((yield* deliverTo(urlOf(receiver))).error, "tls_failed")
        assert.strictEqual(receiver.seen.bytes, 0)
      })
    )
  }

  it.live("takes a certificate that names it among others, or by a wildcard", () =>
    Effect.gen(function* () {
      const receiver = yield* tlsReceiver(authority.issue(["a.example", "*.hooks.example"]), received(200))
      const url = `https://in.hooks.example:${receiver.port}/`
      assert.strictEqual((yield* deliverTo(url)).status, 200)
    })
  )

  it.live("is verified whatever the environment says", () =>
    Effect.gen(function* () {
      const receiver = yield* tlsReceiver(authority.issue(["other.example"]), received(200))
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0"
        }),
        () =>
          Effect.sync(() => {
            delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
          })
      )
      assert.strictEqual((yield* deliverTo(urlOf(receiver))).error, "tls_failed")
    })
  )

  it.live("a handshake that stalls ends with the time to connect", () =>
    Effect.gen(function* () {
      const receiver = yield* silentReceiver()
      const result = yield* deliverTo(urlOf(receiver), { connectLimitMs: 200, wholeLimitMs: 60_000 })
      assert.strictEqual(result.error, "timeout")
      assert.isAtLeast(result.durationMs, 150)
      assert.isBelow(result.durationMs, 5000)
      assert.isAbove(receiver.seen.bytes, 0)
      yield* eventually(() => receiver.seen.open === 0)
    })
  )

  it.live("a receiver in clear where TLS is due gets no request", () =>
    Effect.gen(function* () {
      const receiver = yield* plainReceiver(received(200))
      const result = yield* deliverTo(urlOf(receiver), { connectLimitMs: 300 })
      assert.strictEqual(result.error, "timeout")
      assert.strictEqual(receiver.seen.requests.length, 0)
    })
  )

  it.live("nobody listening", () =>
    Effect.gen(function* () {
      const port = yield* Effect.scoped(Effect.map(silentReceiver(), (receiver) => receiver.port))
      assert.strictEqual((yield* deliverTo(`https://${NAME}:${port}/`)).error, "connection_failed")
    })
  )
})

describe("the target guard", () => {
  const answers = (...addresses: ReadonlyArray<string>) => ({ resolve: () => Effect.succeed(addresses) })
  const refusedAnswers: ReadonlyArray<ReadonlyArray<string>> = [
    ["127.0.0.2"],
    [PUBLIC, "127.0.0.2"],
    ["127.0.0.2", PUBLIC],
    [PUBLIC, "10.0.0.1"],
    [PUBLIC, "::1"],
    [PUBLIC, "::ffff:127.0.0.1"],
    [PUBLIC, "64:ff9b::7f00:1"],
    [PUBLIC, "fe80::1%lo"],
    ["169.254.169.254"],
    ["0.0.0.0"],
    ["::"],
    ["not an address"]
  ]
  for (const addresses of refusedAnswers) {
    it.live(`refuses a name that is ${addresses.join(" and ")}, when registered and when delivered to`, () =>
      Effect.gen(function* () {
        const receiver = yield* tlsReceiver(certified, received(200))
        assert.strictEqual(yield* check(urlOf(receiver), answers(...addresses)), "address_not_public")
        const result = yield* deliverTo(urlOf(receiver), answers(...addresses))
        assert.strictEqual(result.error, "target_refused")
        assert.strictEqual(receiver.seen.connections, 0)
      })
    )
  }

  it.live("tries the other addresses of a name where one does not answer", () =>
    Effect.gen(function* () {
      const receiver = yield* tlsReceiver(certified, received(200))
      const result = yield* deliverTo(urlOf(receiver), {
        isPublic: (address) => address.startsWith("127."),
        ...answers("127.0.0.5", "127.0.0.6", PUBLIC)
      })
      assert.strictEqual(result.status, 200)
    })
  )

  it.live("a name without any address", () =>
    Effect.gen(function* () {
      const url = "https://nowhere.example/"
      assert.strictEqual(yield* check(url, answers()), "name_unresolved")
      assert.strictEqual((yield* deliverTo(url, answers())).error, "target_refused")
    })
  )

  it.live("a name service that fails, or hangs", () =>
    Effect.gen(function* () {
      const url = "https://nowhere.example/"
      const failing = { resolve: () => Effect.fail(new ResolutionFailed({ cause: "SERVFAIL" })) }
      assert.strictEqual(yield* check(url, failing), "name_unresolved")
      assert.strictEqual((yield* deliverTo(url, failing)).error, "connection_failed")
      const hanging = { resolve: () => Effect.never, connectLimitMs: 50 }
      assert.strictEqual(yield* check(url, hanging), "name_unresolved")
      assert.strictEqual((yield* deliverTo(url, hanging)).error, "timeout")
    })
  )

  it.live("checks the form before it asks anybody", () =>
    Effect.gen(function* () {
      const asked = { resolve: () => Effect.die("asked") }
      for (const url of [
        "http://hooks.example/",
        "https://127.0.0.1:8443/",
        "https://localhost:8443/",
        "x"
      ]) {
        assert.strictEqual(yield* check(url, asked), "form")
        assert.strictEqual((yield* deliverTo(url, asked)).error, "target_refused")
      }
    })
  )

  it.live("loopback where the deployment allows it, over http too, and never what is not loopback", () =>
    Effect.gen(function* () {
      const allowed = { loopbackAllowed: true, isPublic: () => false, resolve: () => Effect.die("asked") }
      const receiver = yield* plainReceiver(received(200))
      for (const host of ["localhost", "127.0.0.1"]) {
        const url = `http://${host}:${receiver.port}/x`
        assert.strictEqual(yield* check(url, allowed), "accepted")
        assert.strictEqual((yield* deliverTo(url, allowed)).status, 200)
        assert.include(receiver.seen.requests.at(-1)!.head.toLowerCase(), `host: ${host}:${receiver.port}`)
        assert.strictEqual(yield* check(url), "form")
        assert.strictEqual((yield* deliverTo(url)).error, "target_refused")
      }
      const local = yield* tlsReceiver(authority.issue(["localhost"]), received(200))
      assert.strictEqual((yield* deliverTo(`https://localhost:${local.port}/`, allowed)).status, 200)
      const named = { ...allowed, ...answers("127.0.0.1") }
      const remote = yield* tlsReceiver(certified, received(200))
      assert.strictEqual((yield* deliverTo(urlOf(remote), named)).status, 200)
      assert.strictEqual(
        yield* check(urlOf(remote), { ...allowed, ...answers("127.0.0.1", "10.0.0.1") }),
        "address_not_public"
      )
    })
  )

  it.live("does not ask proxies that the environment names", () =>
    Effect.gen(function* () {
      const proxy = yield* plainReceiver(received(200))
      const receiver = yield* tlsReceiver(certified, received(204))
      const variables = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          for (const name of variables) process.env[name] = `http://127.0.0.1:${proxy.port}`
          process.env.NODE_USE_ENV_PROXY = "1"
        }),
        () =>
          Effect.sync(() => {
            for (const name of [...variables, "NODE_USE_ENV_PROXY"]) delete process.env[name]
          })
      )
      assert.strictEqual((yield* deliverTo(urlOf(receiver))).status, 204)
      assert.strictEqual(proxy.seen.connections, 0)
    })
  )
})

describe("with a name server", () => {
  const resolving = (address: string) => ({ resolve: dnsResolve({ servers: [address] }) })

  it.live("rebinding between registration and delivery is refused", () =>
    Effect.gen(function* () {
      let addresses = [PUBLIC]
      const server = yield* nameServer(({ type }) => (type === "A" ? addresses : []))
      const receiver = yield* tlsReceiver(certified, received(200))
      const trap = yield* tlsReceiver(certified, received(200), { host: "127.0.0.2", port: receiver.port })
      assert.strictEqual(yield* check(urlOf(receiver), resolving(server.address)), "accepted")
      addresses = ["127.0.0.2"]
      const result = yield* deliverTo(urlOf(receiver), resolving(server.address))
      assert.strictEqual(result.error, "target_refused")
      assert.strictEqual(trap.seen.connections + receiver.seen.connections, 0)
    })
  )

  it.live("rebinding between look-up and connection finds no second look-up", () =>
    Effect.gen(function* () {
      let asked = 0
      const server = yield* nameServer(({ type }) => {
        if (type === "AAAA") return []
        asked += 1
        return asked === 1 ? [PUBLIC] : ["127.0.0.2"]
      })
      const receiver = yield* tlsReceiver(certified, received(200))
      const trap = yield* tlsReceiver(certified, received(200), { host: "127.0.0.2", port: receiver.port })
      assert.strictEqual((yield* deliverTo(urlOf(receiver), resolving(server.address))).status, 200)
      assert.deepStrictEqual(server.questions.map(({ type }) => type).sort(), ["A", "AAAA"])
      assert.strictEqual(
        (yield* deliverTo(urlOf(receiver), resolving(server.address))).error,
        "target_refused"
      )
      assert.strictEqual(receiver.seen.connections, 1)
      assert.strictEqual(trap.seen.connections, 0)
    })
  )

  it.live("one bad address of either family refuses all", () =>
    Effect.gen(function* () {
      const bad = yield* nameServer(({ type }) => (type === "A" ? [PUBLIC] : ["fd00::1"]))
      const receiver = yield* tlsReceiver(certified, received(200))
      assert.strictEqual(yield* check(urlOf(receiver), resolving(bad.address)), "address_not_public")
      assert.strictEqual((yield* deliverTo(urlOf(receiver), resolving(bad.address))).error, "target_refused")
      assert.strictEqual(receiver.seen.connections, 0)
    })
  )
})
