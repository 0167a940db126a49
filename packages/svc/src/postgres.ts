import { utf8Length } from "@svc/protocol/Utf8"
import type { HostClient } from "@svc/store-postgres/connection/HostClient"
import { postgresUrlFault } from "@svc/store-postgres/connection/PostgresUrl"
import { serverConnection } from "@svc/store-postgres/connection/ServerConnection"
import * as HostStore from "@svc/store-postgres/HostStore"
import { MAX_PARTITIONS } from "@svc/store-postgres/MaxPartitions"
import * as PostgresStore from "@svc/store-postgres/PostgresStore"
import { Effect, Layer, Redacted } from "effect"
import { type Faults, isObject, throwFaults, unknownNames } from "./OptionFaults.ts"
import { type Store, StoreLayer, StoreWithin } from "./Store.ts"
import { signerBeside } from "./StoreSigner.ts"

export type { HostClient, HostStatement } from "@svc/store-postgres/connection/HostClient"

interface CommonOptions {
  /** The schema of the service's tables. Default: `svc`. */
  readonly schema?: string
  /** `run` brings the schema up to date at the start; `require` fails unless it is. Default: `run`. */
  readonly migrations?: "run" | "require"
}

interface ServerOptions extends CommonOptions {
  /**
   * `postgres://user:password@host:port/database`, for connections of the service's own. It may list several hosts,
   * `postgres://user:password@db1:5432,db2:5432/database`, of which the one that takes writes is used. It takes the parameters of libpq for
   * encryption (`sslmode`, `sslrootcert`), `connect_timeout` and `application_name`, and refuses those that it does not know.
   */
  readonly url: string
  readonly pool?: never
  /** Most connections for reads, which each carry several statements at a time, 1 to 64. Default: 4. */
  readonly readConnections?: number
  /** Most connections for writes, 1 to 256. Default: 16. */
  readonly writeConnections?: number
  /**
   * Into how many partitions by organization the large tables are divided, 1 to 64. Chosen when the schema is made; a later
   * start that names another number is refused. Default: what the schema has, and none in a new one.
   */
  readonly partitions?: number
}

interface PoolOptions extends CommonOptions {
  /**
   * A `Pool` of `pg`, or anything with the same `query`, whose sessions have `read committed` and `synchronous_commit`
   * on. Connections of the service's own (`url`) do more: they have time limits and notice a stalled standby.
   */
  readonly pool: HostClient
  readonly url?: never
}

/** The options of `postgres`: connections of the service's own by `url`, or the host's by `pool`. */
export type PostgresStoreOptions = ServerOptions | PoolOptions

const COMMON_NAMES: Readonly<Record<keyof CommonOptions, true>> = { schema: true, migrations: true }
const SERVER_NAMES: Readonly<Record<Exclude<keyof ServerOptions, keyof CommonOptions | "pool">, true>> = {
  url: true,
  readConnections: true,
  writeConnections: true,
  partitions: true
}

/** The most that each number of the options may be. */
const MOST = { readConnections: 64, writeConnections: 256, partitions: MAX_PARTITIONS } as const

/** Longest name of a schema that Postgres keeps whole, in bytes. */
const MAX_SCHEMA_BYTES = 63

const isSchema = (schema: unknown): boolean =>
  typeof schema === "string" &&
  schema !== "" &&
  !schema.includes("\0") &&
  utf8Length(schema) <= MAX_SCHEMA_BYTES

const isPool = (pool: unknown): boolean =>
  typeof pool === "object" && pool !== null && "query" in pool && typeof pool.query === "function"

const IN_URL = "it is part of url, postgres://user:password@host:port/database."
const TLS =
  'how connections are encrypted is said in url, such as "postgres://user:password@host/database?sslmode=verify-full&sslrootcert=/path/to/ca.pem", or by your own pool: { pool: new Pool({ ssl }) }.'
const OF_BOTH = "say readConnections and writeConnections, or give a pool of your own."

/** What is meant by the options that `pg` and other libraries have. */
const FOREIGN_NAMES: ReadonlyMap<string, string> = new Map([
  ["connectionString", "it is called url."],
  ["uri", "it is called url."],
  ["ssl", TLS],
  ["tls", TLS],
  ["sslmode", TLS],
  ["host", IN_URL],
  ["port", IN_URL],
  ["user", IN_URL],
  ["password", IN_URL],
  ["database", IN_URL],
  ["max", OF_BOTH],
  ["connections", OF_BOTH]
])

const namesFaults = (options: object, known: ReadonlyArray<string>): Faults => {
  const foreign = Object.keys(options).filter((name) => FOREIGN_NAMES.has(name))
  return [
    ...foreign.map((name) => `there is no option "${name}": ${FOREIGN_NAMES.get(name)}`),
    ...unknownNames(options, [...known, ...foreign])
  ]
}

const serverFaults = (options: Readonly<Record<string, unknown>>): Faults => {
  const { url } = options
  const fault = typeof url === "string" ? postgresUrlFault(url) : "it is no text"
  return [
    ...namesFaults(options, Object.keys({ ...SERVER_NAMES, ...COMMON_NAMES })),
    ...(fault === undefined ? [] : [`url must be postgres://user:password@host:port/database: ${fault}.`]),
    ...Object.entries(MOST)
      .filter(([name, most]) => {
        const value = options[name]
        return (
          value !== undefined && !(Number.isInteger(value) && Number(value) >= 1 && Number(value) <= most)
        )
      })
      .map(([name, most]) => `${name} must be a whole number of 1 to ${most}.`)
  ]
}

const NAMES = ["pool", ...Object.keys({ ...SERVER_NAMES, ...COMMON_NAMES })]

const EITHER =
  'Give one of url and pool: { url: "postgres://user:password@host:port/database" } for connections of the service\'s own, or { pool } for those of your Pool of pg.'

const faultsOf = (options: unknown): Faults => {
  if (!isObject(options)) return [`options must be an object. ${EITHER}`]
  const { migrations, pool, schema, url } = options
  if (url !== undefined && pool !== undefined) return [`url and pool are both given. ${EITHER}`]
  if (url === undefined && pool === undefined) {
    return isPool(options) ? [`this is a pool. ${EITHER}`] : [...namesFaults(options, NAMES), EITHER]
  }
  return [
    ...(pool === undefined
      ? serverFaults(options)
      : namesFaults(options, ["pool", ...Object.keys(COMMON_NAMES)])),
    ...(pool === undefined || isPool(pool)
      ? []
      : ["pool must be a Pool of pg, or have the same query method."]),
    ...(schema === undefined || isSchema(schema)
      ? []
      : [`schema must be the name of a schema, of at most ${MAX_SCHEMA_BYTES} bytes.`]),
    ...(migrations === undefined || migrations === "run" || migrations === "require"
      ? []
      : ['migrations must be "run" or "require".'])
  ]
}

const portsOf = (options: PostgresStoreOptions): Layer.Layer<PostgresStore.PostgresPorts, unknown> => {
  const { migrations = "run", schema } = options
  const common = { migrations, ...(schema === undefined ? {} : { schema }) }
  if (options.pool !== undefined) return HostStore.layer({ pool: options.pool, ...common })
  const { partitions, readConnections, url, writeConnections } = options
  return Layer.unwrap(
    Effect.map(serverConnection(Redacted.make(url, { label: "database" })), ({ options: connection }) =>
      PostgresStore.layer({
        ...connection,
        ...common,
        ...(partitions === undefined ? {} : { partitions }),
        ...(readConnections === undefined ? {} : { readConnections }),
        ...(writeConnections === undefined ? {} : { writeConnections })
      })
    )
  )
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
export const postgres = (given: PostgresStoreOptions): Store => {
  throwFaults("postgres", faultsOf(given))
  const options = { ...given }
  return {
    [StoreLayer]: (signer) => Layer.provideMerge(signerBeside(signer), portsOf(options)),
    [StoreWithin]: (client) => HostStore.portsWithin(client, options.schema),
    outlivesProcess: true
  }
}
