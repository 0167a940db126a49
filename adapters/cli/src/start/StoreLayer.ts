import { resolve } from "node:path"
import type { SecretSealer } from "@svc/domain/ports/SecretSealer"
import type { Signer } from "@svc/domain/ports/Signer"
import type { SigningKeyRecords } from "@svc/domain/ports/SigningKeyRecords"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import type { StoreHealth } from "@svc/domain/ports/StoreHealth"
import * as SignerNodeCrypto from "@svc/signer/SignerNodeCrypto"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import { type PostgresAddress, postgresAddressOf } from "@svc/store-postgres/connection/PostgresUrl"
import type { PostgresPorts } from "@svc/store-postgres/PostgresStore"
import { Effect, Exit, Layer, Redacted, Scope } from "effect"
import type { StoreSetting } from "../config/StoreSetting.ts"
import { connectionTo, retryWhileUnreachable } from "./DatabaseConnection.ts"
import { describeDatabase } from "./DatabaseFault.ts"
import { requireDatabaseIn } from "./EmbeddedFolder.ts"
import { StopFault } from "./RunCommand.ts"
import { configurationFault, type StartFault, temporaryFault } from "./StartFault.ts"
import { type StoreFailure, storeFault } from "./StoreFault.ts"

export interface StoreOptions {
  /** `run`: migrates the schema of a server at start. `require`: fails unless it is up to date. */
  readonly migrations: "run" | "require"
  /** Whether a folder without a database is refused, and nothing made. By default a database is made in it. */
  readonly requiresFolder?: boolean
}

const failingWithStartFault = <A, R>(
  layer: Layer.Layer<A, StoreFailure, R>,
  address?: PostgresAddress
): Layer.Layer<A, StartFault, R> =>
  Layer.catch(
    layer,
    (failure): Layer.Layer<A, StartFault> => Layer.unwrap(Effect.fail(storeFault(failure, address)))
  )

/** Builds a layer; a failed attempt closes what it has opened before the next one. */
const buildOnce = <A, E>(layer: Layer.Layer<A, E>) =>
  Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    return yield* Layer.buildWithScope(layer, scope).pipe(
      Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
    )
  })

const isMissingModule = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND"

const importPgliteStore = Effect.tryPromise({
  try: () => import("@svc/store-postgres/PgliteStore"),
  catch: (error) => error
}).pipe(
  // The image is made without it.
  Effect.catch((error) =>
    isMissingModule(error)
      ? configurationFault("no embedded database is installed: name a Postgres server in SVC_STORE")
      : Effect.die(error)
  )
)

// The stores are imported on demand, so that a start loads only the one it uses.
const pgliteStore = (
  folder: string,
  { requiresFolder }: StoreOptions
): Layer.Layer<PostgresPorts, StartFault> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const stop = yield* StopFault
      const PgliteStore = yield* importPgliteStore
      if (requiresFolder === true) yield* requireDatabaseIn(folder)
      const onLost = ({ lock }: { readonly lock: string }) =>
        stop(
          temporaryFault(`${folder} was taken over by another process while this one was paused (${lock})`)
        )
      return failingWithStartFault(PgliteStore.layer({ folder, onLost }))
    })
  )

const postgresStore = (
  { partitions, postgres }: Extract<StoreSetting, { postgres: unknown }>,
  { migrations }: StoreOptions
) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const PostgresStore = yield* Effect.promise(() => import("@svc/store-postgres/PostgresStore"))
      const { address, options } = yield* connectionTo(postgres, partitions)
      const opened = Effect.andThen(
        PostgresStore.checkSession(options),
        buildOnce(PostgresStore.layer({ ...options, migrations }))
      )
      return yield* Effect.mapError(retryWhileUnreachable(address, opened), (failure) =>
        storeFault(failure, address)
      )
    })
  )

const addressOf = (store: StoreSetting): PostgresAddress | undefined =>
  typeof store === "object" && "postgres" in store
    ? postgresAddressOf(Redacted.value(store.postgres))
    : undefined

/** The signer whose keys a store keeps, or names those of a key management service. */
export const storedSigner = (
  address?: PostgresAddress
): Layer.Layer<Signer | StoreHealth, StartFault, SigningKeyRecords | SecretSealer | StoreHealth> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() =>
        Promise.all([import("@svc/signer/StoredSigner"), import("@svc/kms/KeyManagementOnDemand")])
      ),
      ([StoredSigner, KeyManagementOnDemand]) =>
        Layer.provide(failingWithStartFault(StoredSigner.layer, address), KeyManagementOnDemand.layer)
    )
  )

/** A store that outlives the process, without a signer, for commands that work on the store alone. */
export const storageLayer = (
  store: Exclude<StoreSetting, "memory">,
  options: StoreOptions
): Layer.Layer<PostgresPorts, StartFault> =>
  "pglite" in store ? pgliteStore(resolve(store.pglite), options) : postgresStore(store, options)

/** The store that `SVC_STORE` names, and the signer whose keys it keeps. */
export const layer = (
  store: StoreSetting,
  options: StoreOptions
): Layer.Layer<StoragePorts | Signer, StartFault, SecretSealer> => {
  if (store === "memory") {
    // The key may go with the process, since everything that it signed for goes too.
    return Layer.merge(MemoryStore.layer, SignerNodeCrypto.layerEphemeral)
  }
  return Layer.provideMerge(storedSigner(addressOf(store)), storageLayer(store, options))
}

/** Where the data is and how durable it is, for the banner of the development server. */
export const describeStore = (store: StoreSetting): string => {
  if (store === "memory") return "everything in memory, lost when it stops"
  if ("pglite" in store) {
    return `kept in ${resolve(store.pglite)}, which outlives this process but not a power cut`
  }
  return `kept in ${describeDatabase(postgresAddressOf(Redacted.value(store.postgres)))}`
}
