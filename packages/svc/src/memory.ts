import * as SignerNodeCrypto from "@svc/signer/SignerNodeCrypto"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import { Layer } from "effect"
import { type Store, StoreLayer } from "./Store.ts"

/**
 * A store in the memory of the process, for tests: everything is lost with the process, its signing key too. Each is a store
 * of its own.
 *
 * @example
 * ```ts
 * import { createService } from "svc"
 * import { memory } from "svc/memory"
 *
 * const service = createService({
 *   environment: "test",
 *   baseUrl: "http://localhost:3000/mandates",
 *   approvalUrl: "http://localhost:3000/approvals",
 *   store: memory()
 * })
 * ```
 */
export const memory = (): Store => ({
  [StoreLayer]: Layer.merge(MemoryStore.layer, SignerNodeCrypto.layerEphemeral),
  outlivesProcess: false
})
