import * as StoredSigner from "@svc/signer/StoredSigner"
import * as PgliteStore from "@svc/store-postgres/PgliteStore"
import { Layer } from "effect"
import { type Store, StoreLayer } from "./Store.ts"

/**
 * A Postgres within the process, in a folder that one process at a time may use, or in memory without one. Its contents
 * outlive the process but not a power cut. The service does not open if another process holds the folder, or other users can
 * read it.
 *
 * @example
 * ```ts
 * import { pglite } from "svc/pglite"
 *
 * const store = pglite({ folder: ".data/mandates" })
 * ```
 */
export const pglite = (options: { readonly folder?: string } = {}): Store => ({
  [StoreLayer]: Layer.provideMerge(StoredSigner.layer, PgliteStore.layer(options)),
  outlivesProcess: options.folder !== undefined
})
