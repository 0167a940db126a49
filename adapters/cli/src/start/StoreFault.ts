import type { PostgresAddress } from "@svc/store-postgres/connection/PostgresUrl"
import { databaseFault, describeDatabase } from "./DatabaseFault.ts"
import { MASTER_KEY_REMEDY, SIGNING_KEY_CLOSED } from "./MasterKeyRemedy.ts"
import { configurationFault, EXIT_TEMPORARY, StartFault, temporaryFault } from "./StartFault.ts"
import { describeSystemError } from "./SystemError.ts"

/** The members of store failures that a message may use. */
export interface StoreFailure {
  readonly _tag: string
  readonly holder?: string
  readonly lock?: string
  readonly folder?: string | undefined
  readonly code?: string
  readonly pending?: ReadonlyArray<string>
  readonly migration?: string
  readonly schema?: string
  readonly faults?: ReadonlyArray<string>
  readonly exposure?: "owner" | "mode"
  readonly settings?: ReadonlyArray<string>
  readonly line?: string
  readonly detail?: string
  readonly present?: number
  readonly expected?: number
  readonly cause?: unknown
}

/** What a failure of a store means for a start. No line quotes a URL, since it may hold a password. */
export const storeFault = (failure: StoreFailure, address?: PostgresAddress): StartFault => {
  if (failure instanceof StartFault) return failure
  switch (failure._tag) {
    case "FolderHeld":
      return temporaryFault(
        `${failure.folder} is in use by ${failure.holder}; if there is no such process, remove ${failure.lock}`
      )
    case "FolderUnusable":
      return configurationFault(
        `${failure.folder} cannot hold a database: ${describeSystemError(failure.code ?? "unknown")}`
      )
    case "FolderExposed":
      return configurationFault(
        failure.exposure === "owner"
          ? `${failure.folder} belongs to another user, who could read and change the database; name a folder within it, or give it to the user of this process (chown)`
          : `${failure.folder} lies on a file system that lets other users in; name a folder on one that keeps modes`
      )
    case "PgliteUnusable":
      return configurationFault(`${failure.folder} cannot be opened as a database`)
    case "DatabaseUnsuitable":
      return configurationFault(`the database cannot be used: ${failure.faults?.join(" ")}`)
    case "MigrationsPending":
      return configurationFault(
        `the database lacks migrations (${failure.pending?.join(", ")}); run svc migrate`
      )
    case "SchemaUnknown":
      return configurationFault(
        `the schema ${failure.schema} of the database was made by another version, which this one cannot bring up to date: use an empty database, or the version that made it`
      )
    case "PartitionsDiffer":
      return configurationFault(
        `the schema ${failure.schema} of the database was made with ${describePartitions(failure.present)} and SVC_STORE_PARTITIONS asks for ${describePartitions(failure.expected)}: leave it out, or name an empty database`
      )
    case "MigrationFailed":
      return migrationFault(failure, address)
    case "SettingsIgnored":
      return ignoredSettingsFault(address!, failure.settings ?? [])
    case "SealBroken":
      return configurationFault(`${SIGNING_KEY_CLOSED}: ${MASTER_KEY_REMEDY}`)
    case "KeyManagementRefused":
      return configurationFault(`the signing key: ${failure.detail}`)
    case "KeyManagementUnavailable":
      return temporaryFault(`the signing key: ${failure.detail}`)
    case "SigningKeyInvalid":
      return configurationFault("the signing key that the store keeps is not usable")
    default:
      return databaseFault(failure, address)
  }
}

const describePartitions = (partitions = 0): string =>
  partitions === 0 ? "no partitions" : `${partitions} partition${partitions === 1 ? "" : "s"}`

const migrationFault = (
  { cause, migration }: StoreFailure,
  address: PostgresAddress | undefined
): StartFault => {
  const { exitCode, line } = databaseFault(cause, address)
  return new StartFault({
    line: `the migration ${migration} failed and left nothing behind (${line})${exitCode === EXIT_TEMPORARY ? "; try again" : ""}`,
    exitCode
  })
}

/** A pooler that drops session settings would drop `synchronous_commit`, and with it the durability of acknowledged writes. */
const ignoredSettingsFault = (address: PostgresAddress, ignored: ReadonlyArray<string>): StartFault =>
  configurationFault(
    `${describeDatabase(address)}: sessions do not have the ${ignored.join(", ")} that they ask for, as behind PgBouncer with ignore_startup_parameters: name the server itself`
  )
