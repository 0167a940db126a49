import { randomBytes } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { DueLeases } from "@svc/domain/ports/DueLeases"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { formatInstant } from "@svc/protocol/Timestamp"
import { commitReport, proposalBody } from "@svc/testkit/ProgramHarness"
import { Context, Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import type { PostgresOptions } from "../src/PostgresStore.ts"
import { clockOf, newCaller, processOn, roomyBody } from "./ProgramsOnPostgres.ts"
import { withClient } from "./TestClient.ts"
import { startTestPostgres } from "./TestPostgres.ts"

const MANDATES = 16
const PAIRS_PER_MANDATE = 40
/** A page that is full when a row of it changes, and the first change of `wake_at`, cost an entry of each index. */
const LEAST_SHARE = 0.9
/** A machine that is busy with other things had 0.80 once where it otherwise has 0.97: it may measure again. */
const MEASUREMENTS = 3
/** What every pair updates. */
const TABLES = ["authorization_row", "stream"]
/** How often the statistics are looked at, before what they lack counts as never done. */
const LOOKS = 100

// A server of its own: a transaction that stays open in any database of a server keeps pages from being pruned in all of them.
const server = await startTestPostgres()

interface Updates {
  readonly table: string
  readonly updates: bigint
  readonly heap_only: bigint
}

const updatesOf = (schema: string) =>
  withClient(
    server!.url,
    (sql) => sql<Updates>`select relname::text as "table", n_tup_upd as updates, n_tup_hot_upd as heap_only
        from pg_stat_user_tables where schemaname = ${schema} and n_tup_upd > 0 order by relname`
  )

const pairs = (groupedAppends: PostgresOptions["groupedAppends"]) =>
  Effect.gen(function* () {
    const schema = `hot_${randomBytes(6).toString("hex")}`
    // Sessions report what they have done when they end.
    yield* Effect.scoped(
      Effect.gen(function* () {
        const ports = yield* processOn({
          url: server!.url,
          schema,
          ...(groupedAppends === undefined ? {} : { groupedAppends })
        })
        const now = yield* clockOf(Context.get(ports, MandateStore))
        const caller = newCaller()
        const report = { reported_accepted_at: formatInstant(now) }
        const mandate = (place: number) =>
          Effect.gen(function* () {
            const { resource } = yield* caller.create(roomyBody(now))
            yield* caller.approve(resource.id)
            for (let pair = 0; pair < PAIRS_PER_MANDATE; pair++) {
              const number = place * PAIRS_PER_MANDATE + pair
              const { resource: authorization } = yield* caller.propose(resource.id, proposalBody(number))
              yield* caller.commit(authorization.id, commitReport(number, report))
            }
          })
        const places = Array.from({ length: MANDATES }, (_, place) => place)
        yield* Effect.provide(
          Effect.forEach(places, mandate, { concurrency: "unbounded", discard: true }),
          ports
        )
      })
    )
    const least = BigInt(MANDATES * PAIRS_PER_MANDATE)
    let found: ReadonlyArray<Updates> = []
    // They end a moment after their connections.
    for (let look = 0; look < LOOKS && found.length < TABLES.length; look++) {
      if (look > 0) yield* Effect.sleep("50 millis")
      found = (yield* updatesOf(schema)).filter(({ updates }) => updates >= least)
    }
    return found
  })

const isShort = ({ heap_only, updates }: Updates): boolean =>
  Number(heap_only) / Number(updates) < LEAST_SHARE

describe.skipIf(server === undefined)("pairs of authorize and commit", () => {
  afterAll(() => server?.stop())

  it.live.each([
    ["a statement each", "off"],
    ["a statement for many", undefined]
  ] as const)(
    "update rows without a new entry in any index, %s",
    ([, groupedAppends]) =>
      Effect.gen(function* () {
        let found = yield* pairs(groupedAppends)
        for (let more = 1; more < MEASUREMENTS && found.some(isShort); more++) {
          found = yield* pairs(groupedAppends)
        }
        assert.deepStrictEqual(
          found.map(({ table }) => table),
          TABLES
        )
        assert.deepStrictEqual(found.filter(isShort), [])
      }),
    300_000
  )

  it.live("leave a stream to be woken in vain once, after which it wakes when something is due", () =>
    Effect.gen(function* () {
      const schema = `wake_${randomBytes(6).toString("hex")}`
      const ports = yield* processOn({ url: server!.url, schema })
      const now = yield* clockOf(Context.get(ports, MandateStore))
      const caller = newCaller()
      const mandate = yield* Effect.gen(function* () {
        const { resource } = yield* caller.create(roomyBody(now))
        yield* caller.approve(resource.id)
        const authorization = yield* caller.propose(resource.id, proposalBody(1))
        const report = { reported_accepted_at: formatInstant(now) }
        yield* caller.commit(authorization.resource.id, commitReport(1, report))
        return resource.id
      }).pipe(Effect.provide(ports))
      const sql = yield* PgClient.make({ url: Redacted.make(server!.url) })
      const stream = sql.unsafe<{ readonly wake_at: bigint; readonly next_due: bigint }>(
        `select wake_at, next_due from ${schema}.stream where mandate = '${mandate}'`
      )
      const [committed] = yield* stream
      assert.isBelow(Number(committed!.wake_at), Number(committed!.next_due))
      // As if the authorization's time had passed.
      yield* sql.unsafe(`update ${schema}.stream set wake_at = 1`)
      const taken = yield* Context.get(ports, DueLeases).take({ token: "t", limit: 10, lasts: 1n })
      assert.deepStrictEqual(taken, [])
      const [woken] = yield* stream
      assert.strictEqual(woken!.wake_at, committed!.next_due)
      assert.strictEqual(woken!.next_due, committed!.next_due)
    }).pipe(Effect.provide(Reactivity.layer))
  )
})
