import { randomBytes } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { EventFeed, FEED_START } from "@svc/domain/ports/EventFeed"
import { recordMandate } from "@svc/testkit/store-contract/StoreUnderTest"
import { Effect, Layer, Redacted, Schedule } from "effect"
import { Reactivity } from "effect/reactivity"
import * as PostgresStore from "../src/PostgresStore.ts"
import { openTestDatabase } from "./TestPostgres.ts"

/* An event whose transaction began early and commits late. Its position is the table's to give. */

const server = await openTestDatabase()
const url = Redacted.make(server?.url ?? "")
const schema = `late_${randomBytes(6).toString("hex")}`

const read = Effect.fnUntraced(function* (organization: string, after: string) {
  const feed = yield* EventFeed
  const page = yield* feed.read({ organization, after, limit: 100, bytes: 1_000_000 })
  assert.isDefined(page)
  return { ...page!, mandates: page!.events.map(({ mandate }) => mandate) }
})

/** Reads until so many have come: a transaction of anybody on the server holds back what was begun after it. */
const readUntil = (count: number, organization: string, after: string) =>
  read(organization, after).pipe(
    Effect.repeat({
      until: ({ mandates }) => mandates.length >= count,
      schedule: Schedule.spaced("50 millis")
    })
  )

describe.skipIf(server === undefined)("an event that commits late (part 8)", () => {
  afterAll(() => server?.stop())

  it.live("holds back the events begun after it, and precedes them in the feed", () =>
    Effect.gen(function* () {
      const sql = yield* PgClient.make({ url, maxConnections: 1 })
      const first = yield* recordMandate()
      const { organization } = first.stream
      const { position } = yield* readUntil(1, organization, FEED_START)
      const during = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql.unsafe(
            `insert into ${schema}.event (organization, mandate, seq, schema, id, type, text)
              values ($1, 'mnd_late', 1, 1, 'evt_late', 'mandate.created', '{}')`,
            [organization]
          )
          const second = yield* recordMandate({ organization })
          const page = yield* read(organization, position)
          assert.deepStrictEqual(page, {
            events: [],
            mandates: [],
            position,
            hasMore: false
          })
          return second.stream.state.mandate.terms.mandate_id
        })
      )
      const { mandates, position: end } = yield* readUntil(2, organization, position)
      assert.deepStrictEqual(mandates, ["mnd_late", during])
      yield* sql
        .withTransaction(
          Effect.andThen(
            sql.unsafe(
              `insert into ${schema}.event (organization, mandate, seq, schema, id, type, text)
                values ($1, 'mnd_never', 1, 1, 'evt_never', 'mandate.created', '{}')`,
              [organization]
            ),
            Effect.fail("rolled back")
          )
        )
        .pipe(Effect.flip)
      assert.deepStrictEqual((yield* read(organization, end)).mandates, [])
    }).pipe(
      Effect.provide(
        Layer.provideMerge(PostgresStore.layer({ url, schema, migrations: "run" }), Reactivity.layer)
      )
    )
  )
})
