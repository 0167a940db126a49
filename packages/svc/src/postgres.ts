import * as StoredSigner from "@svc/signer/StoredSigner"
import * as PostgresStore from "@svc/store-postgres/PostgresStore"
import { Layer, Redacted } from "effect"
import { type Store, StoreLayer } from "./Store.ts"

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string
  /** The schema of the service's tables. Default: `svc`. */
  readonly schema?: string
  /** `run` brings the schema up to date at the start; `require` fails unless it is. Default: `run`. */
  readonly migrations?: "run" | "require"
}

/** A Postgres server of version 15 to 18, which any number of processes may share. */
export const postgres = ({ migrations = "run", schema, url }: PostgresStoreOptions): Store => ({
  [StoreLayer]: Layer.provideMerge(
    StoredSigner.layer,
    PostgresStore.layer({
      url: Redacted.make(url, { label: "database" }),
      migrations,
      ...(schema === undefined ? {} : { schema })
    })
  ),
  outlivesProcess: true
})
