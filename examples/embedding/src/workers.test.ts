import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { Agent, createServer, get, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout } from "node:timers/promises"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { openTestDatabase } from "@svc/store-postgres/test/TestPostgres"
import { createService, newOrganizationId, type ServiceOptions, SvcError } from "svc"
import { memory } from "svc/memory"
import { toNodeHandler } from "svc/node"
import { postgres } from "svc/postgres"
import { stop } from "./shutdown.ts"
import { runWorker } from "./worker.ts"

const database = await openTestDatabase()

afterAll(async () => {
  await database?.stop()
})

/** How long a mandate of these tests lasts, in milliseconds. */
const LIFETIME = 5000

describe.skipIf(database === undefined)("a worker of its own", () => {
  it("records what comes due while the web processes have none", async () => {
    const id = newOrganizationId()
    const options: ServiceOptions = {
      environment: "test",
      baseUrl: "http://localhost:3000/mandates",
      approvalUrl: "http://localhost:3000/approvals",
      store: postgres({ url: database?.url ?? "", schema: `worker_${randomBytes(6).toString("hex")}` }),
      masterKey: new Uint8Array(32),
      organizations: [{ id, name: "Shop", returnOrigins: [] }],
      worker: false
    }
    const web = createService(options)
    await web.ready()
    const shop = web.forOrganization(id)
    await shop.mandates.create({
      kind: "SINGLE",
      subject_reference: "user_1",
      policy: { currency: "EUR", max_amount: 5000, allowed_actions: ["card.create"] },
      window: { ends_at: new Date(Date.now() + LIFETIME).toISOString() }
    })
    const types = async () => (await shop.events.list()).data.map(({ type }) => type)
    await setTimeout(LIFETIME + 1000)
    assert.deepStrictEqual(await types(), ["mandate.created"])

    const stopping = new AbortController()
    const running = runWorker(createService({ ...options, worker: true }), stopping.signal)
    while ((await types()).length < 2) await setTimeout(100)
    assert.deepStrictEqual(await types(), ["mandate.created", "mandate.expired"])
    stopping.abort()
    await running
    await web.close()
  })
})

describe("a host that stops", () => {
  it("answers the request that it has begun, and refuses calls afterwards", async () => {
    const id = newOrganizationId()
    const service = createService({
      environment: "test",
      baseUrl: "http://localhost:3000/mandates",
      approvalUrl: "http://localhost:3000/approvals",
      store: memory(),
      organizations: [{ id, name: "Shop", returnOrigins: [] }]
    })
    // The client would keep its connection for longer than the test may take.
    const server = createServer({ keepAliveTimeout: 600_000 }, toNodeHandler(service)).listen(0, "127.0.0.1")
    await once(server, "listening")
    const { port } = server.address() as AddressInfo
    const agent = new Agent({ keepAlive: true })
    const begun = once(server, "request")
    const answered = once(get({ host: "127.0.0.1", port, path: "/mandates/healthz", agent }), "response")
    await begun
    const stopped = stop(server, service)
    const [response] = (await answered) as [IncomingMessage]
    assert.strictEqual(response.statusCode, 200)
    response.resume()
    await stopped
    const refused = await service
      .forOrganization(id)
      .mandates.list()
      .catch((error: unknown) => error)
    assert.instanceOf(refused, SvcError)
  })
})
