import * as PgClient from "@effect/sql-pg/PgClient"
import { PGlite } from "@electric-sql/pglite"
import { Data, Effect, Layer, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlError } from "effect/sql/SqlError"
import type { PostgresClients } from "./connection/PostgresClients.ts"
import { guardHistory } from "./history/HistoryGuard.ts"
import { type MigrationFault, migrate } from "./Migrate.ts"
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
   * The folder of the database. Absent: in memory, until the scope closes. A lock file keeps other processes out of the
   * folder, and the mode 0700 keeps other users out.
   */
  readonly folder?: string
  /**
   * Runs when another process has taken the folder over, as happens when this one was paused for so long that it was
   * taken for dead. Every call then fails with `StoreUnavailable` and nothing is written until the process is restarted.
   */
  readonly onLost?: (lost: FolderLost) => Effect.Effect<void>
}

/** Memory for pages. All of it is written at every start, which the default of 128 MB would make twice as slow. */
const SHARED_BUFFERS = "16MB"

/** A database in memory is shared with no other process. */
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
    // Closing writes a checkpoint, which would destroy the database if another process has it by now.
    (database) => Effect.promise(async () => (isHeld() ? database.close() : undefined))
  )

/** Checks the lock before every message, since a process cannot tell from its clock that it was paused. */
const whileHeld = (database: PGlite, { isHeld }: FolderHold): ProtocolSession => ({
  execProtocolRaw: async (message) => {
    if (!isHeld()) throw new Error("the folder of the database is not this process's to write")
    return database.execProtocolRaw(message)
  }
})

type ConnectFault = FolderHeld | FolderUnusable | FolderExposed | PgliteUnusable | MigrationFault | SqlError

/** A connection to an embedded database, whatever its schema. It has one session, so all callers share one client. */
export const connectUnmigrated = (
  options: PgliteOptions
): Effect.Effect<
  PostgresClients,
  Exclude<ConnectFault, MigrationFault>,
  Scope.Scope | Reactivity.Reactivity
> =>
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
    return { schema: DEFAULT_SCHEMA, reads: client, writes: client }
  })

/** As {@link connectUnmigrated}, and brings the schema up to date. */
export const connect = (
  options: PgliteOptions
): Effect.Effect<PostgresClients, ConnectFault, Scope.Scope | Reactivity.Reactivity> =>
  Effect.tap(connectUnmigrated(options), ({ schema, writes }) => migrate(writes, schema))

/** The storage ports on a Postgres inside the process, for one process at a time. Its clock is that of the machine. */
export const layer = (options: PgliteOptions = {}): Layer.Layer<PostgresPorts, ConnectFault> =>
  Layer.effectContext(
    Effect.gen(function* () {
      return yield* guardHistory(yield* portsOf(yield* connect(options)), true)
    })
  ).pipe(Layer.provide(Reactivity.layer))
