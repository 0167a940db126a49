import { randomBytes } from "node:crypto"
import { afterAll, describe, it } from "@effect/vitest"
import { storeContract } from "@svc/testkit/StoreContract"
import { Layer } from "effect"
import { Pool } from "pg"
import { CallTimeout } from "../src/connection/StoreFault.ts"
import * as HostStore from "../src/HostStore.ts"
import { openTestDatabase } from "./TestPostgres.ts"

const server = await openTestDatabase()
const pool = server === undefined ? undefined : new Pool({ connectionString: server.url, max: 8 })
const schema = `host_${randomBytes(6).toString("hex")}`

afterAll(async () => {
  await pool?.end()
  await server?.stop()
})

if (pool === undefined) describe.skip("HostStore", () => it("needs a Postgres server", () => undefined))
else {
  const store = HostStore.layer({ pool, schema, migrations: "run" })
  const patient = Layer.succeed(CallTimeout, "2 minutes")
  storeContract("HostStore", () => Layer.merge(Layer.orDie(store), patient), { clock: "live" })
}
