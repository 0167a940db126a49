import * as SignerNodeCrypto from "@svc/signer/SignerNodeCrypto"
import { Layer } from "effect"
import { type PromiseStore, portsLayer } from "./PromiseStore.ts"
import { type Store, StoreLayer } from "./Store.ts"

/**
 * A store of one's own for `createService`. It is opened with the service. Evidence is signed with a key that is lost with the
 * process, as with `memory()`; what the store keeps of secrets is sealed under the `masterKey`, if it outlives the process.
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
  [StoreLayer]: Layer.merge(portsLayer(open), SignerNodeCrypto.layerEphemeral),
  outlivesProcess
})
