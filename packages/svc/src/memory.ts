import * as SignerNodeCrypto from "@svc/signer/SignerNodeCrypto"
import * as MemoryStore from "@svc/store-memory/MemoryStore"
import { Layer } from "effect"
import { type Store, StoreLayer } from "./Store.ts"

/** A store in the memory of the process, for tests: everything is lost with the process, its signing key too. */
export const memory = (): Store => ({
  [StoreLayer]: Layer.merge(MemoryStore.layer, SignerNodeCrypto.layerEphemeral),
  outlivesProcess: false
})
