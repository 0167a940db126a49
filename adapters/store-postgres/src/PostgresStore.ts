import type { ConnectionOptions } from "node:tls"
import type { PgPoolConfig } from "@effect/sql-pg/PgClient"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgTypes from "@effect/sql-pg/PgTypes"
import { makeTurns, StreamTurns } from "@svc/domain/engine/StreamTurns"
import { DueLeases } from "@svc/domain/ports/DueLeases"
import { EndedMandates } from "@svc/domain/ports/EndedMandates"
import { EventFeed } from "@svc/domain/ports/EventFeed"
import { MandateStore } from "@svc/domain/ports/MandateStore"
import { OperatorLog } from "@svc/domain/ports/OperatorLog"
import { OrganizationDirectory } from "@svc/domain/ports/OrganizationDirectory"
import { Organizations } from "@svc/domain/ports/Organizations"
import { SealedSecrets } from "@svc/domain/ports/SealedSecrets"
import { SigningKeyRecords } from "@svc/domain/ports/SigningKeyRecords"
import type { StoragePorts } from "@svc/domain/ports/StoragePorts"
import { StoreCleaning } from "@svc/domain/ports/StoreCleaning"
import { StoreHealth } from "@svc/domain/ports/StoreHealth"
import { StoreHistory } from "@svc/domain/ports/StoreHistory"
import { StoreStatistics } from "@svc/domain/ports/StoreStatistics"
import { SubjectStore } from "@svc/domain/ports/SubjectStore"
import { WaitingDeliveries } from "@svc/domain/ports/WaitingDeliveries"
import { WebhookStore } from "@svc/domain/ports/WebhookStore"
import {
  type Cause,
  Context,
  Data,
  type Duration,
  Effect,
  Layer,
  type Redacted,
  Result,
  type Scope
} from "effect"
import { Reactivity } from "effect/reactivity"
import { make as makeSqlClient, type SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { DEFAULT_LANES, type LaneOptions, makeLanes } from "./append/AppendLanes.ts"
import { makeAppend, makeAppendAlone } from "./append/PostgresAppend.ts"
import { makeAppendGroup } from "./append/PostgresAppendGroup.ts"
import { withReplicatedReplays } from "./append/ReplicatedReplays.ts"
import { connectionOf, makeWriteConnections } from "./append/WriteConnections.ts"
import { writeChange } from "./append/WrittenChange.ts"
import type { HostAnswer } from "./connection/HostAnswer.ts"
import { askHosts, HOST_CONNECT_TIMEOUT, type HostSearch, makeHostSearch } from "./connection/HostSearch.ts"
import type { PostgresClients } from "./connection/PostgresClients.ts"
import type { ServerHost } from "./connection/PostgresUrl.ts"
import { DEFAULT_SCHEMA } from "./connection/SchemaName.ts"
import { makeServerPool } from "./connection/ServerPool.ts"
import { DatabaseUnsuitable, refuseUnsuitable } from "./connection/ServerRequirements.ts"
import { sharesSessions } from "./diagnosis/ServerFacts.ts"
import { guardHistory } from "./history/HistoryGuard.ts"
import { makeStoreHistory } from "./history/PostgresHistory.ts"
import {
  type MigrationFault,
  migrate,
  type PartitionsDiffer,
  pendingMigrations,
  refuseOtherPartitions,
  type SchemaUnknown
} from "./Migrate.ts"
import { makeCleaning } from "./ports/PostgresCleaning.ts"
import { makeEndedMandates } from "./ports/PostgresEndedMandates.ts"
import { makeEventFeed } from "./ports/PostgresFeed.ts"
import { makeStoreHealth } from "./ports/PostgresHealth.ts"
import { makeDueLeases } from "./ports/PostgresLeases.ts"
import { makeOperatorLog } from "./ports/PostgresOperatorLog.ts"
import { makeOrganizationDirectory } from "./ports/PostgresOrganizationDirectory.ts"
import { makeOrganizations } from "./ports/PostgresOrganizations.ts"
import { makeReads } from "./ports/PostgresReads.ts"
import { makeSealedSecrets } from "./ports/PostgresSealedSecrets.ts"
import { makeSigningKeyRecords } from "./ports/PostgresSigningKeys.ts"
import { makeStoreStatistics } from "./ports/PostgresStatistics.ts"
import { makeSubjects } from "./ports/PostgresSubjects.ts"
import { makeWaitingDeliveries } from "./ports/PostgresWaitingDeliveries.ts"
import { makeWebhooks } from "./ports/PostgresWebhooks.ts"

export { DEFAULT_SCHEMA }

/** Largest result of one statement, in bytes: all open reservations of one mandate that fall due at once. */
export const MAX_MESSAGE_BYTES = 67_108_864

/** Longest that the server runs one statement, in milliseconds; a little less than the client waits. */
const STATEMENT_TIMEOUT_MILLISECONDS = 9000

/** Longest that a start waits for the server to say whether its schema is up to date. */
const START_TIMEOUT = "60 seconds"

/** Longest that a migration waits for a lock, in milliseconds. */
const MIGRATION_LOCK_TIMEOUT_MILLISECONDS = 30_000

/**
 * Longest that a connection for reads is used. A client does not notice that its server has left the network, and callers
 * that share a connection cannot end it, so it must end by itself.
 */
const READ_CONNECTION_LIFETIME: Duration.Input = "10 seconds"

/** Time without a message after which a connection checks that the other side is still there. */
const KEEP_ALIVE: Duration.Input = "10 seconds"

/** How long a session may wait for a standby to confirm its commit before it counts as stuck. */
const STANDBY_PATIENCE = "1 second"

/** A role without further rights sees the waits of its own sessions only. */
const WAITING_FOR_STANDBY = `select count(*) as waiting from pg_stat_activity a
  where a.usename = current_user and a.wait_event = 'SyncRep'
    and a.state_change < clock_timestamp() - interval '${STANDBY_PATIENCE}'`

const READ_CONNECTIONS = 4
const WRITE_CONNECTIONS = 16

/**
 * Each statement has one sensible plan, by the index that it was written for. Left to itself the server would read whole tables
 * by a plan that was made while they were empty, or, once they are analyzed, plan most statements anew for each run, which
 * costs several times what running them does.
 */
export const PLANNING = { enable_seqscan: "off", plan_cache_mode: "force_generic_plan" } as const

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: Redacted.Redacted
  /** Hosts of which the one that takes writes is used, in place of that of the URL. */
  readonly hosts?: ReadonlyArray<ServerHost>
  readonly schema?: string
  /**
   * Into how many partitions by organization the large tables are divided, from 1 to `MAX_PARTITIONS`; 0: each is a single
   * table. Chosen once, when the schema is made, where absent stands for 0. Later it may be absent; another number is refused
   * with `PartitionsDiffer`.
   */
  readonly partitions?: number
  /** Most connections for reads, which are multiplexed, and for writes, which each take one connection. */
  readonly readConnections?: number
  readonly writeConnections?: number
  /** How changes that arrive at the same time share statements; `off`: each has its own. */
  readonly groupedAppends?: LaneOptions | "off"
  /** Longest that the server runs one statement. */
  readonly statementTimeoutMilliseconds?: number
  /** Longest that a connection for reads, or for writes, is used before a new one takes its place. */
  readonly readConnectionLifetime?: Duration.Input
  readonly writeConnectionLifetime?: Duration.Input
  /** Requires encryption whatever the URL says, with the given authorities. */
  readonly tls?: ConnectionOptions
  /** Longest that opening a connection may take, to each host if there are several. */
  readonly connectTimeout?: Duration.Input
  /** The `application_name` of these sessions. */
  readonly applicationName?: string
}

/** Settings of every session, whatever the database or the role has set, so that no crash loses an acknowledged write. */
const PINNED = { default_transaction_isolation: "read committed", synchronous_commit: "on" } as const

/** What every session on a server asks for. */
export const SESSION_SETTINGS: Readonly<Record<string, string>> = { ...PINNED, ...PLANNING }

/** The configuration of every connection. It overrides the settings of the database and the role. */
const configOf = (options: PostgresOptions, startupParameters: Readonly<Record<string, string>>) =>
  ({
    url: options.url,
    applicationName: options.applicationName ?? "svc",
    maxMessageSize: MAX_MESSAGE_BYTES,
    connectTimeout:
      options.connectTimeout ?? (options.hosts === undefined ? "5 seconds" : HOST_CONNECT_TIMEOUT),
    ...(options.tls === undefined ? {} : { ssl: options.tls }),
    keepAlive: KEEP_ALIVE,
    startupParameters: { ...SESSION_SETTINGS, ...startupParameters }
  }) as const

/** Finds the host that takes writes, where there are several. */
const searchOf = (options: PostgresOptions): Effect.Effect<HostSearch | undefined, never, Scope.Scope> =>
  options.hosts === undefined ? Effect.undefined : makeHostSearch(configOf(options, {}), options.hosts)

/** What each host says of itself, asked with the role and the settings of every session. */
export const askEachHost = (
  options: PostgresOptions & Required<Pick<PostgresOptions, "hosts">>
): Effect.Effect<ReadonlyArray<HostAnswer>> => askHosts(configOf(options, {}), options.hosts)

/** The client for reads, on the host that a search finds. */
const followingReads = (
  config: PgPoolConfig,
  search: HostSearch
): Effect.Effect<SqlClient, SqlError, Scope.Scope | Reactivity.Reactivity> =>
  Effect.flatMap(makeServerPool(config, search), ({ reserve, use }) => {
    const exclusive = Effect.map(reserve, connectionOf)
    return makeSqlClient({
      acquirer: exclusive,
      borrower: (run) => use((session) => run(connectionOf(session))),
      transactionAcquirer: exclusive,
      driver: "@effect/sql-pg",
      compiler: PgClient.makeCompiler(),
      spanAttributes: [["db.system.name", "postgresql"]]
    })
  })

/** Connections to a server, opened when they are needed. */
export const connect = (
  options: PostgresOptions
): Effect.Effect<PostgresClients, SqlError, Scope.Scope | Reactivity.Reactivity> =>
  Effect.gen(function* () {
    const config = configOf(options, {
      statement_timeout: String(options.statementTimeoutMilliseconds ?? STATEMENT_TIMEOUT_MILLISECONDS)
    })
    const search = yield* searchOf(options)
    const readConfig = {
      ...config,
      multiplex: true,
      connectionTTL: options.readConnectionLifetime ?? READ_CONNECTION_LIFETIME,
      maxConnections: options.readConnections ?? READ_CONNECTIONS
    }
    const reads = yield* search === undefined ? PgClient.make(readConfig) : followingReads(readConfig, search)
    const { writes, ...server } = yield* makeWriteConnections({
      ...config,
      search,
      connectionTTL: options.writeConnectionLifetime,
      maxConnections: options.writeConnections ?? WRITE_CONNECTIONS,
      waitingForStandby: waitingForStandby(reads)
    })
    return { schema: options.schema ?? DEFAULT_SCHEMA, reads, writes, server }
  })

/** A client that only reads, on the one host of the URL, which may be a standby. */
export const connectReadOnly = (
  options: PostgresOptions
): Effect.Effect<SqlClient, SqlError, Scope.Scope | Reactivity.Reactivity> =>
  PgClient.make({
    ...configOf(options, { default_transaction_read_only: "on", statement_timeout: "0" }),
    maxConnections: 1
  })

const waitingForStandby = (client: SqlClient): Effect.Effect<number, SqlError> =>
  Effect.map(client.unsafe<{ readonly waiting: bigint }>(WAITING_FOR_STANDBY), ([row]) =>
    Number(row!.waiting)
  )

/** A server, or a proxy before it, gives sessions other settings than they ask for. */
export class SettingsIgnored extends Data.TaggedError("SettingsIgnored")<{
  readonly settings: ReadonlyArray<string>
}> {}

/** Checks that a connection can be made and that its session has the required settings. */
export const checkSession = (
  options: PostgresOptions
): Effect.Effect<void, SettingsIgnored | SqlError | Cause.TimeoutError> =>
  Effect.gen(function* () {
    const search = yield* searchOf(options)
    const found = search === undefined ? {} : yield* search.host
    const client = yield* PgClient.make({ ...configOf(options, {}), ...found, maxConnections: 1 })
    const rows = yield* client.unsafe<{ readonly name: string; readonly setting: string }>(
      "select name, current_setting(name) as setting from unnest($1::text[]) as name",
      [Result.getOrThrow(PgTypes.array(Object.keys(PINNED), PgTypes.OID.text))]
    ).unprepared
    const ignored = rows.filter(({ name, setting }) => PINNED[name as keyof typeof PINNED] !== setting)
    if (ignored.length > 0) {
      return yield* new SettingsIgnored({ settings: ignored.map(({ name }) => name) })
    }
  }).pipe(Effect.scoped, Effect.provide(Reactivity.layer), Effect.timeout(START_TIMEOUT))

/** The services of this store: the storage ports of the domain, and the records of the deployment itself. */
export type PostgresPorts =
  | StoragePorts
  | SigningKeyRecords
  | SealedSecrets
  | OperatorLog
  | OrganizationDirectory
  | StoreHistory
  | StoreStatistics
  | EndedMandates
  | WaitingDeliveries

/** The append of the port. Changes that arrive while others are under way share a statement. */
const makeGroupedAppend = (
  clients: PostgresClients,
  lanes: LaneOptions
): Effect.Effect<MandateStore["Service"]["append"], never, Scope.Scope> =>
  makeLanes(lanes, {
    write: writeChange,
    alone: makeAppendAlone(clients),
    together: makeAppendGroup(clients)
  })

/** The storage ports over the given connections, until the scope closes. */
export const portsOf = (
  clients: PostgresClients,
  groupedAppends: LaneOptions | "off" = DEFAULT_LANES
): Effect.Effect<Context.Context<PostgresPorts>, never, Scope.Scope> =>
  Effect.map(
    groupedAppends === "off"
      ? Effect.succeed(makeAppend(clients))
      : makeGroupedAppend(clients, groupedAppends),
    (append) => portsWith(clients, append)
  )

/** The storage ports over the given connections, with the given append. */
export const portsWith = (
  clients: PostgresClients,
  append: MandateStore["Service"]["append"]
): Context.Context<PostgresPorts> => {
  const { mandates, webhooks } = withReplicatedReplays(
    clients,
    { ...makeReads(clients), append },
    makeWebhooks(clients)
  )
  return Context.empty().pipe(
    Context.add(MandateStore, mandates),
    Context.add(EventFeed, makeEventFeed(clients)),
    Context.add(SubjectStore, makeSubjects(clients)),
    Context.add(Organizations, makeOrganizations(clients)),
    Context.add(DueLeases, makeDueLeases(clients)),
    Context.add(WebhookStore, webhooks),
    Context.add(StoreCleaning, makeCleaning(clients)),
    Context.add(StoreHealth, makeStoreHealth(clients)),
    Context.add(SigningKeyRecords, makeSigningKeyRecords(clients)),
    Context.add(SealedSecrets, makeSealedSecrets(clients)),
    Context.add(OperatorLog, makeOperatorLog(clients)),
    Context.add(OrganizationDirectory, makeOrganizationDirectory(clients)),
    Context.add(StoreHistory, makeStoreHistory(clients)),
    Context.add(StoreStatistics, makeStoreStatistics(clients)),
    Context.add(EndedMandates, makeEndedMandates(clients)),
    Context.add(WaitingDeliveries, makeWaitingDeliveries(clients)),
    Context.add(StreamTurns, makeTurns())
  )
}

/** The schema of a server lacks steps that this release needs. */
export class MigrationsPending extends Data.TaggedError("MigrationsPending")<{
  readonly pending: ReadonlyArray<string>
}> {}

const refuseOthers = (
  client: SqlClient,
  { partitions, schema }: Pick<PostgresOptions, "partitions" | "schema">
) =>
  partitions === undefined ? Effect.void : refuseOtherPartitions(client, schema ?? DEFAULT_SCHEMA, partitions)

/**
 * Takes the steps on a separate connection. A step may run for any time but waits for a lock only for a limited one, since
 * all other statements queue behind it.
 */
const takeSteps = (
  options: PostgresOptions
): Effect.Effect<
  ReadonlyArray<string>,
  DatabaseUnsuitable | MigrationFault | SqlError,
  Reactivity.Reactivity
> =>
  Effect.gen(function* () {
    const schema = options.schema ?? DEFAULT_SCHEMA
    const { writes } = yield* makeWriteConnections({
      ...configOf(options, {
        statement_timeout: "0",
        lock_timeout: String(MIGRATION_LOCK_TIMEOUT_MILLISECONDS)
      }),
      search: yield* searchOf(options),
      maxConnections: 1,
      waitingForStandby: Effect.succeed(0)
    })
    yield* refuseUnsuitable(writes)
    const taken = yield* migrate(writes, schema, options.partitions)
    yield* refuseOthers(writes, options)
    return taken.map(({ name }) => name)
  }).pipe(Effect.scoped)

const SHARED_SESSIONS =
  "One connection is served by several sessions, as behind PgBouncer in transaction mode, where prepared statements and settings of another one are met: name the server itself, or a pool in session mode."

const refuseSharedSessions = ({
  reads,
  writes
}: PostgresClients): Effect.Effect<void, DatabaseUnsuitable | SqlError> =>
  Effect.flatMap(sharesSessions(writes, reads), (isShared) =>
    isShared ? Effect.fail(new DatabaseUnsuitable({ faults: [SHARED_SESSIONS] })) : Effect.void
  )

/** Refuses a schema that lacks steps, or is divided otherwise than asked for. */
export const refusePending = (
  { schema, writes }: PostgresClients,
  options: Pick<PostgresOptions, "partitions" | "schema">
): Effect.Effect<void, MigrationsPending | PartitionsDiffer | SchemaUnknown | SqlError> =>
  Effect.gen(function* () {
    const pending = yield* pendingMigrations(writes, schema)
    if (pending.length > 0) return yield* new MigrationsPending({ pending: pending.map(({ name }) => name) })
    yield* refuseOthers(writes, options)
  })

/** Brings the schema of a server up to date and returns the names of the steps that it lacked. */
export const migrateServer = (
  options: PostgresOptions
): Effect.Effect<ReadonlyArray<string>, DatabaseUnsuitable | MigrationFault | SqlError> =>
  Effect.provide(takeSteps(options), Reactivity.layer)

/**
 * The storage ports on a Postgres server of version 15 to 18, which many processes may share. Its schema is brought up
 * to date, or must be so already. The clock is the server's.
 */
export const layer = (
  options: PostgresOptions & { readonly migrations: "run" | "require" }
): Layer.Layer<
  PostgresPorts,
  DatabaseUnsuitable | MigrationsPending | MigrationFault | SqlError | Cause.TimeoutError
> =>
  Layer.effectContext(
    Effect.gen(function* () {
      if (options.migrations === "run") yield* takeSteps(options)
      const clients = yield* connect(options)
      yield* Effect.timeout(refuseSharedSessions(clients), START_TIMEOUT)
      if (options.migrations === "require") {
        yield* Effect.timeout(
          Effect.andThen(refuseUnsuitable(clients.writes), refusePending(clients, options)),
          START_TIMEOUT
        )
      }
      return yield* guardHistory(yield* portsOf(clients, options.groupedAppends), false, clients)
    })
  ).pipe(Layer.provide(Reactivity.layer))
