import { readFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { openTestDatabase } from "@svc/store-postgres/test/TestPostgres"
import { Pool } from "pg"
import { createCommitment, createService, type Run, type RunOutcome } from "svc"
import { memory } from "svc/memory"
import { postgres } from "svc/postgres"
import { approvedShop } from "./approved.ts"
import { charge } from "./checkout.ts"
import { executeAlone } from "./claim.ts"
import { serveOnExpress } from "./express.ts"
import { serveOnFastify } from "./fastify.ts"
import { makeHonoApp } from "./hono.ts"
import * as nextRoute from "./next.ts"
import { serveOnNode } from "./node.ts"
import { reasonOf } from "./reason.ts"
import { makeService } from "./service.ts"
import { placeOrder } from "./transaction.ts"

const folder = fileURLToPath(new URL(".", import.meta.url))

const database = await openTestDatabase()

afterAll(async () => {
  await database?.stop()
})

const stop = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, "localhost")
  await new Promise((resolve) => server.once("listening", resolve))
  const { port } = server.address() as AddressInfo
  await stop(server)
  return port
}

const assertMounted = async (ask: (path: string) => Promise<Response>): Promise<void> => {
  assert.strictEqual((await ask("/mandates/healthz")).status, 200)
  assert.strictEqual((await ask("/approvals/")).status, 200)
  assert.strictEqual(await (await ask("/")).text(), "the shop's own page")
}

describe("the programs of the first page", () => {
  it("mounts the service in at most ten lines", () => {
    for (const name of ["node", "express", "fastify", "hono", "next"]) {
      const lines = readFileSync(`${folder}${name}.ts`, "utf8")
        .split("\n")
        .filter((line) => line.trim() !== "")
      assert.isAtMost(lines.length, 10, name)
    }
  })
})

describe("the examples of embedding", () => {
  for (const [name, serve] of [
    ["node:http", serveOnNode],
    ["Express", serveOnExpress]
  ] as const) {
    it(`mounts the service in ${name}`, async () => {
      const port = await freePort()
      const service = makeService(port)
      const server = serve(service, port)
      await new Promise((resolve) => server.once("listening", resolve))
      await assertMounted((path) => fetch(`http://localhost:${port}${path}`))
      await stop(server)
      await service.close()
    })
  }

  it("mounts the service in Fastify", async () => {
    const port = await freePort()
    const service = makeService(port)
    const app = await serveOnFastify(service, port)
    await assertMounted((path) => fetch(`http://localhost:${port}${path}`))
    await app.close()
    await service.close()
  })

  it("mounts the service in Hono", async () => {
    const service = makeService(3000)
    const app = makeHonoApp(service)
    await assertMounted(async (path) => app.fetch(new Request(`http://localhost:3000${path}`)))
    await service.close()
  })

  it("mounts the service in Next", async () => {
    const response = await nextRoute.GET(new Request("http://localhost:3000/mandates/healthz"))
    assert.deepStrictEqual([response.status, await response.json()], [200, { status: "ok" }])
  })

  it("charges within a mandate, and not beyond it", async () => {
    const { mandate, service, shop } = await approvedShop({ store: memory() })

    const paid: Array<string> = []
    const pay = async ({ authorization, externalActionReference }: Run): Promise<RunOutcome> => {
      paid.push(`${authorization.proposed_action.payment.amount} for ${externalActionReference}`)
      return { outcome: "accepted", provider_transaction_reference: "txn_1" }
    }
    const order = async (id: string, amount: number) => ({
      id,
      mandate: mandate.id,
      amount,
      ...(await createCommitment())
    })
    assert.strictEqual(await charge(shop, await order("order-0", 5001), pay), "not allowed")
    const second = await order("order-1", 4200)
    assert.strictEqual(await charge(shop, second, pay), "committed")
    assert.strictEqual(await charge(shop, second, pay), "committed")
    const { data } = await shop.authorizations.list(mandate.id, { state: "COMMITTED" })
    assert.deepStrictEqual(paid, [`4200 for ${data[0]?.id}`])
    const refused = await shop.mandates.get("mnd_00000000000000000000000000").then(
      () => "found",
      (error: unknown) => reasonOf(error)
    )
    assert.match(refused, /^not_found: /u)
    await service.close()
  })
})

describe.skipIf(database === undefined)("an order in the shop's own database", () => {
  const pool = new Pool({ connectionString: database?.url ?? "" })
  const masterKey = crypto.getRandomValues(new Uint8Array(32))

  beforeAll(() => pool.query("create table orders (id text primary key, claimed_at timestamptz)"))
  afterAll(() => pool.end())

  it("is there with its authorization, or not at all", async () => {
    const { id, mandate, service } = await approvedShop({ store: postgres({ pool }), masterKey })
    const place = async (order: string, amount: number) =>
      placeOrder(
        pool,
        service,
        { id: order, organization: id, mandate: mandate.id },
        {
          external_reference: order,
          proposed_action: { action: "card.create", payment: { amount, currency: "EUR" } },
          execution_window_seconds: 300,
          commitment: (await createCommitment()).commitment
        }
      )
    assert.strictEqual((await place("too-much", 5001)).decision, "DENY")
    assert.strictEqual((await place("order-1", 4200)).decision, "ALLOW")
    const { rows } = await pool.query("select id from orders")
    assert.deepStrictEqual(rows, [{ id: "order-1" }])
    await service.close()
  })

  it("is executed by the one service that claims it, where two that do not claim it both run it", async () => {
    const options = { store: postgres({ pool, schema: "claims" }), masterKey, worker: false }
    const { id, newMandate, service, shop } = await approvedShop(options)
    const other = createService({
      environment: "test",
      baseUrl: "http://localhost:3000/mandates",
      approvalUrl: "http://localhost:3000/approvals",
      ...options
    })
    const shops = [shop, other.forOrganization(id)]
    const propose = async (order: string) => {
      const { commitment, opening } = await createCommitment()
      const { id: authorization } = await shop.authorizations.propose((await newMandate()).id, {
        external_reference: order,
        proposed_action: { action: "card.create", payment: { amount: 4200, currency: "EUR" } },
        execution_window_seconds: 300,
        commitment
      })
      return { id: order, authorization, opening }
    }
    const asked: Array<string> = []
    let meet = () => {}
    const bothAsked = new Promise<void>((resolve) => {
      meet = resolve
    })
    const payTogether = async ({ externalActionReference }: Run): Promise<RunOutcome> => {
      if (asked.push(externalActionReference) === 2) meet()
      await bothAsked
      return { outcome: "accepted", provider_transaction_reference: "txn_1" }
    }
    const twice = await propose("order-2")
    await Promise.all(
      shops.map((each) => each.execute(twice.authorization, payTogether, { opening: twice.opening }))
    )
    assert.deepStrictEqual(asked, [twice.authorization, twice.authorization])

    const once = await propose("order-3")
    await pool.query("insert into orders (id) values ($1)", [once.id])
    const outcomes = await Promise.all(
      shops.map((each) =>
        executeAlone(pool, each, once, async () => ({
          outcome: "accepted",
          provider_transaction_reference: "txn_2"
        }))
      )
    )
    assert.sameMembers(outcomes, ["claimed before", "committed"])
    await service.close()
    await other.close()
  })
})
