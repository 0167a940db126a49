import * as PgClient from "@effect/sql-pg/PgClient"
import { PGlite } from "@electric-sql/pglite"
import { Data, Effect, Layer, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlError } from "effect/sql/SqlError"
import { DEFAULT_LANES, type LaneOptions } from "./append/AppendLanes.ts"
import type { PostgresClients } from "./connection/PostgresClients.ts"
import { guardHistory } from "./history/HistoryGuard.ts"
import { type MigrationFailed, migrate } from "./Migrate.ts"
import { DEFAULT_SCHEMA, MAX_MESSAGE_BYTES, PLANNING, type PostgresPorts, portsOf } from "./PostgresStore.ts"
import {
  type FolderHeld,
  type FolderHold,
  type FolderLost,
  type FolderUnusable,
  holdFolder
} from "./pglite/FolderLock.ts"
import { type ProtocolSession, streamsTo } from "./pglite/PgliteStream.ts"
import { closeToOthers, type FolderExposed } from "./pglite/PrivateFolder.ts"

/** The folder does not open as a database. */
export class PgliteUnusable extends Data.TaggedError("PgliteUnusable")<{
  readonly folder: string | undefined
  readonly cause: unknown
}> {}

export interface PgliteOptions {
  /**
   * Where the database is kept. Absent: in memory, until the scope closes. No other process may have it open, which a
   * lock file in it sees to, and no other user may enter it: it is given the mode 0700.
   */
  readonly folder?: string
  /**
   * What is done when the folder turns out to be another process's, as it is once this one was paused for long and
   * taken for dead. From then on every call is `StoreUnavailable`, and nothing is written; only a new start can help.
   */
  readonly onLost?: (lost: FolderLost) => Effect.Effect<void>
}

/** Memory for pages, all of which is written to at every start: the default of 128 MB doubles the time that takes. */
const SHARED_BUFFERS = "16MB"

/** In memory there is nobody to hold it against. */
const UNSHARED: FolderHold = { isHeld: () => true, lost: Effect.never }

const open = (
  folder: string | undefined,
  { isHeld }: FolderHold
): Effect.Effect<PGlite, PgliteUnusable, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const database = await PGlite.create({
          ...(folder === undefined ? {} : { dataDir: folder }),
          startParams: [...PGlite.defaultStartParams, "-c", `shared_buffers=${SHARED_BUFFERS}`]
        })
        // A new database is unpacked with the mode 0666, whatever mask the process has.
        if (folder !== undefined) closeToOthers(folder)
        return database
      },
      catch: (cause) => new PgliteUnusable({ folder, cause })
    }),
    // To close is to write a checkpoint, which in another process's database destroys it.
    (database) => Effect.promise(async () => (isHeld() ? database.close() : undefined))
  )

/** Asks before every message: the clock of a process that was paused tells it nothing, but the lock does. */
const whileHeld = (database: PGlite, { isHeld }: FolderHold): ProtocolSession => ({
  execProtocolRaw: async (message) => {
    if (!isHeld()) throw new Error("the folder of the database is not this process's to write")
    return database.execProtocolRaw(message)
  }
})

/** There is one session: whatever comes while it is busy goes next, together. */
const LANES: LaneOptions = { ...DEFAULT_LANES, lanes: 1 }

type ConnectFault = FolderHeld | FolderUnusable | FolderExposed | PgliteUnusable | MigrationFailed | SqlError

/** A connection to an embedded database whose schema is up to date. It has one session, so one client serves all. */
export const connect = (
  options: PgliteOptions
): Effect.Effect<PostgresClients, ConnectFault, Scope.Scope | Reactivity.Reactivity> =>
  Effect.gen(function* () {
    const { folder, onLost = () => Effect.void } = options
    const hold = folder === undefined ? UNSHARED : yield* holdFolder(folder)
    yield* Effect.forkScoped(Effect.flatMap(hold.lost, onLost))
    const database = yield* open(folder, hold)
    const client = yield* PgClient.make({
      stream: streamsTo(whileHeld(database, hold), PLANNING),
      username: "postgres",
      database: "postgres",
      maxConnections: 1,
      maxMessageSize: MAX_MESSAGE_BYTES
    })
    yield* migrate(client, DEFAULT_SCHEMA)
    return { schema: DEFAULT_SCHEMA, reads: client, writes: client }
  })

/** The storage ports on a Postgres inside the process, for one process at a time. The clock is the machine's. */
export const layer = (options: PgliteOptions = {}): Layer.Layer<PostgresPorts, ConnectFault> =>
  Layer.effectContext(
    Effect.gen(function* () {
      return yield* guardHistory(yield* portsOf(yield* connect(options), LANES), true)
    })
  ).pipe(Layer.provide(Reactivity.layer))
