import { printedMigrations } from "@svc/store-postgres/Migrations"
import { DEFAULT_SCHEMA, migrateServer } from "@svc/store-postgres/PostgresStore"
import { Console, Effect } from "effect"
import { storeConfig } from "./Config.ts"
import { badSetting, storeFault } from "./StartFault.ts"

/** What `svc migrate --help` prints. */
export const MIGRATE_HELP = `svc migrate: brings the schema of a Postgres server up to date. Safe to run by several processes at once.

  --print-sql   prints all statements instead of running them

Reads SVC_STORE, which must be a postgres:// URL. Exit codes: 0, 75 the server is out of reach, 78 a setting is missing or bad.
`

/** `svc migrate --print-sql`: every statement, in order, each safe to run again. */
export const printSql = Effect.suspend(() => Console.log(printedMigrations(DEFAULT_SCHEMA)))

/** `svc migrate` (part 9). */
export const migrate = Effect.gen(function* () {
  const store = yield* storeConfig
  if (store === "memory" || "pglite" in store) {
    return yield* badSetting("SVC_STORE must be a postgres:// URL; other stores need no migration")
  }
  const names = yield* Effect.mapError(migrateServer({ url: store.postgres }), storeFault)
  yield* Console.log(names.length === 0 ? "up to date" : `migrated: ${names.join(", ")}`)
})
