import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { answering, plainReceiver } from "@svc/guarded-http/test/HostileReceiver"
import { preparedPglite } from "@svc/store-postgres/test/PreparedPglite"
import { MAX_EXPORTS_UNDER_WAY, type OtlpTracesOptions } from "@svc/telemetry/OtlpTraces"
import { Effect, Layer, Redacted } from "effect"
import { NO_INSTRUMENTS } from "../src/start/Instruments.ts"
import { withTraces } from "../src/start/Traces.ts"
import { awaited, eventually } from "./DeliveringService.ts"
import { bodyOf, startService } from "./ServiceUnderTest.ts"

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
const CALLER = "00f067aa0ba902b7"
const TRACEPARENT = `00-${TRACE}-${CALLER}-01`

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number }
}

interface ExportedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly attributes: ReadonlyArray<Attribute>
  readonly status: { readonly code: number }
}

const attribute = (attributes: ReadonlyArray<Attribute>, name: string) => {
  const value = attributes.find(({ key }) => key === name)?.value
  return value?.stringValue ?? value?.intValue
}

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void

/** A collector on this machine. */
const collector = (handle: Handler) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(
        () =>
          new Promise<Server>((resolve) => {
            const server = createServer(async (request, response) => {
              const body: Array<Buffer> = []
              for await (const chunk of request) body.push(chunk)
              handle(request, response, Buffer.concat(body).toString())
            })
            server.listen(0, "127.0.0.1", () => resolve(server))
          })
      ),
      (server) =>
        Effect.promise(async () => {
          server.closeAllConnections()
          await new Promise((resolve) => server.close(resolve))
        })
    ),
    (server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`
  )

const optionsOf = (url: string): OtlpTracesOptions => ({
  url,
  protocol: "http/json",
  headers: Redacted.make({ authorization: "Bearer collector" }),
  compression: "none",
  timeout: "1 minute",
  exportInterval: "20 millis",
  maxBatchSize: 16,
  sampler: "parentbased_always_on",
  samplerRatio: 1,
  serviceName: "mandates",
  serviceVersion: "1",
  resourceAttributes: { region: "eu" }
})

const startTraced = Effect.fnUntraced(function* (url: string, hasWorker = false) {
  const instruments = withTraces(NO_INSTRUMENTS, optionsOf(url))
  return yield* startService({
    instruments,
    observing: instruments.tracing,
    store: { pglite: yield* preparedPglite },
    ...(hasWorker ? { working: Layer.empty } : {})
  })
})

describe("traces", () => {
  it.live("go from the caller through request, program and statement to the webhook's receiver", () =>
    Effect.gen(function* () {
      const spans: Array<ExportedSpan> = []
      const resources: Array<ReadonlyArray<Attribute>> = []
      const authorizations = new Set<string | undefined>()
      const url = yield* collector(({ headers }, response, body) => {
        authorizations.add(headers.authorization)
        for (const { resource, scopeSpans } of JSON.parse(body).resourceSpans) {
          resources.push(resource.attributes)
          for (const { spans: some } of scopeSpans) spans.push(...some)
        }
        response.end("{}")
      })
      const service = yield* startTraced(url, true)
      const { tenant } = service
      const receiver = yield* plainReceiver(answering("HTTP/1.1 204 No Content", "", ""))
      const endpoint = {
        url: `http://127.0.0.1:${receiver.port}/secret-path`,
        event_types: ["mandate.created"]
      }
      bodyOf(yield* tenant.write("POST", "/v1/webhook-endpoints", endpoint), 201)
      const created = bodyOf(
        yield* tenant.send({
          method: "POST",
          path: "/v1/mandates",
          idempotencyKey: "traced",
          body: yield* tenant.mandateBody(),
          headers: { traceparent: TRACEPARENT }
        }),
        201
      )
      const named = (name: string) => spans.filter((span) => span.name === name && span.traceId === TRACE)
      const attempt = yield* awaited(
        "the span of the attempt",
        Effect.sync(() => named("webhook attempt")[0]),
        (span) => span !== undefined
      )
      const [request] = named("POST /v1/mandates")
      const [program] = named("createMandate")
      if (request === undefined) return assert.fail("the request has no span")
      assert.strictEqual(request.parentSpanId, CALLER)
      assert.strictEqual(attribute(request.attributes, "http.response.status_code"), 201)
      assert.strictEqual(attribute(request.attributes, "http.route"), "/v1/mandates")
      assert.strictEqual(attribute(request.attributes, "svc.mandate_id"), created.id)
      assert.strictEqual(program?.parentSpanId, request.spanId)
      const statements = spans.filter(
        ({ attributes, traceId }) => traceId === TRACE && attribute(attributes, "db.query.text") !== undefined
      )
      assert.isNotEmpty(statements)
      assert.isTrue(statements.every(({ parentSpanId }) => parentSpanId !== undefined))
      assert.strictEqual(attribute(attempt!.attributes, "http.response.status_code"), 204)
      yield* eventually("the webhook", () => receiver.seen.requests.length > 0)
      assert.include(
        receiver.seen.requests.map(({ head }) => head).join("\n"),
        `traceparent: 00-${TRACE}-${attempt!.spanId}-01`
      )
      assert.deepStrictEqual([...authorizations], ["Bearer collector"])
      assert.strictEqual(attribute(resources[0]!, "service.name"), "mandates")
      assert.strictEqual(attribute(resources[0]!, "region"), "eu")
      assert.notInclude(JSON.stringify(spans), "secret-path")
      const line = service.log.find((text) => text.includes(created.id) && text.includes('"request"'))
      assert.include(line ?? "", `"trace_id":"${TRACE}","span_id":"${request.spanId}"`)
    })
  )

  it.live("are not made where the caller's are not exported", () =>
    Effect.gen(function* () {
      let bodies = ""
      const url = yield* collector((_, response, body) => {
        bodies += body
        response.end("{}")
      })
      const { tenant } = yield* startTraced(url)
      const headers = { traceparent: `00-${TRACE}-${CALLER}-00` }
      bodyOf(yield* tenant.send({ path: "/v1/mandates", headers }), 200)
      bodyOf(yield* tenant.send({ path: "/v1/mandates?limit=7" }), 200)
      yield* eventually("the span of the other", () => bodies.includes("listMandates"))
      assert.notInclude(bodies, TRACE)
    })
  )

  const COLLECTORS: ReadonlyArray<readonly [string, Handler, number]> = [
    // Each export is tried four times.
    ["fails", (_request, response) => response.writeHead(500).end(), 100],
    ["never answers", () => {}, 2 * MAX_EXPORTS_UNDER_WAY]
  ]
  for (const [what, handle, mostExports] of COLLECTORS) {
    it.live(`cost requests nothing when the collector ${what}`, () =>
      Effect.gen(function* () {
        let exports = 0
        const url = yield* collector((...exchange) => {
          exports += 1
          handle(...exchange)
        })
        const { tenant } = yield* startTraced(url)
        const list = Effect.map(tenant.send({ path: "/v1/mandates" }), ({ status }) => status)
        while (exports === 0) assert.strictEqual(yield* list, 200)
        const statuses = yield* Effect.forEach(Array.from({ length: 100 }), () => list, { concurrency: 8 })
        assert.deepStrictEqual([...new Set(statuses)], [200])
        assert.isAtMost(exports, mostExports)
      })
    )
  }
})
