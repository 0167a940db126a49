import { StoreHistory } from "@svc/domain/ports/StoreHistory"
import { StoreStatistics } from "@svc/domain/ports/StoreStatistics"
import {
  preparedTransactions,
  replicationSlots,
  standbyFacts,
  transactionFacts
} from "@svc/store-postgres/diagnosis/ActivityFacts"
import { feedsAhead } from "@svc/store-postgres/diagnosis/HistoryFacts"
import { migrationFacts, privilegeFacts, vacuumFacts } from "@svc/store-postgres/diagnosis/SchemaFacts"
import {
  clockFacts,
  connectionFacts,
  sessionSettings,
  sharesSessions
} from "@svc/store-postgres/diagnosis/ServerFacts"
import { storedEndpoints } from "@svc/store-postgres/diagnosis/StoredEndpoints"
import { type PostgresPorts, SESSION_SETTINGS } from "@svc/store-postgres/PostgresStore"
import { Effect, Option, Result } from "effect"
import { secretFacts } from "../command/StoredSecrets.ts"
import {
  loopbackConfig,
  masterKeyConfig,
  otherStoreConfig,
  partitionsConfig,
  storeConfig
} from "../config/Config.ts"
import { EXIT_TEMPORARY, type StartFault } from "../start/StartFault.ts"
import {
  LONG_TRANSACTION_SECONDS,
  preparedCheck,
  slotsCheck,
  standbyCheck,
  transactionsCheck
} from "./ActivityChecks.ts"
import { type Check, examine, type Finding, failed, NotExamined, ok, skipAll, skipped } from "./Check.ts"
import { COMPARISON_LIMIT_SECONDS, compareStores, missingCheck } from "./ComparedStores.ts"
import { type ExaminedStore, openExamined } from "./ExaminedStore.ts"
import { historyCheck, positionsCheck } from "./HistoryChecks.ts"
import { hostsCheck } from "./HostChecks.ts"
import { masterKeyCheck, SIGNING_CHECKS, signingFacts } from "./KeyChecks.ts"
import { ORGANIZATION_CHECKS, organizationFacts, originFacts } from "./OriginChecks.ts"
import { migrationsCheck, privilegesCheck, VACUUM_CHECKS } from "./SchemaChecks.ts"
import { clockCheck, connectionsCheck, poolerCheck, SERVER_CHECKS, sessionCheck } from "./ServerChecks.ts"
import {
  BACKLOG_CHECKS,
  CONNECTIONS_LIMIT_SECONDS,
  disabledCheck,
  MAX_CONNECTED_ENDPOINTS,
  reachCheck,
  reachFacts
} from "./WebhookChecks.ts"

export interface StoreQuestions {
  /** Whether webhook endpoints are connected to. */
  readonly isReachAsked: boolean
}

type Findings<R = never> = Effect.Effect<ReadonlyArray<Finding>, never, R>

const CONNECTION = "database.connection"

/** Checks of the database, which need no schema. */
const DATABASE_CHECKS: ReadonlyArray<{ readonly name: string }> = [
  hostsCheck,
  ...SERVER_CHECKS,
  sessionCheck,
  poolerCheck,
  clockCheck,
  connectionsCheck,
  migrationsCheck,
  privilegesCheck,
  ...VACUUM_CHECKS,
  transactionsCheck,
  preparedCheck,
  slotsCheck,
  standbyCheck
]

/** Checks of what is stored, which need a schema that is up to date. */
const DATA_CHECKS: ReadonlyArray<{ readonly name: string }> = [
  historyCheck,
  positionsCheck,
  missingCheck,
  masterKeyCheck,
  ...SIGNING_CHECKS,
  ...ORGANIZATION_CHECKS,
  ...BACKLOG_CHECKS,
  disabledCheck,
  reachCheck
]

const together = <R>(parts: ReadonlyArray<Findings<R>>): Findings<R> =>
  Effect.map(Effect.all(parts), (findings) => findings.flat())

const EMBEDDED = new NotExamined({
  reason: "an embedded database has one session, with the clock of this machine"
})

const ONE_HOST = new NotExamined({ reason: "SVC_STORE names one place" })

/** What only a server has. */
const onServer = <Facts, E>(
  { server }: ExaminedStore,
  facts: Effect.Effect<Facts, E>,
  check: Check<Facts>
): Findings => examine(server.isEmbedded ? Effect.fail(EMBEDDED) : facts, [check])

const migrationFindings = ({ clients }: ExaminedStore): Findings =>
  examine(
    Effect.gen(function* () {
      const facts = yield* migrationFacts(clients.writes, clients.schema)
      return { ...facts, expected: Option.getOrUndefined(yield* Effect.option(partitionsConfig)) }
    }),
    [migrationsCheck]
  )

const databaseFindings = (store: ExaminedStore): Findings => {
  const { reads, schema, writes } = store.clients
  const given = sessionSettings(writes, Object.keys(SESSION_SETTINGS))
  return together([
    examine(store.hosts === undefined ? Effect.fail(ONE_HOST) : Effect.succeed(store.hosts), [hostsCheck]),
    examine(Effect.succeed(store.server), SERVER_CHECKS),
    onServer(
      store,
      Effect.map(given, (found) => ({ asked: SESSION_SETTINGS, given: found })),
      sessionCheck
    ),
    onServer(store, sharesSessions(writes, reads), poolerCheck),
    onServer(store, clockFacts(writes), clockCheck),
    onServer(store, connectionFacts(writes), connectionsCheck),
    migrationFindings(store),
    examine(privilegeFacts(writes, schema), [privilegesCheck]),
    examine(vacuumFacts(writes, schema), VACUUM_CHECKS),
    examine(transactionFacts(writes, LONG_TRANSACTION_SECONDS), [transactionsCheck]),
    examine(preparedTransactions(writes), [preparedCheck]),
    examine(replicationSlots(writes), [slotsCheck]),
    examine(standbyFacts(writes), [standbyCheck])
  ])
}

const historyFindings = ({ clients, ports, server }: ExaminedStore): Findings =>
  together([
    examine(
      StoreHistory.use(({ state }) => state()).pipe(
        Effect.map((state) => ({ ...state, isEmbedded: server.isEmbedded })),
        Effect.provideContext(ports)
      ),
      [historyCheck]
    ),
    examine(feedsAhead(clients.writes, clients.schema), [positionsCheck]),
    missingFindings
  ])

const NO_OTHER = new NotExamined({ reason: "SVC_OTHER_STORE names no other database to compare with" })

const missingFindings: Findings = examine(
  Effect.gen(function* () {
    const store = yield* storeConfig
    const other = yield* otherStoreConfig
    return yield* other === undefined || "pglite" in store
      ? Effect.fail(NO_OTHER)
      : compareStores(store, other)
  }),
  [missingCheck],
  COMPARISON_LIMIT_SECONDS
)

/** Longest that opening every secret of a large deployment may take, in seconds. */
const SECRETS_LIMIT_SECONDS = 60

const keyFindings = ({ ports }: ExaminedStore): Findings =>
  Effect.gen(function* () {
    const keys = yield* Effect.option(masterKeyConfig)
    if (Option.isNone(keys)) {
      return skipAll([masterKeyCheck, ...SIGNING_CHECKS], "the settings lack a valid master key")
    }
    return yield* together<PostgresPorts>([
      examine(secretFacts(keys.value), [masterKeyCheck], SECRETS_LIMIT_SECONDS),
      examine(signingFacts(keys.value), SIGNING_CHECKS)
    ]).pipe(Effect.provideContext(ports))
  })

const reachFindings = ({ clients }: ExaminedStore, { isReachAsked }: StoreQuestions): Findings => {
  const asked = Effect.gen(function* () {
    const loopbackAllowed = yield* Effect.orElseSucceed(loopbackConfig, () => false)
    const active = { status: "active", limit: MAX_CONNECTED_ENDPOINTS } as const
    return yield* reachFacts(yield* storedEndpoints(clients.writes, clients.schema, active), loopbackAllowed)
  })
  return examine(isReachAsked ? asked : Effect.undefined, [reachCheck], CONNECTIONS_LIMIT_SECONDS)
}

/** Disabled endpoints that are read. */
const MAX_DISABLED_ENDPOINTS = 1000

const dataFindings = (store: ExaminedStore, questions: StoreQuestions): Findings => {
  const { clients, ports } = store
  const disabled = { status: "disabled", limit: MAX_DISABLED_ENDPOINTS } as const
  return together([
    historyFindings(store),
    keyFindings(store),
    examine(
      Effect.flatMap(originFacts, ({ environment }) => organizationFacts(environment)),
      ORGANIZATION_CHECKS
    ).pipe(Effect.provideContext(ports)),
    examine(
      StoreStatistics.use(({ state }) => state),
      BACKLOG_CHECKS
    ).pipe(Effect.provideContext(ports)),
    examine(storedEndpoints(clients.writes, clients.schema, disabled), [disabledCheck]),
    reachFindings(store, questions)
  ])
}

/** A folder that another process has open is in use rather than at fault. */
const unopened = ({ exitCode, line }: StartFault, isFolder: boolean): ReadonlyArray<Finding> => {
  const verdict =
    isFolder && exitCode === EXIT_TEMPORARY
      ? skipped(line, "stop that process to have the database examined")
      : failed(line, "see that the database runs, that SVC_STORE names it, and that this machine reaches it")
  return [
    { check: CONNECTION, ...verdict },
    ...skipAll([...DATABASE_CHECKS, ...DATA_CHECKS], `the database is not open: see ${CONNECTION}`)
  ]
}

const isUpToDate = (findings: ReadonlyArray<Finding>): boolean =>
  findings.every(({ check, status }) => check !== migrationsCheck.name || status !== "failed")

/** What is to be said of the store, whether it can be reached or not. Nothing of it is changed. */
export const storeFindings = (questions: StoreQuestions): Findings =>
  Effect.gen(function* () {
    const setting = yield* Effect.result(storeConfig)
    if (Result.isFailure(setting)) return unopened(setting.failure, false)
    const opened = yield* Effect.result(openExamined(setting.success))
    if (Result.isFailure(opened)) return unopened(opened.failure, "pglite" in setting.success)
    const store = opened.success
    const database = yield* databaseFindings(store)
    const data = isUpToDate(database)
      ? yield* dataFindings(store, questions)
      : skipAll(DATA_CHECKS, `the schema is not up to date: see ${migrationsCheck.name}`)
    return [{ check: CONNECTION, ...ok(store.place) }, ...database, ...data]
  }).pipe(Effect.scoped)
