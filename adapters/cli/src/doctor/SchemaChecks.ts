import type { MigrationFacts, PrivilegeFacts, VacuumFacts } from "@svc/store-postgres/diagnosis/SchemaFacts"
import { schemaGrants } from "../start/SchemaGrants.ts"
import { type Check, counted, failed, namedList, ok, skipped, warning } from "./Check.ts"

export interface ExpectedMigrations extends MigrationFacts {
  /** What `SVC_STORE_PARTITIONS` asks for; absent: whatever there is. */
  readonly expected: number | undefined
}

const partitionsOf = (count: number): string => (count === 0 ? "no partitions" : counted(count, "partition"))

export const migrationsCheck: Check<ExpectedMigrations> = {
  name: "database.migrations",
  judge: ({ expected, later, partitions = 0, pending }) => {
    if (pending.length > 0) return failed(`pending: ${namedList(pending)}`, "run svc migrate")
    if (expected !== undefined && expected !== partitions) {
      return failed(
        `the schema has ${partitionsOf(partitions)} and SVC_STORE_PARTITIONS asks for ${partitionsOf(expected)}`,
        "leave SVC_STORE_PARTITIONS out, or name an empty database"
      )
    }
    const found = `every step is taken; ${partitionsOf(partitions)}`
    return ok(later > 0 ? `${found}; ${counted(later, "step")} of a later release` : found)
  }
}

export const privilegesCheck: Check<PrivilegeFacts> = {
  name: "database.privileges",
  judge: ({ hasSchema, lacking, ownsTables, role, schema }) => {
    if (!hasSchema) return skipped("there is no schema before the first svc migrate")
    if (lacking.length > 0) {
      const functions = lacking.some((privilege) => privilege.startsWith("EXECUTE"))
      return failed(
        `the role lacks ${namedList(lacking)}`,
        `let the role that owns the schema run: ${schemaGrants({ schema, role, functions })}`
      )
    }
    return ok(
      ownsTables
        ? "the role owns the schema's tables"
        : "the role may use every table and function; svc migrate needs the role that owns them"
    )
  }
}

/** A table with fewer dead rows is small whatever their share. */
const LEAST_DEAD_ROWS = 10_000
/** Share of dead rows from which a table counts as bloated; autovacuum begins at 0.2. */
const BLOATED_SHARE = 0.5
/** Transactions after which Postgres itself begins to warn are 2^31 - 40 million; half of that leaves time to act. */
const OLD_TRANSACTIONS = 1_000_000_000

export const bloatCheck: Check<VacuumFacts> = {
  name: "database.bloat",
  judge: ({ tables }) => {
    const bloated = tables.filter(
      ({ dead, live }) => dead >= LEAST_DEAD_ROWS && dead / (live + dead) >= BLOATED_SHARE
    )
    return bloated.length === 0
      ? ok("no table has more dead rows than live ones")
      : warning(
          namedList(bloated.map(({ dead, live, name }) => `${name} (${dead} dead rows, ${live} live)`)),
          "look for what holds vacuum back (database.long_transactions, prepared_transactions, replication_slots), then vacuum (analyze) these tables"
        )
  }
}

export const vacuumCheck: Check<VacuumFacts> = {
  name: "database.autovacuum",
  judge: ({ autovacuum, tables, transactionAge }) => {
    if (transactionAge >= OLD_TRANSACTIONS) {
      return failed(
        `${transactionAge} transactions since the oldest row that was not frozen: the server stops taking writes at 2 billion`,
        "end what holds vacuum back, then vacuum (freeze) the database"
      )
    }
    const without = tables.filter(({ is_vacuumed: isVacuumed }) => !isVacuumed).map(({ name }) => name)
    if (autovacuum && without.length === 0) return ok("it runs for every table")
    return warning(
      autovacuum ? `it is off for ${namedList(without)}` : "autovacuum is off",
      "turn it on: tables of this service are updated all the time"
    )
  }
}

/** What one look at the statistics of the tables tells. */
export const VACUUM_CHECKS: ReadonlyArray<Check<VacuumFacts>> = [bloatCheck, vacuumCheck]
