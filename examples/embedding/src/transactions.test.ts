import { setTimeout } from "node:timers/promises"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { openTestDatabase } from "@svc/store-postgres/test/TestPostgres"
import { Pool, type PoolClient } from "pg"
import { createCommitment, type Service, SvcError } from "svc"
import { postgres } from "svc/postgres"
import { approvedShop } from "./approved.ts"

const database = await openTestDatabase()
const pool = new Pool({ connectionString: database?.url ?? "" })

afterAll(async () => {
  await pool.end()
  await database?.stop()
})

const newProposal = async () => ({
  external_reference: "order-1",
  proposed_action: { action: "card.create", payment: { amount: 4200, currency: "EUR" } },
  execution_window_seconds: 300,
  commitment: (await createCommitment()).commitment
})

const propose = (service: Service, client: PoolClient, organization: string, mandate: string) =>
  service.transaction(client, async (within) =>
    within.forOrganization(organization).authorizations.propose(mandate, await newProposal())
  )

describe.skipIf(database === undefined)("a transaction of the host", () => {
  it("that would wait for another in a circle is refused as unavailable, and can only be rolled back", async () => {
    const { id, mandate, newMandate, service } = await approvedShop({
      store: postgres({ pool, schema: "circle" }),
      masterKey: new Uint8Array(32),
      logger: () => undefined
    })
    const other = await newMandate()
    const run = async (first: string, second: string) => {
      const client = await pool.connect()
      await client.query("begin")
      await propose(service, client, id, first)
      await bothHaveOne()
      const outcome = await propose(service, client, id, second).then(
        ({ decision }) => decision,
        (error: unknown) => (error as SvcError).code
      )
      const usable = await client.query("select 1").then(
        () => true,
        () => false
      )
      await client.query(usable ? "commit" : "rollback")
      client.release()
      return `${outcome} ${usable}`
    }
    let begun = 0
    const bothHaveOne = async () => {
      begun += 1
      while (begun < 2) await setTimeout(10)
    }
    const outcomes = await Promise.all([run(mandate.id, other.id), run(other.id, mandate.id)])
    assert.sameMembers(outcomes, ["ALLOW true", "store_unavailable false"])
    await service.close()
  })

  it("waits no longer for a mandate than its lock_timeout says", async () => {
    const { id, mandate, service } = await approvedShop({
      store: postgres({ pool, schema: "waiting" }),
      masterKey: new Uint8Array(32),
      logger: () => undefined
    })
    const [first, second] = [await pool.connect(), await pool.connect()]
    await first.query("begin")
    await propose(service, first, id, mandate.id)
    await second.query("begin")
    await second.query("set local lock_timeout = '200ms'")
    const refused = await propose(service, second, id, mandate.id).catch((error: unknown) => error)
    assert.instanceOf(refused, SvcError)
    assert.strictEqual((refused as SvcError).code, "store_unavailable")
    await second.query("rollback")
    await first.query("commit")
    for (const client of [first, second]) client.release()
    await service.close()
  })

  it("goes on after it was rolled back to a savepoint, with the key and the amount free again", async () => {
    const { id, mandate, service } = await approvedShop({
      store: postgres({ pool, schema: "savepoint" }),
      masterKey: new Uint8Array(32),
      logger: () => undefined
    })
    const client = await pool.connect()
    await client.query("begin")
    await client.query("savepoint attempt")
    const gone = await propose(service, client, id, mandate.id)
    await client.query("rollback to savepoint attempt")
    const kept = await propose(service, client, id, mandate.id)
    await client.query("commit")
    client.release()
    assert.deepStrictEqual([gone.decision, kept.decision], ["ALLOW", "ALLOW"])
    assert.notStrictEqual(gone.id, kept.id)
    await service.close()
  })
})
