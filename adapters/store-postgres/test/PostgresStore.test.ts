import { randomBytes } from "node:crypto"
import type * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { OperatorLog } from "@svc/domain/ports/OperatorLog"
import { SigningKeyRecords } from "@svc/domain/ports/SigningKeyRecords"
import { storeContract } from "@svc/testkit/StoreContract"
import { Context, Effect, Layer, Redacted } from "effect"
import { CallTimeout } from "../src/connection/StoreFault.ts"
import { inSchema, quoteSchema } from "../src/Migrations.ts"
import * as PostgresStore from "../src/PostgresStore.ts"
import { previousCalls } from "../src/schema/PreviousCalls.ts"
import { executedPlans, NOTE_PLANS, notesPlansOn } from "./ExecutedPlans.ts"
import { type DataTables, statementsOf, unnarrowedScans, unnarrowedTables } from "./OrganizationCheck.ts"
import { withClient } from "./TestClient.ts"
import { openTestDatabase } from "./TestPostgres.ts"
import { startRecorder } from "./WireRecorder.ts"

/*
 * The contract on a server, through a recorder. The store shards by organization, so what was really sent is looked
 * at afterwards: each statement, and each statement within a function, names the organization of the data it touches.
 */

/** What may look across organizations: secrets that name their organization, what is due, and what dead workers left. */
const ACROSS_ORGANIZATIONS: ReadonlyArray<{ readonly text: RegExp; readonly index: string }> = [
  { text: /where f\.hash = \$1/u, index: "api_key_secret_pkey" },
  { text: /where t\.token_hash = p_reference/u, index: "approval_token_pkey" },
  { text: /where [sw]\.wake_at <= v_clock and/u, index: "stream_wake_of_all" },
  { text: /where gone\.kind = 'due_stream'/u, index: "lease_expiry" },
  {
    text: /where d\.queue = 'due'\s+(?:order by |and \()d\.endpoint, d\.organization/u,
    index: "webhook_delivery_queue"
  },
  { text: /where d\.open_token is not null and d\.open_expires_at <=/u, index: "webhook_delivery_expiry" },
  { text: /where l\.queue = 'later' and l\.next_attempt_at <= v_clock/u, index: "webhook_delivery_later" }
]

/** What goes from one organization to the next, by indexes that begin with it. */
const ALONG_ORGANIZATIONS: typeof ACROSS_ORGANIZATIONS = [
  { text: /e\.organization > o_next/u, index: "webhook_endpoint_pkey" },
  { text: /c\.organization > o_next/u, index: "claim_expiry" }
]

const LISTED = [...ACROSS_ORGANIZATIONS, ...ALONG_ORGANIZATIONS]

/** Which steps of the schema were taken, and which histories it had: of the deployment, not of a request. And indexes. */
const NO_DATA = new Set([
  "migration",
  "migration_pkey",
  "history",
  "history_pkey",
  "history_history_key",
  "partitioning"
])

/** What an operator's command runs, once, over all organizations. */
const NO_REQUEST = new Set(["acknowledge_history"])

const isMigration = (text: string): boolean =>
  /^(?:do \$migration\$|create (?:schema|table) if not exists)/u.test(text)

const server = await openTestDatabase()
const schema = `test "${randomBytes(6).toString("hex")}"`

const notesPlans = await notesPlansOn(server)
const recorder =
  server === undefined
    ? undefined
    : await startRecorder(server.url, { options: notesPlans ? NOTE_PLANS : "" })

// The steps of the schema are no requests, so they are not recorded.
if (server !== undefined) {
  await Effect.runPromise(PostgresStore.migrateServer({ url: Redacted.make(server.url), schema }))
}

const store = () =>
  PostgresStore.layer({ url: Redacted.make(recorder?.url ?? ""), schema, migrations: "run" })

const tablesOf = (sql: PgClient.PgClient) =>
  Effect.map(
    sql<{ readonly name: string }>`select relname::text as name from pg_class
      where relnamespace = ${quoteSchema(schema)}::regnamespace and relkind in ('r', 'p')`,
    (rows): DataTables => ({
      schema,
      names: new Set(rows.map(({ name }) => name).filter((name) => !NO_DATA.has(name)))
    })
  )

/** Texts that name no organization and are not listed; and which of the listed ones were met. */
const judged = (texts: ReadonlyArray<string>, tables: DataTables) => {
  const across = texts.filter((text) => unnarrowedTables(text, tables).length > 0)
  return {
    unlisted: across.filter((text) => !LISTED.some(({ text: form }) => form.test(text))),
    met: LISTED.filter(({ text: form }) => across.some((text) => form.test(text)))
  }
}

const judgedPlans = (plans: ReturnType<typeof executedPlans>, tables: DataTables) => {
  const across = plans.flatMap(({ plan, text }) =>
    unnarrowedScans(plan, tables)
      .filter((index) => !NO_DATA.has(index))
      .map((index) => ({ index, text: text.replaceAll(/\s+/gu, " ") }))
  )
  return {
    unlisted: across.filter(({ index }) => !LISTED.some((listed) => listed.index === index)),
    met: LISTED.filter((listed) => across.some(({ index }) => index === listed.index))
  }
}

const bodiesOf = (sql: PgClient.PgClient) =>
  sql<{
    readonly name: string
    readonly body: string
  }>`select proname::text as name, prosrc as body from pg_proc
    where pronamespace = ${quoteSchema(schema)}::regnamespace`.pipe(
    Effect.map((functions) =>
      functions.filter(
        ({ body, name }) => !NO_REQUEST.has(name) && !inSchema(previousCalls, schema).includes(body)
      )
    )
  )

const sentTexts = (): ReadonlyArray<string> => [...new Set(recorder!.sent().map(({ text }) => text))]

describe.skipIf(server === undefined)("on a server", () => {
  storeContract("PostgresStore", () => Layer.merge(store(), Layer.succeed(CallTimeout, "2 minutes")), {
    clock: "live"
  })

  describe("the statements that the store sends", () => {
    afterAll(async () => {
      await recorder?.stop()
      await server?.stop()
    })

    it.live("name the organization, also within functions, except for a few that are listed", () =>
      Effect.gen(function* () {
        const ports = yield* Layer.build(store())
        const records = Context.get(ports, SigningKeyRecords)
        const jwk = { kty: "EC", crv: "P-256", use: "sig", alg: "ES256", kid: "k", x: "x", y: "y" } as const
        yield* records.addFirst({ publicJwk: jwk, sealed: "sealed" })
        yield* records.list
        yield* records.rotate({ publicJwk: { ...jwk, kid: "l" }, sealed: "sealed" }, "now")
        yield* records.forgetBefore("l")
        yield* records.withdraw("l", { publicJwk: { ...jwk, kid: "m" }, sealed: "sealed" })
        const log = Context.get(ports, OperatorLog)
        yield* log.record({ organization: "", entry: "1", operator: "o", command: "c", arguments: [] })
        const sent = sentTexts()
        yield* withClient(server!.url, (sql) =>
          Effect.gen(function* () {
            const tables = yield* tablesOf(sql)
            const functions = yield* bodiesOf(sql)
            const calls = sent.filter((text) => functions.some(({ name }) => text.includes(`.${name}(`)))
            assert.isAtLeast(calls.length, 2)
            assert.isAbove(sent.filter((text) => text.includes(quoteSchema(schema))).length, 15)
            const texts = [
              ...sent.filter((text) => !isMigration(text)),
              ...functions.flatMap(({ body }) => statementsOf(body))
            ]
            const { met, unlisted } = judged(texts, tables)
            assert.deepStrictEqual(unlisted, [])
            assert.deepStrictEqual(met, LISTED)
          })
        )
      })
    )

    it.live.skipIf(!notesPlans)("use indexes within one organization, except for the same few", () =>
      withClient(server!.url, (sql) =>
        Effect.gen(function* () {
          const plans = executedPlans(recorder!)
          assert.isAbove(plans.length, 1000)
          const { met, unlisted } = judgedPlans(plans, yield* tablesOf(sql))
          assert.deepStrictEqual(unlisted, [])
          assert.deepStrictEqual(met, LISTED)
        })
      )
    )

    it.live("have one form each, and are prepared once per connection however often they run", () =>
      Effect.sync(() => {
        const sent = recorder!.sent()
        const data = sent.filter(({ text }) => text.includes(quoteSchema(schema)) && !isMigration(text))
        assert.isAbove(data.length, 1000)
        assert.isBelow(new Set(data.map(({ text }) => text)).size, 55)
        // A statement that comes while its connection is still preparing it has no name yet.
        const named = new Set(data.filter(({ isNamed }) => isNamed).map(({ text }) => text))
        const unnamed = data.filter(({ isNamed }) => !isNamed).map(({ text }) => text)
        assert.deepStrictEqual(
          unnamed.filter((text) => !named.has(text)),
          []
        )
        assert.isBelow(unnamed.length, data.length / 50)
        assert.deepStrictEqual(recorder!.preparedAgain(), [])
      })
    )

    it.live("would be found if they named no organization", () =>
      Effect.gen(function* () {
        const planted = inSchema("select s.revision from {schema}.stream s where s.mandate = $1", schema)
        yield* withClient(server!.url, (sql) =>
          sql.unsafe(
            inSchema(
              `create function {schema}.planted() returns bigint language plpgsql as $planted$
              begin
                return (select count(*) from {schema}.event e where e.mandate = 'mnd');
              end $planted$`,
              schema
            )
          )
        )
        recorder!.clear()
        yield* withClient(recorder!.url, (sql) =>
          Effect.andThen(
            sql.unsafe(planted, ["mnd"]),
            sql.unsafe(inSchema("select {schema}.planted()", schema))
          )
        )
        const { bodies, tables } = yield* withClient(server!.url, (sql) =>
          Effect.all({ bodies: bodiesOf(sql), tables: tablesOf(sql) })
        )
        const texts = [...sentTexts(), ...bodies.flatMap(({ body }) => statementsOf(body))]
        const { unlisted } = judged(texts, tables)
        assert.strictEqual(unlisted.length, 2)
        assert.strictEqual(unlisted[0], planted)
        if (!notesPlans) return
        const plans = judgedPlans(executedPlans(recorder!), tables)
        assert.strictEqual(plans.unlisted.length, 2)
      })
    )

    it.live("use tables and indexes that begin with the organization", () =>
      Effect.gen(function* () {
        const { indexes, tables } = yield* withClient(server!.url, (sql) =>
          Effect.all({ indexes: indexesOf(sql), tables: tablesOf(sql) })
        )
        const ofData = indexes.filter(({ table }) => tables.names.has(table))
        const keyed = ofData.filter(({ primary }) => primary).map(({ table }) => table)
        assert.isAbove(tables.names.size, 8)
        assert.deepStrictEqual(keyed.sort(), [...tables.names].sort())
        const others = ofData.filter(({ first }) => first !== "organization").map(({ name }) => name)
        assert.deepStrictEqual(others.sort(), ACROSS_ORGANIZATIONS.map(({ index }) => index).sort())
      })
    )

    it.live(
      "leave a look-up by key no index but the primary key's, even for a plan made on empty tables",
      () =>
        Effect.gen(function* () {
          const { indexes, tables } = yield* withClient(server!.url, (sql) =>
            Effect.all({ indexes: indexesOf(sql), tables: tablesOf(sql) })
          )
          const usable = indexes.filter(
            ({ first, isPartial, primary, table }) =>
              tables.names.has(table) && first === "organization" && !primary && !isPartial
          )
          assert.deepStrictEqual(usable.map(({ name }) => name).sort(), ORDERED_OR_FEW)
        })
    )
  })
})

/** Events are looked up in the order of their primary key, which no other index has; and a deployment has few signing keys. */
const ORDERED_OR_FEW = ["event_feed", "signing_key_signs_from"]

/** The indexes of the schema, each with the first column of its key. */
const indexesOf = (sql: PgClient.PgClient) =>
  sql<{
    readonly table: string
    readonly name: string
    readonly primary: boolean
    readonly first: string
    readonly isPartial: boolean
  }>`select t.relname::text as "table", i.relname::text as name, x.indisprimary as "primary", a.attname::text as first,
      x.indpred is not null as "isPartial"
    from pg_index x join pg_class t on t.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
      join pg_attribute a on a.attrelid = x.indrelid and a.attnum = x.indkey[0]
    where t.relnamespace = ${quoteSchema(schema)}::regnamespace`
