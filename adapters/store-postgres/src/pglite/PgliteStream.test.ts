import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import { PGlite } from "@electric-sql/pglite"
import { Effect } from "effect"
import { Reactivity } from "effect/reactivity"
import { preparedPglite } from "../../test/PreparedPglite.ts"
import { streamsTo } from "./PgliteStream.ts"

const openDatabase = Effect.flatMap(preparedPglite, (dataDir) =>
  Effect.acquireRelease(
    Effect.promise(() => PGlite.create({ dataDir })),
    (database) => Effect.promise(() => database.close())
  )
)

describe("a stream to PGlite", () => {
  it.live("leaves nothing to the next one if it is cut in mid-transaction", () =>
    Effect.gen(function* () {
      const database = yield* openDatabase
      const open = streamsTo(database)
      const streams: Array<ReturnType<typeof open>> = []
      const sql = yield* PgClient.make({
        stream: () => {
          const stream = open()
          streams.push(stream)
          return stream
        },
        username: "postgres",
        database: "postgres",
        maxConnections: 1
      })
      yield* sql`create table item (name text primary key)`
      const cut = sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`insert into item values ('in the cut')`
          streams.at(-1)!.destroy()
          yield* sql`insert into item values ('after the cut')`
        })
      )
      assert.strictEqual((yield* Effect.exit(cut))._tag, "Failure")
      yield* sql`insert into item values ('acknowledged')`
      assert.isAbove(streams.length, 1)
      streams.at(-1)!.destroy()
      const rows = yield* sql<{ name: string }>`select name from item`.pipe(Effect.retry({ times: 2 }))
      assert.deepStrictEqual(
        rows.map(({ name }) => name),
        ["acknowledged"]
      )
    }).pipe(Effect.provide(Reactivity.layer))
  )

  it.live("begins with the settings of a session, whatever the one before set", () =>
    Effect.gen(function* () {
      const database = yield* openDatabase
      const open = streamsTo(database, { enable_seqscan: "off" })
      const shown = Effect.gen(function* () {
        const sql = yield* PgClient.make({
          stream: open,
          username: "postgres",
          database: "postgres",
          maxConnections: 1
        })
        const [row] = yield* sql<{ enable_seqscan: string }>`show enable_seqscan`
        yield* sql`set enable_seqscan = on`
        return row?.enable_seqscan
      }).pipe(Effect.scoped)
      assert.deepStrictEqual([yield* shown, yield* shown], ["off", "off"])
    }).pipe(Effect.provide(Reactivity.layer))
  )

  it.live("accepts messages in pieces, and passes on no request to cancel", () =>
    Effect.gen(function* () {
      const database = yield* openDatabase
      const sent: Array<Uint8Array> = []
      const open = streamsTo({
        execProtocolRaw: (message) => {
          sent.push(message)
          return database.execProtocolRaw(message)
        }
      })
      const cancel = Buffer.alloc(16)
      cancel.writeUInt32BE(16, 0)
      cancel.writeUInt32BE(80_877_102, 4)
      const canceller = open()
      const isOver = new Promise((resolve) => canceller.on("end", resolve).resume())
      canceller.write(cancel)
      yield* Effect.promise(() => isOver)
      assert.deepStrictEqual(sent, [])

      const startup = Buffer.from("\0\0\0\0\0\x03\0\0user\0postgres\0database\0postgres\0\0", "latin1")
      startup.writeUInt32BE(startup.length, 0)
      const query = Buffer.from("Q\0\0\0\x0dselect 1\0", "latin1")
      const stream = open()
      const answers: Array<Buffer> = []
      const answered = new Promise<void>((resolve) =>
        stream.on("data", (chunk: Buffer) => {
          answers.push(chunk)
          if (chunk.includes("SELECT 1")) resolve()
        })
      )
      for (const byte of Buffer.concat([startup, query])) stream.write(Buffer.of(byte))
      yield* Effect.promise(() => answered)
      assert.strictEqual(sent.length, 3 + 2)
    })
  )
})
