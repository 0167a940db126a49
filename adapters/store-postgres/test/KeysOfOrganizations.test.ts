import { randomBytes } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { Context, Effect, Layer, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { inSchema, MIGRATIONS, migrationStatement, preparation } from "../src/Migrations.ts"
import * as PostgresStore from "../src/PostgresStore.ts"
import { openTestDatabase } from "./TestPostgres.ts"

const server = await openTestDatabase()
const url = Redacted.make(server?.url ?? "")

/** Claims as a release recorded them that bound a key to its operation. */
const CLAIMS: ReadonlyArray<readonly [organization: string, kind: string, name: string, resource: string]> = [
  ["org_a", "idempotency_key", "POST /v1/mandates k", "mnd_02"],
  ["org_a", "idempotency_key", "PUT /v1/mandates/{mandate_id}/revocation k", "mnd_01"],
  ["org_a", "idempotency_key", "POST /v1/webhook-endpoints w%_", "whe_01"],
  ["org_b", "idempotency_key", "POST /v1/mandates k", "mnd_03"],
  ["org_a", "commitment", "POST /v1/mandates c", "aut_01"],
  ["org_a", "assertion", "a b c", "aps_01"]
]

describe.skipIf(server === undefined)("claims of a release that bound keys to operations", () => {
  afterAll(() => server?.stop())

  it.live("go on as the organization's, of a key used twice the first", () =>
    Effect.gen(function* () {
      const schema = `test_${randomBytes(6).toString("hex")}`
      const last = MIGRATIONS.findIndex(({ name }) => name === "keys_of_organizations")
      const client = yield* PgClient.make({ url })
      for (const text of preparation(schema)) yield* client.unsafe(text).unprepared
      for (const step of MIGRATIONS.slice(0, last)) {
        yield* client.unsafe(migrationStatement(step, schema)).unprepared
      }
      const insert = inSchema("insert into {schema}.claim values ($1, $2, $3, $4, $5)", schema)
      for (const [organization, kind, name, resource] of CLAIMS) {
        yield* client.unsafe(insert, [organization, kind, name, `of ${resource}`, resource])
      }
      const ports = yield* Layer.build(PostgresStore.layer({ url, schema, migrations: "run" }))
      const store = Context.get(ports, MandateStore)
      const holder = (organization: string, idempotencyKey: string) =>
        Effect.map(store.load({ organization, idempotencyKey }), ({ held }) => held)
      assert.deepStrictEqual(yield* holder("org_a", "k"), { fingerprint: "of mnd_01", resource: "mnd_01" })
      assert.deepStrictEqual(yield* holder("org_b", "k"), { fingerprint: "of mnd_03", resource: "mnd_03" })
      assert.deepStrictEqual(yield* holder("org_a", "w%_"), { fingerprint: "of whe_01", resource: "whe_01" })
      const names = yield* client.unsafe<{ readonly name: string }>(
        inSchema("select name from {schema}.claim order by name", schema)
      )
      assert.deepStrictEqual(
        names.map(({ name }) => name),
        ["POST /v1/mandates c", "a b c", "k", "k", "w%_"]
      )
    }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))
  )
})
