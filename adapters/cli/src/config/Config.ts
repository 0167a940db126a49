import { join } from "node:path"
import { mayUseRelyingParty } from "@svc/domain/approval/RelyingParty"
import type { RetentionDays } from "@svc/domain/workers/CleaningWorker"
import type { Rate } from "@svc/http-server/gate/RateLimit"
import { NO_PROXIES, type TrustedProxies } from "@svc/http-server/http/ClientAddress"
import type { OtlpTracesOptions } from "@svc/telemetry/OtlpTraces"
import { Effect, type LogLevel, type Redacted, Result } from "effect"
import { configurationFault, type StartFault, validateAll } from "../start/StartFault.ts"
import { type MasterKeySetting, openMasterKeySetting } from "./MasterKeySetting.ts"
import { invalidSetting, optional, required } from "./Setting.ts"
import {
  API_KEY,
  APPROVAL_BASE_URL,
  APPROVAL_PORT,
  ASSERTION_RETENTION_DAYS,
  BASE_URL,
  COMPARED_STORE,
  DATA_DIR,
  DEV_DATABASE,
  DEV_HOST_SETTING,
  ENVIRONMENT,
  HOST,
  LASTING_STORE,
  LOG_LEVEL,
  MASTER_KEY,
  MASTER_KEY_PREVIOUS,
  METRICS_PORT,
  OTHER_STORE,
  PORT,
  RATE_LIMIT,
  RP_ID,
  SERVED_STORE,
  SERVER_STORE,
  SERVER_URL,
  STORE,
  STORE_PARTITIONS,
  TRUSTED_PROXIES,
  WEBHOOK_ALLOW_LOOPBACK,
  WEBHOOK_RETENTION_DAYS,
  WEBHOOK_SECRET
} from "./Settings.ts"
import type { StoreSetting } from "./StoreSetting.ts"
import { tracesConfig } from "./TracesConfig.ts"

/** What `svc serve` and the development server run with. */
export interface ServerConfig extends RetentionDays {
  readonly environment: "test" | "live"
  readonly store: StoreSetting
  /** Address that all listeners bind to. Absent: all addresses of this machine. */
  readonly host: string | undefined
  readonly port: number
  readonly approvalPort: number
  /** Absent: nothing is measured. */
  readonly metricsPort?: number | undefined
  /** Absent: there are no traces. */
  readonly traces?: OtlpTracesOptions | undefined
  /** Origin, without a trailing slash. */
  readonly baseUrl: string
  /** Origin, without a trailing slash. */
  readonly approvalBaseUrl: string
  readonly rpId: string
  readonly masterKey: Redacted.Redacted<Uint8Array>
  readonly masterKeyPrevious: Redacted.Redacted<Uint8Array> | undefined
  readonly rateLimit: Rate | "off"
  readonly trustedProxies: TrustedProxies
  readonly webhookLoopback: boolean
  readonly logLevel: LogLevel.LogLevel
}

/** The settings of the development server, which supplies the rest itself. */
export type DevConfig = Pick<
  ServerConfig,
  "store" | "port" | "approvalPort" | "rateLimit" | keyof RetentionDays | "logLevel"
> & {
  readonly host: string
  readonly dataDir: string
}

const readPorts = Effect.gen(function* () {
  const ports = yield* validateAll({ port: required(PORT), approvalPort: required(APPROVAL_PORT) })
  return ports.port === ports.approvalPort ? yield* invalidSetting(APPROVAL_PORT) : ports
})

const isLocalhost = (url: URL): boolean => url.hostname === "localhost" || url.hostname.endsWith(".localhost")

const readApproval = Effect.fnUntraced(function* (environment: "test" | "live") {
  const approvalBaseUrl = yield* required(APPROVAL_BASE_URL)
  const approval = new URL(approvalBaseUrl)
  const isSecure = approval.protocol === "https:" || (environment === "test" && isLocalhost(approval))
  if (!isSecure) return yield* invalidSetting(APPROVAL_BASE_URL)
  const rpId = (yield* optional(RP_ID)) ?? approval.hostname
  return mayUseRelyingParty(approval.hostname, rpId)
    ? { approvalBaseUrl, rpId }
    : yield* invalidSetting(RP_ID)
})

const readOrigins = Effect.gen(function* () {
  // A missing environment is reported by `serverConfig`; the origins are then checked by the rules of the test one.
  const environment = (yield* Effect.result(required(ENVIRONMENT))).pipe(
    Result.getOrElse(() => "test" as const)
  )
  const { approval, baseUrl } = yield* validateAll({
    baseUrl: Effect.flatMap(required(BASE_URL), (url) =>
      environment === "live" && !url.startsWith("https:")
        ? Effect.fail(invalidSetting(BASE_URL))
        : Effect.succeed(url)
    ),
    approval: readApproval(environment)
  })
  return approval.approvalBaseUrl === baseUrl
    ? yield* invalidSetting(APPROVAL_BASE_URL)
    : { baseUrl, ...approval }
})

/** The environment is required only where loopback addresses are to be allowed. */
const readLoopback = Effect.gen(function* () {
  if ((yield* required(WEBHOOK_ALLOW_LOOPBACK)) === "false") return false
  return (yield* required(ENVIRONMENT)) === "test" ? true : yield* invalidSetting(WEBHOOK_ALLOW_LOOPBACK)
})

/** Adds the partitions that are asked for to the store, which must then be on a server. */
const withPartitions = <Store extends Exclude<StoreSetting, "memory">>(
  store: Effect.Effect<Store, StartFault>
): Effect.Effect<Store, StartFault> =>
  Effect.gen(function* () {
    const given = yield* validateAll({ store, partitions: optional(STORE_PARTITIONS) })
    if (given.partitions === undefined) return given.store
    if ("postgres" in given.store) return { ...given.store, partitions: given.partitions }
    return yield* configurationFault(
      `${STORE_PARTITIONS.name} is for a Postgres server, and ${STORE.name} names none`
    )
  })

/** The ports of `svc serve`, all of them different. */
const readServerPorts = Effect.gen(function* () {
  const { metricsPort, ports } = yield* validateAll({
    ports: readPorts,
    metricsPort: optional(METRICS_PORT)
  })
  const isTaken = metricsPort === ports.port || metricsPort === ports.approvalPort
  return isTaken ? yield* invalidSetting(METRICS_PORT) : { ...ports, metricsPort }
})

/** The master keys themselves. A key management service is asked once the settings are valid. */
const openMasterKeys = Effect.fnUntraced(function* <Previous extends MasterKeySetting | undefined>(keys: {
  readonly current: MasterKeySetting
  readonly previous: Previous
}) {
  const { previous } = keys
  return {
    current: yield* openMasterKeySetting(MASTER_KEY.name, keys.current),
    previous: (previous === undefined
      ? undefined
      : yield* openMasterKeySetting(MASTER_KEY_PREVIOUS.name, previous)) as Previous extends undefined
      ? undefined
      : Redacted.Redacted<Uint8Array>
  }
})

/** Settings of `svc serve`; fails with every missing or invalid one. */
export const serverConfig: Effect.Effect<ServerConfig, StartFault> = Effect.flatMap(
  validateAll({
    environment: required(ENVIRONMENT),
    store: withPartitions(required(SERVED_STORE)),
    origins: readOrigins,
    masterKey: required(MASTER_KEY),
    masterKeyPrevious: optional(MASTER_KEY_PREVIOUS),
    host: optional(HOST),
    ports: readServerPorts,
    rateLimit: required(RATE_LIMIT),
    trustedProxies: Effect.map(optional(TRUSTED_PROXIES), (proxies) => proxies ?? NO_PROXIES),
    webhookLoopback: readLoopback,
    webhookRetentionDays: required(WEBHOOK_RETENTION_DAYS),
    assertionRetentionDays: required(ASSERTION_RETENTION_DAYS),
    traces: tracesConfig,
    logLevel: required(LOG_LEVEL)
  }),
  ({ masterKey, masterKeyPrevious, origins, ports, ...others }) =>
    Effect.map(openMasterKeys({ current: masterKey, previous: masterKeyPrevious }), (keys) => ({
      ...others,
      ...origins,
      ...ports,
      masterKey: keys.current,
      masterKeyPrevious: keys.previous
    }))
)

/** The store of commands that work on the store alone. */
export const storeConfig: Effect.Effect<Exclude<StoreSetting, "memory">, StartFault> = required(LASTING_STORE)

/** The store, and another database that it is compared with. */
export const comparedStoresConfig = validateAll({
  store: required(SERVER_STORE),
  other: required(COMPARED_STORE)
})

/** The same other database, where one is named. */
export const otherStoreConfig = optional(OTHER_STORE)
export const environmentConfig: Effect.Effect<"test" | "live", StartFault> = required(ENVIRONMENT)
export const masterKeyConfig = validateAll({
  current: required(MASTER_KEY),
  previous: optional(MASTER_KEY_PREVIOUS)
}).pipe(Effect.flatMap(openMasterKeys))

/** The master keys of a change from the previous to the current one. */
export const rewrapConfig = validateAll({
  current: required(MASTER_KEY),
  previous: required(MASTER_KEY_PREVIOUS)
}).pipe(Effect.flatMap(openMasterKeys))

/** Whether loopback addresses are allowed for webhooks and key sets. */
export const loopbackConfig = readLoopback

/** Settings of `svc listen`; options or dev.json may replace each of them. */
export const listenConfig = validateAll({
  apiKey: optional(API_KEY),
  baseUrl: optional(SERVER_URL),
  secret: optional(WEBHOOK_SECRET),
  dataDir: required(DATA_DIR)
})

/** Setting of `svc webhook verify`, unless an option names another source. */
export const webhookSecretConfig = required(WEBHOOK_SECRET)

/** A webhook secret in the variable of that name. */
export const webhookSecretIn = (name: string) => required({ ...WEBHOOK_SECRET, name })

/** The partitions of a schema that is printed rather than made. */
export const partitionsConfig = optional(STORE_PARTITIONS)

/** The store of commands that need a Postgres server. */
export const serverStoreConfig = withPartitions(required(SERVER_STORE))

/** Settings of `svc worker`. */
export const workerConfig = validateAll({
  store: serverStoreConfig,
  masterKeys: masterKeyConfig,
  webhookLoopback: readLoopback,
  webhookRetentionDays: required(WEBHOOK_RETENTION_DAYS),
  assertionRetentionDays: required(ASSERTION_RETENTION_DAYS),
  host: optional(HOST),
  metricsPort: optional(METRICS_PORT),
  traces: tracesConfig,
  logLevel: required(LOG_LEVEL)
})

/** Settings of the development server. */
export const devConfig: Effect.Effect<DevConfig, StartFault> = Effect.map(
  validateAll({
    dataDir: required(DATA_DIR),
    store: optional(STORE),
    host: required(DEV_HOST_SETTING),
    ports: readPorts,
    rateLimit: required(RATE_LIMIT),
    webhookRetentionDays: required(WEBHOOK_RETENTION_DAYS),
    assertionRetentionDays: required(ASSERTION_RETENTION_DAYS),
    logLevel: required(LOG_LEVEL)
  }),
  ({ ports, store, ...others }) => ({
    ...others,
    ...ports,
    store: store ?? { pglite: join(others.dataDir, DEV_DATABASE) }
  })
)
