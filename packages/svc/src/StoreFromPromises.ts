import { makeTurns, StreamTurns } from "@svc/domain/engine/StreamTurns"
import * as ExternalSigner from "@svc/signer/ExternalSigner"
import * as SignerNodeCrypto from "@svc/signer/SignerNodeCrypto"
import { Layer } from "effect"
import { type PromiseStore, portsLayer } from "./PromiseStore.ts"
import { type Store, StoreLayer } from "./Store.ts"

/**
 * A store of one's own for `createService`. It is opened with the service. It keeps no signing keys: evidence is signed by the
 * `signer` of the options, and without one by a key that is lost with the process, as with `memory()`. Secrets in it are
 * sealed under the `masterKey`, which a store that outlives the process needs.
 *
 * @example
 * ```ts
 * import { createService } from "svc"
 * import { storeFromPromises } from "svc/store"
 *
 * const service = createService({
 *   environment: "test",
 *   baseUrl: "http://localhost:3000/mandates",
 *   approvalUrl: "http://localhost:3000/approvals",
 *   store: storeFromPromises(() => new MyStore(database), { outlivesProcess: true }),
 *   masterKey
 * })
 * ```
 */
export const storeFromPromises = (
  open: () => PromiseStore | Promise<PromiseStore>,
  { outlivesProcess = false }: { readonly outlivesProcess?: boolean } = {}
): Store => ({
  [StoreLayer]: (signer) =>
    Layer.mergeAll(
      portsLayer(open),
      // Of each service, as of each process: one does not wait for the writes of another, which may be over another store.
      Layer.sync(StreamTurns, makeTurns),
      signer === undefined ? SignerNodeCrypto.layerEphemeral : ExternalSigner.layer(signer)
    ),
  outlivesProcess
})
