import { Worker } from "node:worker_threads"
import { assert, describe, it } from "@effect/vitest"
import { startTestPostgres } from "@svc/store-postgres/test/TestPostgres"
import { dripping, plainReceiver, silentReceiver } from "@svc/webhook-http/test/HostileReceiver"
import * as WebhookTransportHttp from "@svc/webhook-http/WebhookTransportHttp"
import { Effect, type Scope } from "effect"
import {
  endpointsOf,
  eventually,
  startDelivering,
  storesWith,
  toldReceiver,
  webhooksAt
} from "./DeliveringService.ts"

/** More than one endpoint may have under way at a time. */
const EVENTS = 20

/** So long that no attempt at an endpoint that hangs ends by itself during a test, in milliseconds. */
const PATIENCE_MS = 120_000

const patient = WebhookTransportHttp.layer({
  loopbackAllowed: true,
  connectLimitMs: PATIENCE_MS,
  wholeLimitMs: PATIENCE_MS
})

/** Listens, and never accepts: its queue is full after two connections, and further ones are not established. */
const neverAccepting: Effect.Effect<number, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(async () => {
    const worker = new Worker(
      `const { parentPort } = require("node:worker_threads")
      const server = require("node:net").createServer()
      server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
        parentPort.postMessage(server.address().port)
        setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0))
      })`,
      { eval: true }
    )
    const port = await new Promise<number>((resolve) => worker.once("message", resolve))
    return { worker, port }
  }),
  ({ worker }) => Effect.promise(() => worker.terminate())
).pipe(Effect.map(({ port }) => port))

const server = await startTestPostgres()

for (const { isAbsent, name, open } of storesWith(server)) {
  describe.skipIf(isAbsent)(`one dead endpoint starving others, on ${name}`, () => {
    it.live(
      "four hang, each in its way, and the fifth gets every event while none of their attempts ends",
      () =>
        Effect.gen(function* () {
          const { tenant } = yield* startDelivering(yield* open, { webhookTransport: patient })
          const silent = yield* silentReceiver()
          const stalled = yield* silentReceiver()
          const slow = yield* plainReceiver((socket) => {
            socket.write("HTTP/1.1 200 OK\r\nX: ")
            dripping(socket, "x", 100)
          })
          const full = yield* neverAccepting
          const quick = yield* toldReceiver
          const hangers = [
            `http://127.0.0.1:${silent.port}/`,
            `https://localhost:${stalled.port}/`,
            `http://127.0.0.1:${slow.port}/`,
            `http://127.0.0.1:${full}/`
          ]
          const endpoints = endpointsOf(tenant)
          const hanging = yield* Effect.forEach(hangers, (url) => endpoints.register(url))
          const fifth = yield* endpoints.register(quick.url)
          for (let count = 1; count <= EVENTS; count++) {
            const { id } = yield* tenant.newMandate()
            yield* eventually(`event ${count}`, () => quick.webhooks().length === count)
            assert.strictEqual(JSON.parse(quick.webhooks().at(-1)!.body.toString()).data.mandate_id, id)
          }
          for (const { id } of hanging) {
            const deliveries = yield* endpoints.deliveries(id)
            assert.lengthOf(deliveries, EVENTS)
            for (const { attempts, state } of deliveries)
              assert.deepStrictEqual([state, attempts], ["pending", []])
          }
          // They do hang: each has attempts under way.
          for (const { seen } of [silent, stalled, slow]) assert.isAbove(seen.open, 0)
          assert.lengthOf(yield* endpoints.deliveries(fifth.id), EVENTS)
        })
    )

    it.live("a body that comes byte by byte holds up nothing: its status has decided", () =>
      Effect.gen(function* () {
        const { tenant } = yield* startDelivering(yield* open, { webhookTransport: patient })
        const slow = yield* plainReceiver((socket) => {
          socket.write("HTTP/1.1 202 Accepted\r\nContent-Length: 10000\r\n\r\n")
          dripping(socket, "x", 100)
        })
        const endpoints = endpointsOf(tenant)
        const { id } = yield* endpoints.register(`http://127.0.0.1:${slow.port}/`)
        yield* tenant.newMandate()
        yield* eventually("the event", () => webhooksAt(slow).length === 1)
        for (;;) {
          const [delivery] = yield* endpoints.deliveries(id)
          if (delivery?.state === "delivered") return assert.strictEqual(delivery.attempts[0]?.status, 202)
        }
      })
    )
  })
}
