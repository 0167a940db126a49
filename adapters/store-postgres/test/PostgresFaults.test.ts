import { randomBytes } from "node:crypto"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { followingChange, revokedFact } from "@svc/testkit/StoreFixtures"
import { Effect, Exit } from "effect"
import { inSchema, MIGRATIONS } from "../src/Migrations.ts"
import {
  addEvent,
  assertUnavailable,
  assertWhole,
  isUnavailable,
  newMandate,
  storeIn as openStore,
  recovered,
  type StoreOptions
} from "./StreamUnderFaults.ts"
import { withClient } from "./TestClient.ts"
import { openTestDatabase } from "./TestPostgres.ts"

const server = await openTestDatabase()

const newSchema = (): string => `test_${randomBytes(6).toString("hex")}`

const storeIn = (schema: string, options: Omit<StoreOptions, "url" | "schema"> = {}) =>
  openStore({ ...options, url: server?.url ?? "", schema })

describe.skipIf(server === undefined)("PostgresStore under faults", () => {
  afterAll(() => server?.stop())

  it.live("is migrated once by several processes, and names what is lacking to one that needs it", () =>
    Effect.gen(function* () {
      const schema = newSchema()
      const refusal = yield* Effect.flip(storeIn(schema, { migrations: "require" }))
      assert(refusal._tag === "MigrationsPending")
      assert.deepStrictEqual(
        refusal.pending,
        MIGRATIONS.map(({ name }) => name)
      )
      const stores = yield* Effect.all(
        Array.from({ length: 6 }, () => storeIn(schema)),
        { concurrency: "unbounded" }
      )
      const place = yield* newMandate(stores[0]!)
      yield* addEvent(stores[5]!, place)
      yield* storeIn(schema, { migrations: "require" })
    })
  )

  it.live("serves many requests at once with one connection", () =>
    Effect.gen(function* () {
      const store = yield* storeIn(newSchema(), { readConnections: 1, writeConnections: 1 })
      const places = yield* Effect.replicateEffect(newMandate(store), 50, { concurrency: "unbounded" })
      const results = yield* Effect.forEach(places, (place) => addEvent(store, place), {
        concurrency: "unbounded"
      })
      assert.isTrue(results.every(({ revision }) => revision === 2))
    })
  )

  it.live("reports terminated connections as typed failures, with nothing half written", () =>
    Effect.gen(function* () {
      const schema = newSchema()
      const store = yield* storeIn(schema)
      const place = yield* newMandate(store)
      const terminate = withClient(
        server?.url ?? "",
        (sql) => sql`select pg_terminate_backend(pid) from pg_stat_activity
          where application_name = 'svc' and query like ${`%${schema}%`}`
      )
      let acknowledged = 1
      const write = Effect.exit(addEvent(store, place)).pipe(
        Effect.tap((exit) =>
          Effect.sync(() => {
            if (Exit.isSuccess(exit)) acknowledged = exit.value.revision
            else assertUnavailable(exit)
          })
        )
      )
      yield* Effect.all(
        [
          Effect.replicateEffect(write, 60, { discard: true }),
          Effect.replicateEffect(Effect.delay(terminate, "20 millis"), 8, { discard: true })
        ],
        { concurrency: 2, discard: true }
      )
      const { revision } = yield* recovered(addEvent(store, place))
      assert.isAtLeast(revision, acknowledged + 1)
      yield* assertWhole(store, place, revision)
    })
  )

  it.live("neither reads nor writes a stream of a later release", () =>
    Effect.gen(function* () {
      const schema = newSchema()
      const store = yield* storeIn(schema)
      const place = yield* newMandate(store)
      const reference = { organization: place.organization, stream: place }
      const { now, stream } = yield* store.load(reference)
      const change = followingChange({ now, stream: stream! }, [revokedFact(now)])
      const later = (statement: string) =>
        withClient(server?.url ?? "", (sql) => sql.unsafe(inSchema(statement, schema), [place.mandate]))
      yield* later(`update {schema}.stream set schema = 2 where mandate = $1`)
      assert.isTrue(isUnavailable(yield* Effect.exit(store.append(change))))
      yield* later(
        `update {schema}.stream set snapshot = replace(snapshot, '"schema":1', '"schema":2') where mandate = $1`
      )
      assert.isTrue(isUnavailable(yield* Effect.exit(store.load(reference))))
      const list = store.listMandates({ organization: place.organization, limit: 1 })
      assert.isTrue(isUnavailable(yield* Effect.exit(list)))
      const texts = yield* store.journal({ ...place, afterSeq: 0, uptoSeq: 9, limit: 9 })
      assert.strictEqual(texts.length, 1)
    })
  )
})
