import * as ExternalSigner from "@svc/signer/ExternalSigner"
import * as SignerNodeCrypto from "@svc/signer/SignerNodeCrypto"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import { Layer } from "effect"
import { throwFaults } from "./OptionFaults.ts"
import { type Store, StoreIdentity, StoreLayer } from "./Store.ts"

/**
 * A store in the memory of the process, for tests: everything is lost with its service, the signing key too. Make one for each
 * service: a second one does not take it.
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
export const memory = (...none: ReadonlyArray<never>): Store => {
  throwFaults(
    "memory",
    none.length === 0 ? [] : ["it takes no options: what it keeps ends with the process."]
  )
  return {
    [StoreLayer]: (signer) =>
      Layer.merge(
        MemoryStore.layer,
        signer === undefined ? SignerNodeCrypto.layerEphemeral : ExternalSigner.layer(signer)
      ),
    [StoreIdentity]: {},
    outlivesProcess: false
  }
}
