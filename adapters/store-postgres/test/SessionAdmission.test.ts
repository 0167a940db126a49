import { randomBytes } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import {
  addEvent,
  assertUnavailable,
  assertWhole,
  bounded,
  newMandate,
  storeIn
} from "./StreamUnderFaults.ts"
import { openTestDatabase } from "./TestPostgres.ts"

const server = await openTestDatabase()
const url = server?.url ?? ""

describe.skipIf(server === undefined)("a new session of a store", () => {
  afterAll(() => server?.stop())

  it.live("is not decided in before the history of its database was asked for", () =>
    Effect.gen(function* () {
      const schema = `test_${randomBytes(6).toString("hex")}`
      const store = yield* storeIn({ url, schema })
      const operator = yield* PgClient.make({ url: Redacted.make(url) })
      const place = yield* newMandate(store)
      yield* addEvent(store, place)
      // Just now the history was as it should be, and no statement fails: as when a failover meets an idle process.
      yield* operator.unsafe(`update ${schema}.history set timeline = 'FFFFFFFF'`)
      yield* operator.unsafe(
        `select pg_terminate_backend(pid, 5000) from pg_stat_activity
           where datname = current_database() and application_name = 'svc'`
      )
      yield* Effect.sleep("100 millis")
      assertUnavailable(yield* bounded(addEvent(store, place)))
      const { stream } = yield* store.load({ organization: place.organization, stream: place })
      assert.strictEqual(stream?.revision, 2)
      yield* assertWhole(store, place, 2)
    }).pipe(Effect.scoped, Effect.provide(Reactivity.layer))
  )
})
