import * as PgClient from "@effect/sql-pg/PgClient"
import { PGlite } from "@electric-sql/pglite"
import { Data, Effect, Layer, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlError } from "effect/sql/SqlError"
import { DEFAULT_LANES, type LaneOptions } from "./AppendLanes.ts"
import { type FolderHeld, holdFolder } from "./FolderLock.ts"
import { type MigrationFailed, migrate } from "./Migrate.ts"
import { streamsTo } from "./PgliteStream.ts"
import type { PostgresClients } from "./PostgresClients.ts"
import { DEFAULT_SCHEMA, MAX_MESSAGE_BYTES, PLANNING, portsOf, type StoragePorts } from "./PostgresStore.ts"

/** The folder does not open as a database. */
export class PgliteUnusable extends Data.TaggedError("PgliteUnusable")<{
  readonly folder: string | undefined
  readonly cause: unknown
}> {}

export interface PgliteOptions {
  /** Where the database is kept. Absent: in memory, until the scope closes. No other process may have it open,
   * which a lock file beside it sees to. */
  readonly folder?: string
}

/** Memory for pages, all of which is written to at every start: the default of 128 MB doubles the time that takes. */
const SHARED_BUFFERS = "16MB"

const open = (folder: string | undefined): Effect.Effect<PGlite, PgliteUnusable, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: () =>
        PGlite.create({
          ...(folder === undefined ? {} : { dataDir: folder }),
          startParams: [...PGlite.defaultStartParams, "-c", `shared_buffers=${SHARED_BUFFERS}`]
        }),
      catch: (cause) => new PgliteUnusable({ folder, cause })
    }),
    (database) => Effect.promise(() => database.close())
  )

/** There is one session: whatever comes while it is busy goes next, together. */
const LANES: LaneOptions = { ...DEFAULT_LANES, lanes: 1 }

type ConnectFault = FolderHeld | PgliteUnusable | MigrationFailed | SqlError

/** A connection to an embedded database whose schema is up to date. It has one session, so one client serves all. */
export const connect = (
  options: PgliteOptions
): Effect.Effect<PostgresClients, ConnectFault, Scope.Scope | Reactivity.Reactivity> =>
  Effect.gen(function* () {
    if (options.folder !== undefined) yield* holdFolder(options.folder)
    const database = yield* open(options.folder)
    const client = yield* PgClient.make({
      stream: streamsTo(database, PLANNING),
      username: "postgres",
      database: "postgres",
      maxConnections: 1,
      maxMessageSize: MAX_MESSAGE_BYTES
    })
    yield* migrate(client, DEFAULT_SCHEMA)
    return { schema: DEFAULT_SCHEMA, reads: client, writes: client, isEmbedded: true }
  })

/** The storage ports on a Postgres inside the process, for one process at a time. The clock is the machine's. */
export const layer = (options: PgliteOptions = {}): Layer.Layer<StoragePorts, ConnectFault> =>
  Layer.effectContext(Effect.flatMap(connect(options), (clients) => portsOf(clients, LANES))).pipe(
    Layer.provide(Reactivity.layer)
  )
