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

/** Brings the schema up to date, step by step. Safe with several processes at once. Returns the steps that were missing. */
export const migrate = (
  client: SqlClient,
  schema: string
): Effect.Effect<ReadonlyArray<Migration>, MigrationFailed | SqlError> =>
  Effect.gen(function* () {
    const lacking = yield* pendingMigrations(client, schema)
    if (lacking.length === 0) return lacking
    for (const statement of preparation(schema)) {
      yield* client.unsafe(statement).unprepared.pipe(Effect.retry(Schedule.recurs(PREPARATIONS)))
    }
    for (const migration of lacking) {
      yield* Effect.mapError(
        client.unsafe(migrationStatement(migration, schema)).unprepared,
        (cause) => new MigrationFailed({ migration: migration.name, cause })
      )
    }
    return lacking
  })

/** The steps that the schema still needs, in order. */
export const pendingMigrations = (
  client: SqlClient,
  schema: string
): Effect.Effect<ReadonlyArray<Migration>, SqlError> =>
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
    return MIGRATIONS.filter(({ name }) => !taken.has(name))
  })
