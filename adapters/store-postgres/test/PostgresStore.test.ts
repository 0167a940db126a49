import { randomBytes } from "node:crypto"
import { afterAll, describe } from "@effect/vitest"
import { storeContract } from "@svc/testkit/StoreContract"
import { Effect, Layer, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { migrate } from "../src/Migrate.ts"
import { connect, portsOf } from "../src/PostgresStore.ts"
import { startTestPostgres } from "./TestPostgres.ts"

const server = await startTestPostgres()

/** The ports in a new schema of the server. */
const storeIn = (url: string) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const schema = `test "${randomBytes(6).toString("hex")}"`
      const clients = yield* connect({ url: Redacted.make(url), schema })
      yield* migrate(clients.writes, schema)
      return portsOf(clients)
    })
  ).pipe(Layer.provide(Reactivity.layer))

describe.skipIf(server === undefined)("on a server", () => {
  storeContract("PostgresStore", () => storeIn(server?.url ?? ""), { clock: "live" })
  afterAll(() => server?.stop())
})
