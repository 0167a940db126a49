import type { SecretSealer } from "@svc/domain/ports/SecretSealer"
import type { Signer } from "@svc/domain/ports/Signer"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import type { WebhookStore } from "@svc/domain/ports/WebhookStore"
import type { WebhookTransport } from "@svc/domain/ports/WebhookTransport"
import type { ExternalSigner } from "@svc/signer/ExternalSigner"
import type { HostClient } from "@svc/store-postgres/connection/HostClient"
import type { Context, Effect, Layer, Scope } from "effect"

/** The layer of a store, which the faces without Effect do not show. */
export const StoreLayer: unique symbol = Symbol("svc/StoreLayer")

/** The ports of a store within a transaction of its host. */
export const StoreWithin: unique symbol = Symbol("svc/StoreWithin")

/** Identifies a store that is lost with its service, and so belongs to that one service. */
export const StoreIdentity: unique symbol = Symbol("svc/StoreIdentity")

/** What a store for tests puts in place of the service's own parts. */
export const StoreForTests: unique symbol = Symbol("svc/StoreForTests")

/** Where a service keeps everything: `memory()`, `pglite()` or `postgres()`. */
export interface Store {
  /** The ports, with a signer of the host's, or one whose keys the store keeps. */
  readonly [StoreLayer]: (
    signer: ExternalSigner | undefined
  ) => Layer.Layer<StoragePorts | Signer, unknown, SecretSealer>
  readonly [StoreWithin]?: (
    client: HostClient
  ) => Effect.Effect<Context.Context<StoragePorts>, unknown, Scope.Scope>
  readonly [StoreIdentity]?: object
  readonly [StoreForTests]?: {
    readonly clock: Layer.Layer<never>
    readonly transport: Layer.Layer<WebhookTransport, never, WebhookStore | SecretSealer>
  }
  /** Whether what it keeps outlives the process, so that secrets in it need a master key that does, too. */
  readonly outlivesProcess: boolean
}

const taken = new WeakSet<object>()

/** Gives a store to a service. Throws a `TypeError` if it belongs to another one, which would not share what it keeps. */
export const takeStore = (store: Store, by: string): void => {
  const identity = store[StoreIdentity]
  if (identity === undefined) return
  if (taken.has(identity))
    throw new TypeError(
      `${by}: store belongs to a service that was made before, and nothing in memory is shared or outlives its service: make one for each, as memory() does. Services share a postgres().`
    )
  taken.add(identity)
}
