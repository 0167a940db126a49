import { printedMigrations } from "@svc/store-postgres/Migrations"
import { checkSession, DEFAULT_SCHEMA, migrateServer } from "@svc/store-postgres/PostgresStore"
import { Console, Effect } from "effect"
import { helpOf, SETTINGS_OF, serverStoreConfig } from "../config/Config.ts"
import { connectionTo, patiently } from "../start/DatabaseConnection.ts"
import { startFaultOf } from "../start/StoreLayer.ts"
import type { Command } from "./Command.ts"
import { readOptions } from "./CommandOptions.ts"

const migrate = Effect.gen(function* () {
  const { postgres: url } = yield* serverStoreConfig
  const { address, options } = yield* connectionTo(url)
  const migrated = Effect.andThen(checkSession(options), migrateServer(options))
  const names = yield* Effect.mapError(patiently(address, migrated), (fault) => startFaultOf(fault, address))
  yield* Console.log(names.length === 0 ? "up to date" : `migrated: ${names.join(", ")}`)
})

/** `svc migrate` (part 9). What it prints with `--print-sql` is safe to run again. */
export const migrateCommand: Command = {
  name: "migrate",
  help: helpOf(
    `svc migrate: brings the schema of a Postgres server up to date. Safe to run by several processes at once, and while
servers of the release before are running.

  --print-sql   prints all statements instead of running them; needs no setting`,
    SETTINGS_OF.migrate
  ),
  run: Effect.fnUntraced(function* (words) {
    const { "print-sql": isPrinted } = yield* readOptions({ "print-sql": "flag" }, words)
    yield* isPrinted ? Console.log(printedMigrations(DEFAULT_SCHEMA)) : migrate
  })
}
