import { makeTurns, StreamTurns } from "@svc/domain/engine/StreamTurns"
import type { SecretSealer } from "@svc/domain/ports/SecretSealer"
import type { Signer } from "@svc/domain/ports/Signer"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import * as ExternalSigner from "@svc/signer/ExternalSigner"
import { Layer } from "effect"
import { loggerLayer } from "./ServiceLog.ts"
import type { ServiceOptions } from "./ServiceOptions.ts"
import { type Services, servicesOf } from "./ServiceRuntime.ts"
import { settingsOf } from "./ServiceSettings.ts"
import { type Store, StoreLayer, takeStore } from "./Store.ts"

/* The face for programs in Effect: the services that the use cases ask for, and the use cases. */

export { Deployment } from "@svc/domain/ports/Deployment"
export { MandateStore, StoreUnavailable } from "@svc/domain/ports/MandateStore"
export { Organizations } from "@svc/domain/ports/Organizations"
export { Signer } from "@svc/domain/ports/Signer"
export { WebhookStore } from "@svc/domain/ports/WebhookStore"
export * from "@svc/domain/programs/ApprovalSessions"
export * from "@svc/domain/programs/Authorizations"
export * from "@svc/domain/programs/EventFeed"
export * from "@svc/domain/programs/Evidence"
export * from "@svc/domain/programs/Mandates"
export * from "@svc/domain/programs/Passkeys"
export * from "@svc/domain/programs/WebhookDeliveries"
export * from "@svc/domain/programs/WebhookEndpoints"
/** Why a use case refuses: a class for each, told apart by its `_tag`. */
export * as Refusals from "@svc/domain/Refusals"
export type { Services } from "./ServiceRuntime.ts"

/**
 * Everything that the use cases need, as the options of `createService` say, with the workers in the background. Throws a
 * `TypeError` that says what is wrong with the options. What it logs goes to the option `logger`, and without one to the
 * loggers of the program.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { newOrganizationId } from "svc"
 * import { layer, listMandates } from "svc/effect"
 * import { memory } from "svc/memory"
 *
 * const organization = newOrganizationId()
 * const services = layer({
 *   environment: "test",
 *   baseUrl: "http://localhost:3000/mandates",
 *   approvalUrl: "http://localhost:3000/approvals",
 *   store: memory(),
 *   organizations: [{ id: organization, name: "Shop", returnOrigins: [] }]
 * })
 * const program = listMandates({ organization, limit: 25 })
 * const page = await Effect.runPromise(Effect.provide(program, services))
 * ```
 */
export const layer = (options: ServiceOptions): Layer.Layer<Services, unknown> => {
  const settings = settingsOf(options)
  takeStore(settings.options.store, "layer")
  const services = servicesOf(settings)
  // Not merged: the program's own log lines stay with its own loggers.
  return options.logger === undefined ? services : Layer.provide(services, loggerLayer(options.logger))
}

/**
 * A store of the host's own for `createService`: a layer of the storage ports, which `storeContract` of
 * `@svc/testkit/StoreContract` holds to their contract, and of the signer. `outlivesProcess` says whether what it keeps does,
 * so that the service needs a `masterKey`. Calls in a transaction of the host (`service.transaction`) are not for it.
 *
 * @example
 * ```ts
 * import * as SignerNodeCrypto from "@svc/signer/SignerNodeCrypto"
 * import * as MemoryStore from "@svc/store-memory/MemoryStore"
 * import { Layer } from "effect"
 * import { storeOf } from "svc/effect"
 *
 * const store = storeOf(Layer.merge(MemoryStore.layer, SignerNodeCrypto.layerEphemeral), { outlivesProcess: false })
 * ```
 */
export const storeOf = (
  layer: Layer.Layer<StoragePorts | Signer, unknown, SecretSealer>,
  { outlivesProcess }: { readonly outlivesProcess: boolean }
): Store => ({
  [StoreLayer]: (signer) => {
    const ports = Layer.merge(layer, Layer.sync(StreamTurns, makeTurns))
    return signer === undefined ? ports : Layer.provideMerge(ExternalSigner.layer(signer), ports)
  },
  outlivesProcess
})
