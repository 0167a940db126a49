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

export type MigrationFault = MigrationFailed | SchemaUnknown

/** Brings the schema up to date, step by step. Safe with several processes at once. Returns the steps that were missing. */
export const migrate = (
  client: SqlClient,
  schema: string
): Effect.Effect<ReadonlyArray<Migration>, MigrationFault | SqlError> =>
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
