/**
 * `npm run bench:store`: pairs of authorize and commit per second, through the program and in a bare loop. With
 * `-- --history`: what each operation costs the server with little and with much behind it.
 */
import { randomBytes } from "node:crypto"
import * as PgClient from "@effect/sql-pg/PgClient"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import type { ProgramPorts } from "@svc/testkit/ProgramHarness"
import { Effect, Layer, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { quoteSchema } from "../src/Migrations.ts"
import * as PgliteStore from "../src/PgliteStore.ts"
import * as PostgresStore from "../src/PostgresStore.ts"
import { portsBesideStore } from "../test/ProgramsOnPostgres.ts"
import { startTestPostgres } from "../test/TestPostgres.ts"
import { bareLoop, bareStreams, findPgbench, type RowSizes } from "./BareLoop.ts"
import { fillSchema } from "./FilledSchema.ts"
import { historyBench } from "./history/HistoryBench.ts"
import { programLoop } from "./ProgramLoop.ts"

const CLIENTS = 16
const MANY_CLIENTS = 64
const EX_UNAVAILABLE = 69
/** Approximate size of an open reservation's record in bytes, for when none is left to measure. */
const RESERVATION_BYTES = 300

const option = (name: string, byDefault: number): number => {
  const text = process.argv.find((word) => word.startsWith(`--${name}=`))?.split("=")[1]
  return text === undefined ? byDefault : Number(text)
}
const SECONDS = option("seconds", 8)
const WARM_UP_SECONDS = option("warm-up", 2)
const FILL = option("fill", 60_000)

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

type Storage = Layer.Layer<StoragePorts, unknown>

const programRate = (store: Storage, clients: number): Promise<number> =>
  Effect.gen(function* () {
    yield* programLoop({ clients, seconds: WARM_UP_SECONDS })
    return yield* programLoop({ clients, seconds: SECONDS })
  }).pipe(
    Effect.provide(Layer.mergeAll(store as Layer.Layer<ProgramPorts, unknown>, portsBesideStore)),
    Effect.runPromise
  )

/** Measures the same again once the database is filled, on the same connections, whose plans were made before. */
const twice = (store: Storage, clients: number, fill: Effect.Effect<void, unknown>) =>
  Effect.gen(function* () {
    yield* programLoop({ clients, seconds: WARM_UP_SECONDS })
    const empty = yield* programLoop({ clients, seconds: SECONDS })
    yield* fill
    yield* programLoop({ clients, seconds: WARM_UP_SECONDS })
    return { empty, filled: yield* programLoop({ clients, seconds: SECONDS }) }
  }).pipe(
    Effect.provide(Layer.mergeAll(store as Layer.Layer<ProgramPorts, unknown>, portsBesideStore)),
    Effect.runPromise
  )

const row = (name: string, rates: ReadonlyArray<number>): void =>
  say(`${name.padEnd(46)}${rates.map((rate) => rate.toFixed(0).padStart(10)).join("")}`)

const run = async (): Promise<void> => {
  const server = await startTestPostgres()
  const pgbench = findPgbench()
  if (server === undefined || pgbench === undefined) {
    process.stderr.write(
      "This needs a Postgres server and pgbench (package postgresql-contrib or postgresql).\n"
    )
    process.exitCode = EX_UNAVAILABLE
    return
  }
  const url = Redacted.make(server.url)
  const onServer = <A>(use: (client: PgClient.PgClient) => Effect.Effect<A, unknown>) =>
    PgClient.make({ url, startupParameters: { statement_timeout: "0" } }).pipe(
      Effect.flatMap(use),
      Effect.scoped,
      Effect.provide(Reactivity.layer)
    )
  const newSchema = () => `bench_${randomBytes(6).toString("hex")}`
  const filling = (schema: string) => onServer((client) => fillSchema(client, quoteSchema(schema), FILL))

  try {
    say(`pairs of authorize and commit per second${"empty".padStart(16)}${"filled".padStart(10)}`)
    const program = async (clients: number, groupedAppends: "off" | undefined) => {
      const schema = newSchema()
      const store = PostgresStore.layer({
        url,
        schema,
        migrations: "run",
        writeConnections: Math.min(clients, CLIENTS),
        ...(groupedAppends === undefined ? {} : { groupedAppends })
      })
      return twice(store, clients, filling(schema))
    }
    const sizes = (schema: string): Promise<RowSizes> =>
      Effect.runPromise(
        onServer((client) =>
          Effect.map(
            client.unsafe<Readonly<Record<keyof RowSizes, string | null>>>(
              `select (select avg(octet_length(snapshot))::int from ${schema}.stream)::text as snapshot,
                (select avg(octet_length(text))::int from ${schema}.event)::text as event,
                (select avg(octet_length(record))::int from ${schema}.authorization_row)::text as record,
                (select max(octet_length(reservation))::int from ${schema}.authorization_row)::text as reservation`
            ),
            ([found]) => ({
              snapshot: Number(found!.snapshot),
              event: Number(found!.event),
              record: Number(found!.record),
              reservation: Number(found!.reservation ?? RESERVATION_BYTES)
            })
          )
        )
      )
    row("memory, 16 clients", [await programRate(MemoryStore.layer as Storage, CLIENTS)])
    row("PGlite, 16 clients", [await programRate(PgliteStore.layer(), CLIENTS)])

    const measured = newSchema()
    const store = PostgresStore.layer({ url, schema: measured, migrations: "run", groupedAppends: "off" })
    const one = await twice(store, CLIENTS, filling(measured))
    row("Postgres, 16 clients, one change per append", [one.empty, one.filled])
    const rowSizes = await sizes(quoteSchema(measured))
    const manyAt16 = await program(CLIENTS, undefined)
    row("Postgres, 16 clients, many changes per append", [manyAt16.empty, manyAt16.filled])
    const many = await program(MANY_CLIENTS, undefined)
    row("Postgres, 64 clients, many changes per append", [many.empty, many.filled])

    const bare = async (clients: number) => {
      const schema = newSchema()
      await Effect.runPromise(PostgresStore.migrateServer({ url, schema }))
      const quoted = quoteSchema(schema)
      await Effect.runPromise(onServer((client) => client.unsafe(bareStreams(quoted, clients, rowSizes))))
      const loop = (seconds: number) =>
        bareLoop(pgbench, { url: server.url, schema: quoted, clients, seconds, sizes: rowSizes })
      await loop(WARM_UP_SECONDS)
      const empty = await loop(SECONDS)
      await Effect.runPromise(filling(schema))
      await loop(WARM_UP_SECONDS)
      return { empty, filled: await loop(SECONDS) }
    }
    const bare16 = await bare(CLIENTS)
    row("pgbench, 16 clients", [bare16.empty, bare16.filled])
    const bare64 = await bare(MANY_CLIENTS)
    row("pgbench, 64 clients", [bare64.empty, bare64.filled])
    say(`rows of the program, in bytes: ${JSON.stringify(rowSizes)}`)
    const least = (ours: typeof one, theirs: typeof one) =>
      Math.min(ours.empty / theirs.empty, ours.filled / theirs.filled).toFixed(2)
    // More clients are no help to the bare loop: the better of its two is what to compare with.
    const best = {
      empty: Math.max(bare16.empty, bare64.empty),
      filled: Math.max(bare16.filled, bare64.filled)
    }
    say(`ratio one=${least(one, bare16)} many=${least(many, best)}`)
  } finally {
    await server.stop()
  }
}

const runHistory = async (): Promise<void> => {
  const server = await startTestPostgres()
  if (server === undefined) {
    process.exitCode = EX_UNAVAILABLE
    return
  }
  try {
    await Effect.runPromise(historyBench(server.url, say))
  } finally {
    await server.stop()
  }
}

await (process.argv.includes("--history") ? runHistory() : run())
process.exit()
