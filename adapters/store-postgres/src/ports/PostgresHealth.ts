import type { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { Clock, Effect } from "effect"
import type { FailedWrites } from "../append/WriteConnections.ts"
import { type PostgresClients, statement } from "../connection/PostgresClients.ts"
import { isDurable } from "../connection/ServerRequirements.ts"
import { CallTimeout, guarded } from "../connection/StoreFault.ts"
import { MIGRATIONS } from "../Migrations.ts"

/** Runs on a connection for writes, because each session keeps the settings that it began with and shows only its own. */
const HEALTH = `select array(select m.name from {schema}.migration m) as migrations,
  current_setting('fsync') as fsync, current_setting('full_page_writes') as full_page_writes,
  current_setting('synchronous_commit') as synchronous_commit, current_setting('transaction_read_only') as read_only,
  pg_is_in_recovery() as is_replica`

interface HealthRow {
  readonly migrations: ReadonlyArray<string>
  readonly fsync: string
  readonly full_page_writes: string
  readonly synchronous_commit: string
  readonly read_only: string
  readonly is_replica: boolean
}

/** Longest that a connection for writes may take to respond while the store itself can be reached. */
const SESSION_TIMEOUT = "5 seconds"

/** How long a failed write counts if none has been tried since, in milliseconds. */
const FAILED_WRITE_COUNTS_FOR_MILLISECONDS = 30_000

const faultsOf = (row: HealthRow, isEmbedded: boolean): ReadonlyArray<string> => {
  const taken = new Set(row.migrations)
  const pending = MIGRATIONS.map(({ name }) => name).filter((name) => !taken.has(name))
  return [
    ...(pending.length === 0 ? [] : [`Migrations are pending: ${pending.join(", ")}.`]),
    ...(row.is_replica ? ["The database is a replica, which cannot be written."] : []),
    ...(row.read_only === "on" && !row.is_replica
      ? ["The database does not take writes: it is read-only."]
      : []),
    ...(isDurable(row.synchronous_commit) || isEmbedded
      ? []
      : [
          `The database has synchronous_commit ${row.synchronous_commit}: a crash would lose what was acknowledged.`
        ]),
    // An embedded database runs without both, as documented where it is chosen: it survives the process but not a power cut.
    ...(["fsync", "full_page_writes"] as const)
      .filter((setting) => !isEmbedded && row[setting] !== "on")
      .map(
        (setting) => `The database server has ${setting} off: a power cut would lose what was acknowledged.`
      )
  ]
}

const REASONS: Readonly<Record<string, string>> = {
  "25006": "the session is read-only",
  "42501": "the role lacks a privilege",
  "53100": "the disk is full",
  "53200": "the server is out of memory",
  "53300": "the server has too many connections"
}

const reasonOf = (sqlState: string | undefined): string => {
  if (sqlState === undefined) return "no answer"
  const reason = REASONS[sqlState]
  return reason === undefined ? `SQLSTATE ${sqlState}` : `SQLSTATE ${sqlState}, ${reason}`
}

const failedWritesFault = ({ last, since, sqlState }: FailedWrites): string =>
  `Writes have failed since ${new Date(since).toISOString()}, the last at ${new Date(last).toISOString()}: ${reasonOf(sqlState)}.`

const NO_SESSION = `No connection that writes answered within ${SESSION_TIMEOUT}.`

/**
 * Reports whether the schema is up to date, the server accepts writes and keeps what it acknowledges, and the last writes
 * succeeded.
 */
export const makeStoreHealth = ({ reads, schema, server }: PostgresClients): StoreHealth["Service"] => {
  const onReads = statement<HealthRow>(reads, schema, HEALTH)
  if (server === undefined) {
    return {
      faults: Effect.suspend(() => guarded(Effect.map(onReads([]), ([row]) => faultsOf(row!, true))))
    }
  }
  const onSession = statement<HealthRow>(server.sessions, schema, HEALTH)
  const stalled = Effect.map(server.waitingForStandby, (waiting) =>
    waiting === 0
      ? []
      : [`${waiting} writes wait for a synchronous standby: see pg_stat_replication on the primary.`]
  )
  const failing = Effect.gen(function* () {
    const failed = yield* server.failedWrites
    const now = yield* Clock.currentTimeMillis
    const counts = failed !== undefined && now - failed.last < FAILED_WRITE_COUNTS_FOR_MILLISECONDS
    return counts ? [failedWritesFault(failed)] : []
  })
  const sessionFaults = guarded(onSession([])).pipe(
    Effect.provideService(CallTimeout, SESSION_TIMEOUT),
    Effect.flatMap(([row]) =>
      // Other sessions may have begun with the wrong setting and keep it after it was corrected.
      Effect.as(row!.read_only === "on" ? server.renew : Effect.void, faultsOf(row!, false))
    ),
    Effect.catchTag("StoreUnavailable", (fault) =>
      // The two cases differ in whether the database itself can be reached.
      Effect.matchEffect(guarded(onReads([])), {
        onSuccess: () => Effect.succeed([NO_SESSION]),
        onFailure: () => Effect.fail(fault)
      })
    )
  )
  return {
    faults: Effect.map(Effect.all([sessionFaults, guarded(stalled), failing]), (faults) => faults.flat())
  }
}
