import { resolve } from "node:path"
import { getSystemErrorMap } from "node:util"
import type { SecretSealer } from "@svc/domain/ports/SecretSealer"
import type { Signer } from "@svc/domain/ports/Signer"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import * as SignerNodeCrypto from "@svc/signer/SignerNodeCrypto"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import type { PostgresPorts } from "@svc/store-postgres/PostgresStore"
import { Effect, Exit, Layer, Redacted, Scope } from "effect"
import { type PostgresAddress, postgresAddressOf } from "../config/PostgresUrl.ts"
import type { StoreSetting } from "../config/StoreSetting.ts"
import { databaseFault, nameOf } from "./DatabaseFault.ts"
import { connectionTo, patiently, settingsFault } from "./DatabaseReach.ts"
import { badSetting, EXIT_TEMPORARY, StartFault, StopFault } from "./StartFault.ts"

export interface StoreOptions {
  /** Whether the schema of a server is brought up to date at start, or must be so already. */
  readonly migrations: "run" | "require"
}

const temporary = (line: string): StartFault => new StartFault({ line, exitCode: EXIT_TEMPORARY })

/** The system's name of an error, and its words for it. */
const told = (code: string): string => {
  const words = [...getSystemErrorMap().values()].find(([name]) => name === code)?.[1]
  return words === undefined ? code : `${code} (${words})`
}

/** A fault of a store, as far as a start tells of it. */
interface Fault {
  readonly _tag: string
  readonly holder?: string
  readonly lock?: string
  readonly folder?: string | undefined
  readonly code?: string
  readonly pending?: ReadonlyArray<string>
  readonly migration?: string
  readonly faults?: ReadonlyArray<string>
  readonly exposure?: "owner" | "mode"
  readonly settings?: ReadonlyArray<string>
  readonly line?: string
  readonly cause?: unknown
}

/** What every fault of a store means for the start. No line quotes a URL, which may hold a password. */
export const startFaultOf = (fault: Fault, address?: PostgresAddress): StartFault => {
  if (fault instanceof StartFault) return fault
  switch (fault._tag) {
    case "FolderHeld":
      return temporary(
        `${fault.folder} is in use by ${fault.holder}; if there is no such process, remove ${fault.lock}`
      )
    case "FolderUnusable":
      return badSetting(`${fault.folder} cannot hold a database: ${told(fault.code ?? "unknown")}`)
    case "FolderExposed":
      return badSetting(
        fault.exposure === "owner"
          ? `${fault.folder} belongs to another user, who could read and change the database; name a folder within it, or give it to the user of this process (chown)`
          : `${fault.folder} lies on a file system that lets other users in; name a folder on one that keeps modes`
      )
    case "PgliteUnusable":
      return badSetting(`${fault.folder} cannot be opened as a database`)
    case "DatabaseUnsuitable":
      return badSetting(`the database cannot be used: ${fault.faults?.join(" ")}`)
    case "MigrationsPending":
      return badSetting(`the database lacks migrations (${fault.pending?.join(", ")}); run svc migrate`)
    case "MigrationFailed":
      return migrationFault(fault, address)
    case "SettingsIgnored":
      return settingsFault(address!, fault.settings ?? [])
    case "SealBroken":
      return badSetting("the master key does not open the signing key that the store keeps")
    case "SigningKeyInvalid":
      return badSetting("the signing key that the store keeps is not usable")
    default:
      return databaseFault(fault, address)
  }
}

/** A step of the schema failed and left nothing behind. */
const migrationFault = ({ cause, migration }: Fault, address: PostgresAddress | undefined): StartFault => {
  const { exitCode, line } = databaseFault(cause, address)
  return new StartFault({
    line: `the migration ${migration} failed and left nothing behind (${line})${exitCode === EXIT_TEMPORARY ? "; try again" : ""}`,
    exitCode
  })
}

const refused = <A, R>(
  layer: Layer.Layer<A, Fault, R>,
  address?: PostgresAddress
): Layer.Layer<A, StartFault, R> =>
  Layer.catch(
    layer,
    (fault): Layer.Layer<A, StartFault> => Layer.unwrap(Effect.fail(startFaultOf(fault, address)))
  )

/** Builds a layer; what a failed attempt has opened is closed before the next. */
const attemptOf = <A, E>(layer: Layer.Layer<A, E>) =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    return yield* Layer.buildWithScope(layer, scope).pipe(
      Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
    )
  })

// Imported when they are chosen: a start that does not need them does not wait for them.
const pgliteStore = (folder: string): Layer.Layer<PostgresPorts, StartFault> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const stop = yield* StopFault
      const PgliteStore = yield* Effect.promise(() => import("@svc/store-postgres/PgliteStore"))
      const onLost = ({ lock }: { readonly lock: string }) =>
        stop(temporary(`${folder} was taken over by another process while this one was paused (${lock})`))
      return refused(PgliteStore.layer({ folder, onLost }))
    })
  )

const postgresStore = (url: Redacted.Redacted, { migrations }: StoreOptions) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const PostgresStore = yield* Effect.promise(() => import("@svc/store-postgres/PostgresStore"))
      const { address, options } = yield* connectionTo(url)
      const opened = Effect.andThen(
        PostgresStore.checkSession(options),
        attemptOf(PostgresStore.layer({ ...options, migrations }))
      )
      return yield* Effect.mapError(patiently(address, opened), (fault) => startFaultOf(fault, address))
    })
  )

const addressOf = (store: StoreSetting): PostgresAddress | undefined =>
  typeof store === "object" && "postgres" in store
    ? postgresAddressOf(Redacted.value(store.postgres))
    : undefined

const storedSigner = (store: StoreSetting) =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("@svc/signer/StoredSigner")),
      (StoredSigner) => refused(StoredSigner.layer, addressOf(store))
    )
  )

/** A store that outlives the process, without a signer: for commands on the store alone. */
export const storageLayer = (
  store: Exclude<StoreSetting, "memory">,
  options: StoreOptions
): Layer.Layer<PostgresPorts, StartFault> =>
  "pglite" in store ? pgliteStore(resolve(store.pglite)) : postgresStore(store.postgres, options)

/** The chosen store, with the signer whose keys it keeps. */
export const layer = (
  store: StoreSetting,
  options: StoreOptions
): Layer.Layer<StoragePorts | Signer, StartFault, SecretSealer> => {
  if (store === "memory") {
    // What it signed is lost with the store that it signed for.
    return Layer.merge(MemoryStore.layer, SignerNodeCrypto.layerEphemeral)
  }
  return Layer.provideMerge(storedSigner(store), storageLayer(store, options))
}

/** Where the store is, to be told to whoever started the server. */
export const placeOf = (store: StoreSetting): string => {
  if (store === "memory") return "everything in memory, lost when it stops"
  if ("pglite" in store) {
    return `kept in ${resolve(store.pglite)}, which outlives this process but not a power cut`
  }
  return `kept in ${nameOf(postgresAddressOf(Redacted.value(store.postgres)))}`
}
