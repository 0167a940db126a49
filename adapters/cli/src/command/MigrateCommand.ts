import { printedMigrations } from "@svc/store-postgres/Migrations"
import { checkSession, DEFAULT_SCHEMA, migrateServer } from "@svc/store-postgres/PostgresStore"
import { Console, Effect } from "effect"
import { partitionsConfig, serverStoreConfig } from "../config/Config.ts"
import { helpOf, SETTINGS_OF } from "../config/SettingsHelp.ts"
import { connectionTo, retryWhileUnreachable } from "../start/DatabaseConnection.ts"
import { storeFault } from "../start/StoreFault.ts"
import type { Command } from "./Command.ts"
import { readOptions } from "./CommandOptions.ts"

const migrate = Effect.gen(function* () {
  const { partitions, postgres: url } = yield* serverStoreConfig
  const { address, options } = yield* connectionTo(url, partitions)
  const migrated = Effect.andThen(checkSession(options), migrateServer(options))
  const names = yield* Effect.mapError(retryWhileUnreachable(address, migrated), (fault) =>
    storeFault(fault, address)
  )
  yield* Console.log(names.length === 0 ? "up to date" : `migrated: ${names.join(", ")}`)
})

const printed = Effect.flatMap(partitionsConfig, (partitions) =>
  Console.log(printedMigrations(DEFAULT_SCHEMA, partitions))
)

/** `svc migrate`. The statements of `--print-sql` are idempotent. */
export const migrateCommand: Command = {
  name: "migrate",
  help: helpOf(
    `svc migrate: brings the schema of a Postgres server up to date. Several processes may run it at once, also while servers of
the previous release are running.

  --print-sql   prints all statements instead of executing them; needs no settings`,
    SETTINGS_OF.migrate
  ),
  run: Effect.fnUntraced(function* (words) {
    const { "print-sql": isPrinted } = yield* readOptions({ "print-sql": "flag" }, words)
    yield* isPrinted ? printed : migrate
  })
}
