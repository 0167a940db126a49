/** Fills a mandate with the programs of the checkout that it is run in. */
import * as PostgresStore from "@svc/store-postgres/PostgresStore"
import { fillMandate } from "@svc/store-postgres/test/FilledMandate"
import { portsBesideStore } from "@svc/store-postgres/test/ProgramsOnPostgres"
import { proposalBody } from "@svc/testkit/ProgramHarness"
import { Effect, Layer, Redacted } from "effect"

const AMOUNT = 100

const [url = "", schema = "", organization = "", mandate = "", count = "0"] = process.argv.slice(2)
await fillMandate({
  organization,
  mandate,
  first: 0,
  count: Number(count),
  body: (number) => proposalBody(number, AMOUNT)
}).pipe(
  Effect.provide(
    Layer.mergeAll(
      PostgresStore.layer({ url: Redacted.make(url), schema, migrations: "require" }),
      portsBesideStore
    )
  ),
  Effect.runPromise
)
