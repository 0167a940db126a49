import { afterAll, assert, describe, it } from "@effect/vitest"
import { openTestDatabase } from "@svc/store-postgres/test/TestPostgres"
import { Pool } from "pg"
import { createService } from "svc"
import { postgres } from "svc/postgres"
import { makeLiveService } from "./live.ts"

const database = await openTestDatabase()
const pool = new Pool({ connectionString: database?.url ?? "" })

afterAll(async () => {
  await pool.end()
  await database?.stop()
})

describe.skipIf(database === undefined)("a live service", () => {
  it("starts on a schema that is up to date, and serves its two faces by their hosts", async () => {
    const masterKey = Buffer.alloc(32, 1).toString("base64url")
    const settings = { pool, masterKey, isWorker: false }
    const early = makeLiveService(settings)
    const refused = await early.ready().catch((error: unknown) => String(error))
    assert.match(String(refused), /schema lacks/u)
    await early.close()
    const deployment = createService({
      environment: "live",
      baseUrl: "https://api.shop.example/mandates",
      approvalUrl: "https://approve.shop.example",
      store: postgres({ pool, schema: "mandates" }),
      masterKey
    })
    await deployment.ready()
    await deployment.close()
    const service = makeLiveService(settings)
    const status = async (url: string) => (await service.fetch(new Request(url))).status
    assert.deepStrictEqual(
      await Promise.all(
        [
          "https://api.shop.example/mandates/readyz",
          "https://api.shop.example/mandates/docs",
          "https://approve.shop.example/"
        ].map(status)
      ),
      [200, 404, 200]
    )
    await service.close()
  })
})
