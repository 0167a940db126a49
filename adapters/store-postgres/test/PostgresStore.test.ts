import { randomBytes } from "node:crypto"
import { afterAll, describe } from "@effect/vitest"
import { storeContract } from "@svc/testkit/StoreContract"
import { Redacted } from "effect"
import * as PostgresStore from "../src/PostgresStore.ts"
import { startTestPostgres } from "./TestPostgres.ts"

const server = await startTestPostgres()

/** The ports in a new schema of the server. */
const storeIn = (url: string) =>
  PostgresStore.layer({
    url: Redacted.make(url),
    schema: `test "${randomBytes(6).toString("hex")}"`,
    migrations: "run"
  })

describe.skipIf(server === undefined)("on a server", () => {
  storeContract("PostgresStore", () => storeIn(server?.url ?? ""), { clock: "live" })
  afterAll(() => server?.stop())
})
