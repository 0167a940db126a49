import { randomBytes } from "node:crypto"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { openTestDatabase } from "@svc/store-postgres/test/TestPostgres"
import { Pool, type PoolClient } from "pg"
import { approvedMandate, makeShop, newProposal } from "../test/Shop.ts"
import { type Calls, createService, type SvcError } from "./index.ts"
import { postgres } from "./postgres.ts"

const server = await openTestDatabase()
const pool = new Pool({ connectionString: server?.url ?? "", max: 8 })
const masterKey = new Uint8Array(randomBytes(32))

afterAll(async () => {
  await pool.end()
  await server?.stop()
})

/** A service on the host's pool with a mandate of EUR 50 that may be used once, and a table of the host's own. */
const startShop = async () => {
  const schema = `shop_${randomBytes(6).toString("hex")}`
  const shop = makeShop({ store: postgres({ pool, schema }), masterKey })
  const service = createService(shop.serviceOptions)
  const face = service.forOrganization(shop.id)
  const mandate = await approvedMandate(shop, face, service.fetch)
  await pool.query(`create table ${schema}.orders (id text primary key)`)
  const orders = async () => (await pool.query(`select id from ${schema}.orders`)).rows.map(({ id }) => id)
  const order = async (client: PoolClient, id: string) => {
    await client.query(`insert into ${schema}.orders (id) values ($1)`, [id])
  }
  return { shop, service, face, mandate, orders, order }
}

const within = async <A>(begin: string, run: (client: PoolClient) => Promise<A>): Promise<A> => {
  const client = await pool.connect()
  try {
    await client.query(begin)
    return await run(client)
  } finally {
    await client.query("rollback")
    client.release()
  }
}

const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => "done",
    (error: unknown) => error
  )

describe.skipIf(server === undefined)("a transaction of the host", () => {
  it("keeps an authorization with the host's own rows", async () => {
    const { face, mandate, order, orders, service, shop } = await startShop()
    const { proposal } = await newProposal()
    const client = await pool.connect()
    await client.query("begin")
    const authorization = await service.transaction(client, async (tx) => {
      await order(client, "order-1")
      return tx
        .forOrganization(shop.id)
        .authorizations.propose(mandate, proposal, { idempotencyKey: "order-1" })
    })
    assert.isTrue(authorization.can_execute)
    await client.query("commit")
    client.release()
    assert.deepStrictEqual(await orders(), ["order-1"])
    assert.strictEqual((await face.authorizations.get(authorization.id)).state, "RESERVED")
    const again = await face.authorizations.propose(mandate, proposal, { idempotencyKey: "order-1" })
    assert.strictEqual(again.id, authorization.id)
    await service.close()
  })

  it("takes an authorization back with the host's own rows, and the mandate can be used again", async () => {
    const { face, mandate, order, orders, service, shop } = await startShop()
    const { proposal } = await newProposal()
    const gone = await within("begin", (client) =>
      service.transaction(client, async (tx) => {
        await order(client, "order-1")
        return tx
          .forOrganization(shop.id)
          .authorizations.propose(mandate, proposal, { idempotencyKey: "order-1" })
      })
    )
    assert.isTrue(gone.can_execute)
    assert.deepStrictEqual(await orders(), [])
    const missing = await failureOf(face.authorizations.get(gone.id))
    assert.strictEqual((missing as SvcError).code, "not_found")
    const next = await face.authorizations.propose(mandate, (await newProposal()).proposal, {
      idempotencyKey: "order-1"
    })
    assert.isTrue(next.can_execute)
    await service.close()
  })

  it("waits for what its run did not, and is over with it: nothing is decided in the transaction that comes next", async () => {
    const { face, mandate, service, shop } = await startShop()
    const failed = new Error("nothing is left in stock")
    const client = await pool.connect()
    await client.query("begin")
    let kept: Calls["authorizations"] | undefined
    const [first, second] = [(await newProposal(1)).proposal, (await newProposal(2)).proposal]
    const unawaited: Array<Promise<unknown>> = []
    const outcome = await service
      .transaction(client, async (tx) => {
        kept = tx.forOrganization(shop.id).authorizations
        unawaited.push(kept.propose(mandate, first), kept.propose(mandate, second))
        await Promise.reject(failed)
      })
      .catch((error: unknown) => error)
    assert.strictEqual(outcome, failed)
    // What was under way has ended before, so that the rollback takes all of it.
    await client.query("rollback")
    await Promise.allSettled(unawaited)
    assert.lengthOf((await face.authorizations.list(mandate)).data, 0)

    await client.query("begin")
    const late = await failureOf(kept!.propose(mandate, (await newProposal()).proposal))
    assert.strictEqual((late as SvcError).code, "invalid_argument")
    await client.query("rollback")
    client.release()
    assert.isTrue((await face.authorizations.propose(mandate, (await newProposal()).proposal)).can_execute)
    await service.close()
  })

  it("takes a connection, and no pool", async () => {
    const { service } = await startShop()
    for (const given of [pool, undefined, {}, async () => undefined]) {
      const refused = await failureOf(service.transaction(given as never, async () => undefined))
      assert.instanceOf(refused, TypeError)
    }
    assert.include(
      String(await failureOf(service.transaction(pool, async () => undefined))),
      "pool.connect()"
    )
    await service.close()
  })

  it("stays usable after a refused call", async () => {
    const { mandate, order, orders, service, shop } = await startShop()
    const { proposal } = await newProposal()
    const client = await pool.connect()
    await client.query("begin")
    await service.transaction(client, async (tx) => {
      const { authorizations } = tx.forOrganization(shop.id)
      await authorizations.propose(mandate, proposal, { idempotencyKey: "key" })
      const other = { ...(await newProposal(1)).proposal, external_reference: "other" }
      const refused = await failureOf(authorizations.propose(mandate, other, { idempotencyKey: "key" }))
      assert.strictEqual((refused as SvcError).code, "idempotency_key_reused")
      const reused = await failureOf(authorizations.propose(mandate, proposal, { idempotencyKey: "new" }))
      assert.strictEqual((reused as SvcError).code, "commitment_reused")
      await order(client, "order-1")
    })
    await client.query("commit")
    client.release()
    assert.deepStrictEqual(await orders(), ["order-1"])
    await service.close()
  })

  it("decides on what a rollback to a savepoint has left, also where that has as many changes as what was taken back", async () => {
    const { face, mandate, service, shop } = await startShop()
    const client = await pool.connect()
    await client.query("begin")
    const kept = await service.transaction(client, async (tx) => {
      const { authorizations } = tx.forOrganization(shop.id)
      const proposed = async () => authorizations.propose(mandate, (await newProposal()).proposal)
      await client.query("savepoint before")
      const [first, second] = [await proposed(), await proposed()]
      assert.deepStrictEqual([first.decision, second.decision], ["ALLOW", "DENY"])
      await client.query("rollback to savepoint before")
      const third = await proposed()
      assert.strictEqual(third.decision, "ALLOW")
      await client.query("savepoint after")
      await authorizations.cancel(third.id, {
        reason: "EXECUTION_FAILED",
        execution_disposition: "NEVER_BECAME_POSSIBLE"
      })
      await client.query("rollback to savepoint after")
      assert.strictEqual((await proposed()).decision, "DENY")
      return third
    })
    await client.query("commit")
    client.release()
    assert.deepStrictEqual(
      (await face.authorizations.list(mandate)).data.map(({ decision, state }) => [decision, state]),
      [
        ["DENY", "DENIED"],
        ["ALLOW", "RESERVED"]
      ]
    )
    assert.strictEqual((await face.authorizations.get(kept.id)).state, "RESERVED")
    await service.close()
  })

  it("lets nobody spend what it has reserved and not committed", async () => {
    const { face, mandate, service, shop } = await startShop()
    const client = await pool.connect()
    await client.query("begin")
    const first = await service.transaction(client, async (tx) =>
      tx.forOrganization(shop.id).authorizations.propose(mandate, (await newProposal()).proposal)
    )
    const meanwhile = face.authorizations.propose(mandate, (await newProposal()).proposal)
    const before = await Promise.race([
      meanwhile.then(() => "decided"),
      new Promise((resolve) => setTimeout(() => resolve("waits"), 300))
    ])
    assert.strictEqual(before, "waits")
    await client.query("commit")
    client.release()
    assert.deepStrictEqual([first.decision, (await meanwhile).decision], ["ALLOW", "DENY"])
    await service.close()
  })

  for (const [what, begin, message] of [
    ["no transaction", "select 1", /in no transaction/u],
    ["another isolation level", "begin isolation level serializable", /must be read committed/u]
  ] as const) {
    it(`is refused with ${what}`, async () => {
      const { service } = await startShop()
      const refused = await within(begin, (client) =>
        failureOf(service.transaction(client, async () => "ran"))
      )
      assert.instanceOf(refused, TypeError)
      assert.match((refused as TypeError).message, message)
      await service.close()
    })
  }

  it("is refused by a service whose store is elsewhere", async () => {
    const service = createService(makeShop().serviceOptions)
    const refused = await within("begin", (client) =>
      failureOf(service.transaction(client, async () => "ran"))
    )
    assert.match((refused as TypeError).message, /not a Postgres server/u)
    await service.close()
  })
})
