import type { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { Effect } from "effect"
import { MIGRATIONS } from "./Migrations.ts"
import { type PostgresClients, statement } from "./PostgresClients.ts"
import { guarded } from "./StoreFault.ts"

const HEALTH = `select array(select m.id from {schema}.migration m) as migrations,
  current_setting('fsync') as fsync, current_setting('full_page_writes') as full_page_writes,
  current_setting('synchronous_commit') as synchronous_commit, current_setting('transaction_read_only') as read_only,
  pg_is_in_recovery() as is_replica`

interface HealthRow {
  readonly migrations: ReadonlyArray<number>
  readonly fsync: string
  readonly full_page_writes: string
  readonly synchronous_commit: string
  readonly read_only: string
  readonly is_replica: boolean
}

const faultsOf = (row: HealthRow, isEmbedded: boolean): ReadonlyArray<string> => {
  const taken = new Set(row.migrations)
  const pending = MIGRATIONS.filter(({ id }) => !taken.has(id)).map(({ name }) => name)
  return [
    ...(pending.length === 0 ? [] : [`Migrations are pending: ${pending.join(", ")}.`]),
    ...(row.is_replica ? ["The database is a replica, which cannot be written."] : []),
    ...(row.read_only === "on" && !row.is_replica
      ? ["The database does not take writes: it is read-only."]
      : []),
    ...(row.synchronous_commit === "off" && !isEmbedded
      ? ["The database has synchronous_commit off: a crash would lose what was acknowledged."]
      : []),
    // An embedded database runs without both, and says so where it is chosen: it survives the process.
    ...(["fsync", "full_page_writes"] as const)
      .filter((setting) => !isEmbedded && row[setting] !== "on")
      .map(
        (setting) => `The database server has ${setting} off: a power cut would lose what was acknowledged.`
      )
  ]
}

/** Asks whether the schema is up to date and the server keeps what it acknowledges. */
export const makeStoreHealth = ({
  isEmbedded = false,
  reads,
  schema
}: PostgresClients): StoreHealth["Service"] => {
  const health = statement<HealthRow>(reads, schema, HEALTH)
  return {
    faults: Effect.suspend(() => guarded(Effect.map(health([]), ([row]) => faultsOf(row!, isEmbedded))))
  }
}
