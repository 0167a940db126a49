import * as PgliteStore from "@svc/store-postgres/PgliteStore"
import { Layer } from "effect"
import { type Faults, isObject, throwFaults, unknownNames } from "./OptionFaults.ts"
import { type Store, StoreIdentity, StoreLayer } from "./Store.ts"
import { signerBeside } from "./StoreSigner.ts"

/** The options of `pglite`. */
export interface PgliteStoreOptions {
  /** The folder of the database, which is made if it is not there. Default: none, and everything is lost with its service. */
  readonly folder?: string
}

const faultsOf = (options: unknown): Faults => {
  if (!isObject(options)) return ['options must be an object, such as { folder: ".data/svc" }.']
  const { folder } = options
  return [
    ...unknownNames(options, ["folder"]),
    ...(folder === undefined || (typeof folder === "string" && folder !== "")
      ? []
      : ["folder must be the path of a folder."])
  ]
}

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
export const pglite = (options: PgliteStoreOptions = {}): Store => {
  throwFaults("pglite", faultsOf(options))
  const { folder } = options
  return {
    [StoreLayer]: (signer) =>
      Layer.provideMerge(signerBeside(signer), PgliteStore.layer(folder === undefined ? {} : { folder })),
    ...(folder === undefined ? { [StoreIdentity]: {} } : {}),
    outlivesProcess: folder !== undefined
  }
}
