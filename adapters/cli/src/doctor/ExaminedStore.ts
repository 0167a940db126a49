import { resolve } from "node:path"
import type { HostAnswer } from "@svc/store-postgres/connection/HostAnswer"
import type { PostgresClients } from "@svc/store-postgres/connection/PostgresClients"
import { serverFacts } from "@svc/store-postgres/diagnosis/ServerFacts"
import type { PostgresPorts } from "@svc/store-postgres/PostgresStore"
import { type Context, Duration, Effect, Layer, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import type { StoreSetting } from "../config/StoreSetting.ts"
import { connectionTo } from "../start/DatabaseConnection.ts"
import { databaseFault, describeDatabase } from "../start/DatabaseFault.ts"
import { requireDatabaseIn } from "../start/EmbeddedFolder.ts"
import type { StartFault } from "../start/StartFault.ts"
import { storeFault } from "../start/StoreFault.ts"
import type { FoundServer } from "./ServerChecks.ts"

/** A store as it is: its schema is not brought up to date, and its history may be unacknowledged. */
export interface ExaminedStore {
  readonly clients: PostgresClients
  readonly ports: Context.Context<PostgresPorts>
  readonly server: FoundServer
  /** Which database it is, without secrets. */
  readonly place: string
  /** What each host said, where `SVC_STORE` lists several. */
  readonly hosts?: ReadonlyArray<HostAnswer>
}

type Opened = Effect.Effect<ExaminedStore, StartFault, Scope.Scope>

/** Longest that a server may take to answer for the first time. */
const CONNECTION_LIMIT = Duration.seconds(10)

const withReactivity = Effect.provide(Layer.fresh(Reactivity.layer))

const openFolder = (folder: string): Opened =>
  Effect.gen(function* () {
    yield* requireDatabaseIn(folder)
    const [{ connectUnmigrated }, { portsOf }] = yield* Effect.promise(() =>
      Promise.all([import("@svc/store-postgres/PgliteStore"), import("@svc/store-postgres/PostgresStore")])
    )
    const clients = yield* Effect.mapError(connectUnmigrated({ folder }), (fault) => storeFault(fault))
    const server = yield* Effect.mapError(serverFacts(clients.writes), (fault) =>
      databaseFault(fault, undefined)
    )
    return {
      clients,
      ports: yield* portsOf(clients, "off"),
      server: { ...server, isEmbedded: true },
      place: folder
    }
  }).pipe(withReactivity)

const openServer = ({ postgres }: Extract<StoreSetting, { postgres: unknown }>): Opened =>
  Effect.gen(function* () {
    const { askEachHost, connect, portsOf } = yield* Effect.promise(
      () => import("@svc/store-postgres/PostgresStore")
    )
    const { address, options } = yield* connectionTo(postgres)
    const clients = yield* connect({
      applicationName: "svc doctor",
      ...options,
      readConnections: 1,
      writeConnections: 1
    }).pipe(Effect.mapError((fault) => databaseFault(fault, address)))
    const server = yield* serverFacts(clients.writes).pipe(
      Effect.timeout(CONNECTION_LIMIT),
      Effect.mapError((fault) => databaseFault(fault, address))
    )
    return {
      clients,
      ports: yield* portsOf(clients, "off"),
      server: { ...server, isEmbedded: false },
      place: describeDatabase(address),
      ...(options.hosts === undefined
        ? {}
        : { hosts: yield* askEachHost({ applicationName: "svc doctor", ...options, hosts: options.hosts }) })
    }
  }).pipe(withReactivity)

/** Opens a store for as long as the scope lasts. Nothing of it is changed. */
export const openExamined = (store: Exclude<StoreSetting, "memory">): Opened =>
  "pglite" in store ? openFolder(resolve(store.pglite)) : openServer(store)
