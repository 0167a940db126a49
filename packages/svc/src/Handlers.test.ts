import { createServer, get, type Server } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { createClient } from "@svc/client"
import express from "express"
import fastify from "fastify"
import { Hono } from "hono"
import { approvedMandate, commitReport, makeShop, newMandate, newProposal } from "../test/Shop.ts"
import { svcExpress } from "./express.ts"
import { svcFastify } from "./fastify.ts"
import { svcHono } from "./hono.ts"
import { createService, type LogEntry, type Service, SvcError } from "./index.ts"
import { toRouteHandlers } from "./next.ts"
import { toNodeHandler } from "./node.ts"

const portOf = (server: Server): number => (server.address() as AddressInfo).port

const listening = (server: Server, port = 0): Promise<Server> =>
  new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen(port, "localhost", () => resolve(server))
  })

const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })

/** A port that nothing listens on; the service must know it before its host listens there. */
const freePort = async (): Promise<number> => {
  const server = await listening(createServer())
  const port = portOf(server)
  await closed(server)
  return port
}

interface Host {
  readonly close: () => Promise<void>
}

/** A host with a route of its own, `POST /own`, whose JSON body it parses, and the service mounted. */
const HOSTS: Readonly<Record<string, (service: Service, port: number) => Promise<Host>>> = {
  "node:http": async (service, port) => {
    const handle = toNodeHandler(service)
    const server = createServer((request, response) =>
      handle(request, response, () => {
        let text = ""
        request.on("data", (chunk) => {
          text += chunk
        })
        request.on("end", () => response.end(JSON.stringify({ own: JSON.parse(text).a })))
      })
    )
    await listening(server, port)
    return { close: () => closed(server) }
  },
  "Express 5": async (service, port) => {
    const app = express()
    app.use(svcExpress(service))
    app.use(express.json())
    app.post("/own", (request, response) => void response.json({ own: request.body.a }))
    const server = await listening(createServer(app), port)
    return { close: () => closed(server) }
  },
  "Fastify 5": async (service, port) => {
    const app = fastify()
    app.register(svcFastify(service))
    app.post<{ Body: { a: number } }>("/own", async (request) => ({ own: request.body.a }))
    await app.listen({ port, host: "localhost" })
    return { close: () => app.close() }
  },
  Hono: async (service, port) => {
    const app = new Hono()
    app.use(svcHono(service))
    app.post("/own", async (context) => context.json({ own: (await context.req.json()).a }))
    return fetchHost(app.fetch, port)
  },
  "Next route handlers": (service, port) => {
    const handlers = toRouteHandlers(service)
    return fetchHost(async (request) => {
      const { pathname } = new URL(request.url)
      if (pathname === "/own") return Response.json({ own: (await request.json()).a })
      const handle = handlers[request.method as keyof typeof handlers]
      return /^\/(?:mandates|approvals)(?:\/|$)/u.test(pathname) && handle !== undefined
        ? handle(request)
        : new Response(null, { status: 404 })
    }, port)
  }
}

/** A server that hands on web-standard requests, as runtimes with `fetch` handlers do. */
const fetchHost = async (
  handle: (request: Request) => Response | Promise<Response>,
  port: number
): Promise<Host> => {
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Array<Buffer> = []
    for await (const chunk of incoming) chunks.push(chunk)
    const hasBody = chunks.length > 0
    const response = await handle(
      new Request(`http://${incoming.headers.host}${incoming.url}`, {
        method: incoming.method ?? "GET",
        headers: Object.entries(incoming.headers).map(([name, value]): [string, string] => [
          name,
          String(value)
        ]),
        ...(hasBody ? { body: Buffer.concat(chunks) } : {})
      })
    )
    outgoing.writeHead(response.status, Object.fromEntries(response.headers))
    outgoing.end(Buffer.from(await response.arrayBuffer()))
  })
  await listening(server, port)
  return { close: () => closed(server) }
}

for (const [name, makeHost] of Object.entries(HOSTS)) {
  describe(`a service mounted in ${name}`, () => {
    it("serves the API and the approval page below their paths, and leaves the host's own routes alone", async () => {
      const port = await freePort()
      const base = `http://localhost:${port}`
      const shop = makeShop({ baseUrl: `${base}/mandates`, approvalUrl: `${base}/approvals` })
      const service = createService(shop.serviceOptions)
      const host = await makeHost(service, port)
      const { key } = await service.createApiKey(shop.id)
      const send = (request: Request) => fetch(request)

      const mandate = await approvedMandate(shop, service.forOrganization(shop.id), send)
      const { opening, proposal } = await newProposal()
      const call = (method: string, path: string, idempotencyKey: string, body: object) =>
        fetch(`${base}/mandates${path}`, {
          method,
          headers: {
            authorization: `Bearer ${key}`,
            "content-type": "application/json",
            "idempotency-key": idempotencyKey
          },
          body: JSON.stringify(body)
        })
      const proposed = await call("POST", `/v1/mandates/${mandate}/authorizations`, "order-1", proposal)
      const authorization = await proposed.json()
      assert.deepStrictEqual([proposed.status, authorization.can_execute], [201, true])
      assert.strictEqual(
        proposed.headers.get("location"),
        `${base}/mandates/v1/authorizations/${authorization.id}`
      )
      const committed = await call(
        "PUT",
        `/v1/authorizations/${authorization.id}/commit`,
        "commit-1",
        commitReport(opening)
      )
      assert.strictEqual((await committed.json()).state, "COMMITTED")

      const own = await fetch(`${base}/own`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: '{"a":1}'
      })
      assert.deepStrictEqual(await own.json(), { own: 1 })
      const problem = await fetch(`${base}/mandates/nowhere`)
      const { type } = await problem.json()
      assert.strictEqual(type, `${base}/mandates/problems/not-found`)
      assert.strictEqual((await fetch(type)).status, 200)
      await host.close()
      await service.close()
    })

    it("links what its pages load below their paths", async () => {
      const port = await freePort()
      const base = `http://localhost:${port}`
      const shop = makeShop({ baseUrl: `${base}/mandates`, approvalUrl: `${base}/approvals` })
      const service = createService(shop.serviceOptions)
      const host = await makeHost(service, port)
      for (const page of ["/mandates/docs", "/approvals/", "/approvals/approve/none"]) {
        const text = await (await fetch(base + page, { headers: { accept: "text/html" } })).text()
        const links = [...text.matchAll(/(?:href|src)="(\/[^"#]*)"/gu)].map(([, link]) => link!)
        assert.isAbove(links.length, 1, page)
        for (const link of new Set(links)) assert.strictEqual((await fetch(base + link)).status, 200, link)
      }
      const root = await fetch(`${base}/mandates`, { redirect: "manual" })
      assert.deepStrictEqual([root.status, root.headers.get("location")], [302, "/mandates/docs"])
      await host.close()
      await service.close()
    })
  })
}

describe("a service mounted wrongly", () => {
  it("says so at once when a body parser in front of it has read the body", async () => {
    const port = await freePort()
    const base = `http://localhost:${port}`
    const shop = makeShop({ baseUrl: `${base}/mandates`, approvalUrl: `${base}/approvals` })
    const service = createService(shop.serviceOptions)
    const { key } = await service.createApiKey(shop.id)
    const app = express()
    let requests = 0
    app.use((_request, _response, next) => {
      requests += 1
      next()
    })
    app.use(express.json())
    app.use(svcExpress(service))
    const server = await listening(createServer(app), port)
    const response = await fetch(`${base}/mandates/v1/mandates`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", "idempotency-key": "k" },
      body: '{"a":1}'
    })
    const problem = await response.json()
    assert.deepStrictEqual(
      [response.status, problem.code, problem.retryable],
      [400, "malformed_request", false]
    )
    assert.match(problem.detail, /mount it in front of every body parser/u)
    const client = createClient({ baseUrl: `${base}/mandates`, apiKey: key })
    const refused = await client.mandates.create(newMandate("user_1")).then(
      () => "created",
      (error: unknown) => error
    )
    assert.instanceOf(refused, SvcError)
    assert.match(String(refused), /mount it in front of every body parser/u)
    assert.strictEqual(requests, 2)
    await closed(server)
    await service.close()
  })
})

describe("what mounts a service", () => {
  it("says what to pass in place of what it was given", () => {
    const mounts = { toNodeHandler, svcExpress, svcFastify, svcHono, toRouteHandlers }
    for (const [name, mount] of Object.entries(mounts))
      for (const [given, words] of [
        [undefined, "nothing"],
        [null, "null"],
        [{}, "something of type object"],
        [Promise.resolve(), "a promise: await it"]
      ] as const)
        assert.throws(
          () => mount(given as never),
          TypeError,
          `${name} takes a service, as createService returns it, and was given ${words}.`
        )
  })
})

describe("the route handlers of Next", () => {
  it("answer without a content encoding, which Next would drop", async () => {
    const shop = makeShop()
    const service = createService(shop.serviceOptions)
    const { GET } = toRouteHandlers(service)
    const face = service.forOrganization(shop.id)
    const mandate = await approvedMandate(shop, face, service.fetch)
    const { key } = await service.createApiKey(shop.id)
    const headers = { "accept-encoding": "gzip, br", authorization: `Bearer ${key}` }
    const ask = (path: string) => GET(new Request(`http://localhost:3000/mandates${path}`, { headers }))
    const evidence = await ask(`/v1/mandates/${mandate}/evidence`)
    assert.deepStrictEqual([evidence.status, evidence.headers.get("content-encoding")], [200, null])
    assert.strictEqual((await evidence.json()).format, "svc.evidence.v1")
    const document = await ask("/openapi.json")
    assert.deepStrictEqual([document.status, document.headers.get("content-encoding")], [200, null])
    assert.match((await document.json()).openapi, /^3\./u)
    await service.close()
  })

  it("make their service at the first request, once", async () => {
    const shop = makeShop()
    const made: Array<Service> = []
    const handlers = toRouteHandlers(() => {
      made.push(createService(shop.serviceOptions))
      return made[0] as Service
    })
    assert.lengthOf(made, 0)
    for (const handle of [handlers.GET, handlers.HEAD]) {
      const method = handle === handlers.GET ? "GET" : "HEAD"
      const answer = await handle(new Request("http://localhost:3000/mandates/healthz", { method }))
      assert.strictEqual(answer.status, 200)
    }
    assert.lengthOf(made, 1)
    await made[0]?.close()
  })
})

describe("a service that asks its host for the client's address", () => {
  /** Sends a request line as it is, with which no `Request` can be made, and gives the status of the answer. */
  const statusOf = (port: number, line: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, "localhost", () =>
        socket.end(`${line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
      )
      let text = ""
      socket.setEncoding("utf8")
      socket.on("data", (chunk) => {
        text += chunk
      })
      socket.on("error", reject)
      socket.on("close", () => resolve(Number(/^HTTP\/1\.1 (\d{3}) /u.exec(text)?.[1])))
    })

  it("answers whatever request line it is sent, and asks for what a Request can be", async () => {
    const logged: Array<LogEntry> = []
    const asked: Array<string> = []
    const shop = makeShop({
      logger: (entry) => logged.push(entry),
      clientAddress: ({ method, url }) => {
        asked.push(`${method} ${url}`)
        return "192.0.2.1"
      }
    })
    const service = createService(shop.serviceOptions)
    const server = await listening(createServer(toNodeHandler(service)))
    const port = portOf(server)
    const base = "http://localhost:3000"
    for (const [line, status, request] of [
      ["GET /mandates/healthz", 200, `GET ${base}/mandates/healthz`],
      ["GET http://elsewhere.example/mandates/healthz", 200, `GET ${base}/mandates/healthz`],
      ["TRACE /mandates/healthz", 405, undefined],
      ["OPTIONS *", 404, undefined],
      ["GET *", 404, undefined],
      // Node itself refuses the authority form.
      ["GET localhost:3000", 400, undefined],
      ["GET //", 404, `GET ${base}//`],
      ["GET //elsewhere.example/mandates/healthz", 404, `GET ${base}//elsewhere.example/mandates/healthz`],
      ["GET /mandates//healthz", 404, `GET ${base}/mandates//healthz`],
      ["GET /mandates%2Fhealthz", 404, `GET ${base}/mandates%2Fhealthz`],
      ["GET /mandates/v1%2Fmandates", 404, `GET ${base}/mandates/v1%2Fmandates`],
      ["GET /mandates/v1/mandates/%2F", 401, `GET ${base}/mandates/v1/mandates/%2F`],
      ["GET /mandates/%ff", 400, `GET ${base}/mandates/%ff`],
      ["GET http://%/mandates/healthz", 200, `GET ${base}/mandates/healthz`]
    ] as ReadonlyArray<readonly [string, number, string | undefined]>) {
      asked.length = 0
      assert.strictEqual(await statusOf(port, line), status, line)
      assert.deepStrictEqual(asked, request === undefined ? [] : [request], line)
    }
    assert.isEmpty(logged.filter(({ level }) => level === "error" || level === "warn"))
    await closed(server)
    await service.close()
  })
})

describe("a service whose faces have one path", () => {
  it("tells them apart by the host, however that is written", async () => {
    const shop = makeShop({
      baseUrl: "https://api.shop.example",
      approvalUrl: "https://approve.shop.example"
    })
    const service = createService(shop.serviceOptions)
    const server = await listening(createServer(toNodeHandler(service)))
    const statusOf = (host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        get({ port: portOf(server), host: "localhost", path: "/docs", headers: { host } }, (response) => {
          response.resume()
          resolve(response.statusCode)
        }).on("error", reject)
      })
    const approval = [
      "approve.shop.example",
      "APPROVE.Shop.Example",
      "approve.shop.example.",
      "approve.shop.example:443",
      "Approve.shop.example.:443"
    ]
    const api = [
      "api.shop.example",
      "approve.shop.example:8443",
      "approve.shop.example..",
      "approve.shop.example.evil.example",
      "approve.shop.example/",
      "x:443"
    ]
    // Only the API has documents.
    for (const host of approval) assert.strictEqual(await statusOf(host), 404, host)
    for (const host of api) assert.strictEqual(await statusOf(host), 200, host)
    for (const host of approval) {
      const answer = await service.fetch(new Request(`https://${host}/docs`))
      assert.strictEqual(answer.status, 404, host)
    }
    await closed(server)
    await service.close()
  })
})

describe("a client of a service", () => {
  it("is told to check baseUrl when it has that of the approval page, or none of the paths", async () => {
    const shop = makeShop()
    const service = createService(shop.serviceOptions)
    const fetch = (url: string, init: RequestInit) => service.fetch(new Request(url, init))
    for (const baseUrl of ["http://localhost:3000/approvals", "http://localhost:3000"]) {
      const { mandates } = createClient({ baseUrl, apiKey: "svc_test_key", fetch })
      for (const call of [() => mandates.get("mnd_1"), () => mandates.create(newMandate("user_1"))]) {
        const refused = (await call().catch((error: unknown) => error)) as SvcError
        assert.deepStrictEqual([refused.code, refused.status], ["not_found", 404])
        assert.include(refused.message, `is no route of the API: check baseUrl, ${baseUrl},`)
      }
    }
    await service.close()
  })
})

describe("a service without documents and health checks", () => {
  it("leaves their paths to the host", async () => {
    const shop = makeShop({ docs: false, health: false })
    const service = createService(shop.serviceOptions)
    const status = async (path: string) =>
      (await service.fetch(new Request(`http://localhost:3000/mandates${path}`))).status
    assert.deepStrictEqual(
      await Promise.all(["/docs", "/openapi.json", "/healthz"].map(status)),
      [404, 404, 404]
    )
    assert.deepStrictEqual(
      await Promise.all(["/problems/not-found", "/.well-known/jwks.json"].map(status)),
      [200, 200]
    )
    await service.close()
  })
})
