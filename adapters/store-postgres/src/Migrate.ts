import { Data, Effect, Schedule } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { inSchema, MIGRATIONS, type Migration, migrationStatement, preparation } from "./Migrations.ts"

/** Two processes that prepare at the same time may collide, each at most once. */
const PREPARATIONS = 5

/** A step failed without a trace and may be retried. */
export class MigrationFailed extends Data.TaggedError("MigrationFailed")<{
  readonly migration: string
  readonly cause: SqlError
}> {}

/** The schema has steps that this version does not know, and lacks some that it needs. Nothing was changed. */
export class SchemaUnknown extends Data.TaggedError("SchemaUnknown")<{
  readonly schema: string
}> {}

/** The schema was made with another number of partitions than is asked for. Nothing was changed. */
export class PartitionsDiffer extends Data.TaggedError("PartitionsDiffer")<{
  readonly schema: string
  /** 0 where the tables are whole. */
  readonly present: number
  readonly expected: number
}> {}

export type MigrationFault = MigrationFailed | PartitionsDiffer | SchemaUnknown

/**
 * Brings the schema up to date, step by step. Safe with several processes at once. Returns the steps that were missing.
 *
 * `partitions` is the number of partitions by organization that a schema is to have which has not taken that step yet, 0 for
 * none. A schema that has keeps its own.
 */
export const migrate = (
  client: SqlClient,
  schema: string,
  partitions = 0
): Effect.Effect<ReadonlyArray<Migration>, MigrationFault | SqlError> =>
  Effect.gen(function* () {
    const lacking = yield* pendingMigrations(client, schema)
    if (lacking.length === 0) return lacking
    for (const statement of preparation(schema)) {
      yield* client.unsafe(statement).unprepared.pipe(Effect.retry(Schedule.recurs(PREPARATIONS)))
    }
    for (const migration of lacking) {
      yield* Effect.mapError(
        client.unsafe(migrationStatement(migration, schema, partitions)).unprepared,
        (cause) => new MigrationFailed({ migration: migration.name, cause })
      )
    }
    return lacking
  })

/** Fails if the schema, which is up to date, was made with another number of partitions. */
export const refuseOtherPartitions = (
  client: SqlClient,
  schema: string,
  expected: number
): Effect.Effect<void, PartitionsDiffer | SqlError> =>
  Effect.gen(function* () {
    const [row] = yield* client.unsafe<{ readonly partitions: number }>(
      inSchema("select partitions from {schema}.partitioning", schema)
    )
    const present = row!.partitions
    if (present !== expected) return yield* new PartitionsDiffer({ schema, present, expected })
  })

/** The steps that the schema still needs, in order. */
export const pendingMigrations = (
  client: SqlClient,
  schema: string
): Effect.Effect<ReadonlyArray<Migration>, SchemaUnknown | SqlError> =>
  Effect.gen(function* () {
    const [found] = yield* client.unsafe<{ readonly present: boolean }>(
      "select to_regclass($1::text) is not null as present",
      [inSchema("{schema}.migration", schema)]
    )
    if (found?.present !== true) return MIGRATIONS
    const rows = yield* client.unsafe<{ readonly name: string }>(
      inSchema("select name from {schema}.migration", schema)
    )
    const taken = new Set(rows.map(({ name }) => name))
    const pending = MIGRATIONS.filter(({ name }) => !taken.has(name))
    const isForeign = taken.size > MIGRATIONS.length - pending.length
    if (pending.length > 0 && isForeign) return yield* new SchemaUnknown({ schema })
    return pending
  })
