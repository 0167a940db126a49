/** Makes active mandates with the programs of the checkout that it is run in, and prints their identifiers as JSON. */
import { formatInstant, NANOS_PER_MILLISECOND } from "@svc/protocol/Timestamp"
import * as PostgresStore from "@svc/store-postgres/PostgresStore"
import { portsBesideStore } from "@svc/store-postgres/test/ProgramsOnPostgres"
import { harnessOrganization, makeCaller, recurringBody } from "@svc/testkit/ProgramHarness"
import { DAY } from "@svc/testkit/StoreFixtures"
import { Effect, Layer, Redacted } from "effect"

const AT_ONCE = 32

const [databaseUrl = "", schema = "", organization = "", count = "0"] = process.argv.slice(1)
const caller = makeCaller(harnessOrganization({ id: organization }))
const endsAt = formatInstant(BigInt(Date.now()) * NANOS_PER_MILLISECOND + 30n * DAY)
const body = recurringBody(
  { periods: [{ unit: "MONTH", max_amount: Number.MAX_SAFE_INTEGER }] },
  { window: { ends_at: endsAt } }
)
const one = Effect.gen(function* () {
  const { resource } = yield* caller.create(body)
  yield* caller.approve(resource.id)
  return resource.id
})
const mandates = await Effect.forEach(Array.from({ length: Number(count) }), () => one, {
  concurrency: AT_ONCE
}).pipe(
  Effect.provide(
    Layer.mergeAll(
      PostgresStore.layer({ url: Redacted.make(databaseUrl), schema, migrations: "run" }),
      portsBesideStore
    )
  ),
  Effect.runPromise
)
process.stdout.write(JSON.stringify(mandates))
