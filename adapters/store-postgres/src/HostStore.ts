import { type Context, Data, Effect, Layer, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { makeAppend } from "./append/PostgresAppend.ts"
import { type HostClient, hostClients } from "./connection/HostClient.ts"
import { type DatabaseUnsuitable, refuseUnsuitable } from "./connection/ServerRequirements.ts"
import { guardHistory } from "./history/HistoryGuard.ts"
import { type MigrationFault, migrate, type SchemaUnknown } from "./Migrate.ts"
import {
  DEFAULT_SCHEMA,
  type MigrationsPending,
  type PostgresPorts,
  portsOf,
  portsWith,
  refusePending
} from "./PostgresStore.ts"

/*
 * The store on connections of its host, which has its own pool and its own transactions.
 */

/** The host's session cannot be used: `detail` says what to change. */
export class HostSessionUnsuitable extends Data.TaggedError("HostSessionUnsuitable")<{
  readonly detail: string
}> {}

export interface HostStoreOptions {
  /** A pool of the host, whose sessions have the isolation level `read committed` and `synchronous_commit` on. */
  readonly pool: HostClient
  /** Default: `svc`. */
  readonly schema?: string
  /** `run` brings the schema up to date; `require` fails unless it is. */
  readonly migrations: "run" | "require"
}

/** Statements must see what was committed before each of them, not before the first. */
const refuseOtherIsolation = (client: SqlClient): Effect.Effect<void, HostSessionUnsuitable | SqlError> =>
  Effect.flatMap(
    client.unsafe<{ readonly isolation: string }>(
      "select current_setting('transaction_isolation') as isolation"
    ),
    ([row]) =>
      row?.isolation === "read committed"
        ? Effect.void
        : Effect.fail(
            new HostSessionUnsuitable({
              detail: `the isolation level of the session is ${row?.isolation}: it must be read committed`
            })
          )
  )

/** The storage ports on a pool of the host. */
export const layer = (
  options: HostStoreOptions
): Layer.Layer<
  PostgresPorts,
  DatabaseUnsuitable | HostSessionUnsuitable | MigrationsPending | MigrationFault | SchemaUnknown | SqlError
> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const schema = options.schema ?? DEFAULT_SCHEMA
      const clients = yield* hostClients(options.pool, schema)
      yield* refuseUnsuitable(clients.writes)
      yield* refuseOtherIsolation(clients.writes)
      if (options.migrations === "run") yield* migrate(clients.writes, schema)
      else yield* refusePending(clients, { schema })
      return yield* guardHistory(yield* portsOf(clients), false, clients)
    })
  ).pipe(Layer.provide(Reactivity.layer))

const refuseOutsideTransaction = (client: SqlClient): Effect.Effect<void, HostSessionUnsuitable> =>
  // A savepoint exists in a transaction alone.
  client.unsafe("savepoint svc_begins").pipe(
    Effect.andThen(client.unsafe("release savepoint svc_begins")),
    Effect.mapError(
      () => new HostSessionUnsuitable({ detail: "the client is in no transaction: send BEGIN first" })
    )
  )

/**
 * The storage ports within a transaction that the host has begun on one connection. What they record is kept or gone with
 * it: a change that is refused leaves the transaction usable, and nothing is durable before the host commits.
 */
export const portsWithin = (
  client: HostClient,
  schema: string = DEFAULT_SCHEMA
): Effect.Effect<Context.Context<PostgresPorts>, HostSessionUnsuitable | SqlError, Scope.Scope> =>
  Effect.gen(function* () {
    const clients = yield* hostClients(client, schema)
    yield* refuseOutsideTransaction(clients.writes)
    yield* refuseOtherIsolation(clients.writes)
    return yield* guardHistory(portsWith(clients, makeAppend(clients)), true)
  }).pipe(Effect.provide(Reactivity.layer))
