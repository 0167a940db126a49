import * as StoredSigner from "@svc/signer/StoredSigner"
import type { HostClient } from "@svc/store-postgres/connection/HostClient"
import * as HostStore from "@svc/store-postgres/HostStore"
import * as PostgresStore from "@svc/store-postgres/PostgresStore"
import { Layer, Redacted } from "effect"
import { type Store, StoreLayer, StoreWithin } from "./Store.ts"

export type { HostClient, HostStatement } from "@svc/store-postgres/connection/HostClient"

interface CommonOptions {
  /** The schema of the service's tables. Default: `svc`. */
  readonly schema?: string
  /** `run` brings the schema up to date at the start; `require` fails unless it is. Default: `run`. */
  readonly migrations?: "run" | "require"
}

/** The options of `postgres`: connections of the service's own by `url`, or the host's by `pool`. */
export type PostgresStoreOptions = CommonOptions &
  (
    | {
        /** `postgres://user:password@host:port/database`, for connections of the service's own. */
        readonly url: string
      }
    | {
        /**
         * A `Pool` of `pg`, or anything with the same `query`, whose sessions have `read committed` and `synchronous_commit`
         * on. Connections of the service's own (`url`) do more: they have time limits and notice a stalled standby.
         */
        readonly pool: HostClient
      }
  )

const portsOf = (options: PostgresStoreOptions) => {
  const { migrations = "run", schema } = options
  const common = { migrations, ...(schema === undefined ? {} : { schema }) }
  return "pool" in options
    ? HostStore.layer({ pool: options.pool, ...common })
    : PostgresStore.layer({ url: Redacted.make(options.url, { label: "database" }), ...common })
}

/**
 * A Postgres server of version 15 to 18, which any number of processes may share. The service does not open on a database
 * that would lose what it acknowledges (`synchronous_commit`), or, with `migrations: "require"`, on a schema that lacks steps.
 *
 * @example
 * ```ts
 * import { Pool } from "pg"
 * import { postgres } from "svc/postgres"
 *
 * const ofItsOwn = postgres({ url: "postgres://svc@localhost/shop" })
 * const onTheHostsPool = postgres({ pool: new Pool({ database: "shop" }), schema: "mandates" })
 * ```
 */
export const postgres = (options: PostgresStoreOptions): Store => ({
  [StoreLayer]: Layer.provideMerge(
    StoredSigner.layer,
    portsOf(options) as Layer.Layer<PostgresStore.PostgresPorts, unknown>
  ),
  [StoreWithin]: (client) => HostStore.portsWithin(client, options.schema),
  outlivesProcess: true
})
