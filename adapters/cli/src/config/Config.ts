import { isIP } from "node:net"
import { join } from "node:path"
import { DEFAULT_RATE, type Rate } from "@svc/http-server/api/RateLimit"
import { NO_PROXIES, parseTrustedProxies, type TrustedProxies } from "@svc/http-server/http/ClientAddress"
import { decodeBase64Url } from "@svc/protocol/Base64Url"
import { WEBHOOK_SECRET_BYTES, WEBHOOK_SECRET_PREFIX } from "@svc/protocol/WebhookSignature"
import { MASTER_KEY_BYTES } from "@svc/signer/SecretSealerNodeCrypto"
import { Config, Console, Effect, type LogLevel, Option, Redacted, Result } from "effect"
import { allOf, badSetting, type StartFault } from "../start/StartFault.ts"
import { nearestOf } from "./Nearest.ts"
import { parseStore, STORE_FORM, type StoreSetting, storeFaultOf } from "./StoreSetting.ts"

/** A value read from the environment, and what `--help` says about it. */
interface Setting<A> {
  readonly name: string
  readonly meaning: string
  /** What a value must be, to be said when it is not. */
  readonly form: string
  /** As it would be written. Absent: the setting has none. */
  readonly byDefault?: string
  readonly parse: (text: string) => A | undefined
  /** What is wrong with a value that does not parse, where more can be said than the form. Quotes nothing of it. */
  readonly faultOf?: (text: string) => string | undefined
}

const literals =
  <const A extends ReadonlyArray<string>>(...values: A) =>
  (text: string): A[number] | undefined =>
    values.includes(text) ? text : undefined

const MAX_PORT = 65_535

const parsePort = (text: string): number | undefined => {
  const port = /^\d{1,5}$/u.test(text) ? Number(text) : 0
  return port >= 1 && port <= MAX_PORT ? port : undefined
}

/** An `http` or `https` origin, as WHATWG URL serializes it: no path, query, fragment or user info. */
export const parseOrigin = (text: string): string | undefined => {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return undefined
  return url.href === `${url.origin}/` ? url.origin : undefined
}

const parseMasterKey = (text: string): Redacted.Redacted<Uint8Array> | undefined => {
  const bytes = decodeBase64Url(text)
  return bytes?.length === MASTER_KEY_BYTES ? Redacted.make(bytes, { label: "master key" }) : undefined
}

/** A webhook secret (part 8), if it is one. */
export const parseWebhookSecret = (text: string): Redacted.Redacted | undefined => {
  if (!text.startsWith(WEBHOOK_SECRET_PREFIX)) return undefined
  const bytes = decodeBase64Url(text.slice(WEBHOOK_SECRET_PREFIX.length))
  return bytes?.length === WEBHOOK_SECRET_BYTES ? Redacted.make(text, { label: "webhook secret" }) : undefined
}

const MAX_RATE = 1_000_000

/** `off`, or `rate` a second with twice as much at once, or `rate:burst`. */
const parseRate = (text: string): Rate | "off" | undefined => {
  if (text === "off") return "off"
  const [, rate, burst] = /^(\d{1,7})(?::(\d{1,7}))?$/u.exec(text) ?? []
  if (rate === undefined) return undefined
  const limit = { rate: Number(rate), burst: burst === undefined ? 2 * Number(rate) : Number(burst) }
  const isSound = limit.rate >= 1 && limit.burst >= 1 && limit.rate <= MAX_RATE && limit.burst <= 2 * MAX_RATE
  return isSound ? limit : undefined
}

const LOG_LEVELS: Readonly<Record<string, LogLevel.LogLevel>> = {
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
  none: "None"
}

const parseLogLevel = (text: string): LogLevel.LogLevel | undefined =>
  Object.hasOwn(LOG_LEVELS, text) ? LOG_LEVELS[text] : undefined

const ENVIRONMENT = {
  name: "SVC_ENVIRONMENT",
  meaning: "The environment that this deployment serves; keys of the other are refused.",
  form: "test or live",
  parse: literals("test", "live")
} as const satisfies Setting<unknown>

const URL_PARAMETERS =
  "Parameters of a server's URL: sslmode (from require on, the certificate is verified), ssl, sslrootcert, connect_timeout, application_name, options, host, port, user, password, dbname."

const STORE = {
  name: "SVC_STORE",
  meaning: `Where everything is kept: in memory, lost when the process ends; in a folder; on a Postgres server. ${URL_PARAMETERS}`,
  form: STORE_FORM,
  parse: parseStore,
  faultOf: storeFaultOf
} as const satisfies Setting<unknown>

const PORT = {
  name: "SVC_PORT",
  meaning: "Port of the API.",
  form: "a port number of 1 to 65535",
  byDefault: "8080",
  parse: parsePort
} as const satisfies Setting<unknown>

/** The development server is for this machine only, unless it is told otherwise. */
const DEV_HOST = "127.0.0.1"

const HOST = {
  name: "SVC_HOST",
  meaning: "Address of this machine that both listeners are at. By default all of them.",
  form: "an IP address such as 127.0.0.1 or ::, or localhost",
  parse: (text: string) => (isIP(text) !== 0 || text === "localhost" ? text : undefined)
} as const satisfies Setting<unknown>

const DEV_HOST_SETTING = {
  ...HOST,
  meaning: "Address of this machine that both listeners are at.",
  byDefault: DEV_HOST
} as const satisfies Setting<unknown>

const APPROVAL_PORT = {
  name: "SVC_APPROVAL_PORT",
  meaning: "Port of the approval pages.",
  form: "a port number of 1 to 65535, other than SVC_PORT",
  byDefault: "8081",
  parse: parsePort
} as const satisfies Setting<unknown>

const BASE_URL = {
  name: "SVC_BASE_URL",
  meaning: "Where callers reach the API.",
  form: "an origin such as https://api.example.com (https in the live environment)",
  parse: parseOrigin
} as const satisfies Setting<unknown>

const APPROVAL_BASE_URL = {
  name: "SVC_APPROVAL_BASE_URL",
  meaning: "Where end users reach the approval pages: an origin of its own.",
  form: "an origin such as https://approve.example.com, other than SVC_BASE_URL (http for localhost only, and not in the live environment)",
  parse: parseOrigin
} as const satisfies Setting<unknown>

const RP_ID = {
  name: "SVC_RP_ID",
  meaning: "Relying party id of the passkeys. By default the host of SVC_APPROVAL_BASE_URL.",
  form: "the host of SVC_APPROVAL_BASE_URL or a parent domain of it",
  parse: (text: string) => (/^[a-z0-9.-]+$/u.test(text) ? text : undefined)
} as const satisfies Setting<unknown>

const MASTER_KEY = {
  name: "SVC_MASTER_KEY",
  meaning: "Master key; what is secret in the store is sealed under it.",
  form: "32 bytes as unpadded base64url",
  parse: parseMasterKey
} as const satisfies Setting<unknown>

const MASTER_KEY_PREVIOUS = {
  name: "SVC_MASTER_KEY_PREVIOUS",
  meaning: "The master key before; it only opens what it sealed.",
  form: "32 bytes as unpadded base64url",
  parse: parseMasterKey
} as const satisfies Setting<unknown>

const RATE_LIMIT = {
  name: "SVC_RATE_LIMIT",
  meaning: "Requests of one API key in this process: a second, and at once (by default twice as many).",
  form: "off, or rate[:burst] such as 100:200",
  byDefault: `${DEFAULT_RATE.rate}:${DEFAULT_RATE.burst}`,
  parse: parseRate
} as const satisfies Setting<unknown>

const TRUSTED_PROXIES = {
  name: "SVC_TRUSTED_PROXIES",
  meaning:
    "Proxies before this process; the client's address is the rightmost in their X-Forwarded-For that is none of them.",
  form: "addresses and CIDR ranges with commas between them, such as 10.0.0.0/8,2001:db8::7",
  parse: parseTrustedProxies
} as const satisfies Setting<unknown>

const WEBHOOK_ALLOW_LOOPBACK = {
  name: "SVC_WEBHOOK_ALLOW_LOOPBACK",
  meaning: "Whether webhooks may go to this machine, over http too. In the test environment only.",
  form: "true or false (false in the live environment)",
  byDefault: "false",
  parse: literals("true", "false")
} as const satisfies Setting<unknown>

const LOG_LEVEL = {
  name: "SVC_LOG_LEVEL",
  meaning: "The least that is logged.",
  form: `one of ${Object.keys(LOG_LEVELS).join(", ")}`,
  byDefault: "info",
  parse: parseLogLevel
} as const satisfies Setting<unknown>

const DATA_DIR = {
  name: "SVC_DATA_DIR",
  meaning: "Folder of the development server: dev.json, its master key, and its database.",
  form: "a path",
  byDefault: ".data",
  parse: (text: string) => text
} as const satisfies Setting<unknown>

const API_KEY = {
  name: "SVC_API_KEY",
  meaning: "The API key that the server is asked with. By default that of dev.json, for its own server.",
  form: "an API key, svc_test_... or svc_live_...",
  parse: (text: string) =>
    /^svc_(?:test|live)_[\w-]{43}$/u.test(text) ? Redacted.make(text, { label: "api_key" }) : undefined
} as const satisfies Setting<unknown>

const SERVER_URL = {
  ...BASE_URL,
  meaning: "Where the server is. By default that of dev.json.",
  form: "an origin such as http://localhost:8080"
} as const satisfies Setting<unknown>

const WEBHOOK_SECRET = {
  name: "SVC_WEBHOOK_SECRET",
  meaning: "Signing secret of the webhooks.",
  form: "svc_wh_ and 32 bytes as unpadded base64url",
  parse: parseWebhookSecret
} as const satisfies Setting<unknown>

/** A Postgres server, which several processes may have open. */
const SERVER_STORE = {
  ...STORE,
  meaning: `The Postgres server where everything is kept. ${URL_PARAMETERS}`,
  form: "a postgres:// URL",
  parse: (text: string) => {
    const store = parseStore(text)
    return store !== undefined && store !== "memory" && "postgres" in store ? store : undefined
  },
  faultOf: (text: string) =>
    parseStore(text) === undefined
      ? storeFaultOf(text)
      : "a folder or memory is opened by one process alone, which brings its schema up to date and works on it by itself"
} as const satisfies Setting<unknown>

/** A store that outlives the process. */
const LASTING_STORE = {
  ...STORE,
  meaning: `Where everything is kept: in a folder, or on a Postgres server. ${URL_PARAMETERS}`,
  form: "pglite:<folder> or a postgres:// URL",
  parse: (text: string) => {
    const store = parseStore(text)
    return store === "memory" ? undefined : store
  },
  faultOf: (text: string) => (text === "memory" ? "memory ends with the command" : storeFaultOf(text))
} as const satisfies Setting<unknown>

/** What nobody can put an organization into would refuse every request. */
const SERVED_STORE = {
  ...LASTING_STORE,
  faultOf: (text: string) =>
    text === "memory"
      ? "no command can make an organization in the memory of another process; npm start makes one in its own"
      : storeFaultOf(text)
} as const satisfies Setting<unknown>

/** Folder of the development server's database within `SVC_DATA_DIR`. */
const DEV_DATABASE = "pglite"

/** Its default depends on another setting. */
const DEV_STORE = { ...STORE, byDefault: `pglite:{SVC_DATA_DIR}/${DEV_DATABASE}` } as const

/** A variable that is empty is as one that is not there. */
const written = (setting: Setting<unknown>): Effect.Effect<string | undefined, StartFault> =>
  Config.option(Config.Redacted(setting.name)).pipe(
    Effect.mapError(() => badSetting(`${setting.name} cannot be read`)),
    Effect.map((option) => Option.getOrUndefined(Option.map(option, Redacted.value)) || undefined)
  )

/** Never quotes a value: it may be a secret in the wrong place. */
const isBad = ({ faultOf, form, name }: Setting<unknown>, text = ""): StartFault => {
  const fault = faultOf?.(text)
  return badSetting(`${name} must be ${form}${fault === undefined ? "" : `: ${fault}`}`)
}

const optional = Effect.fnUntraced(function* <A>(
  setting: Setting<A>
): Effect.fn.Return<A | undefined, StartFault> {
  const text = (yield* written(setting)) ?? setting.byDefault
  if (text === undefined) return undefined
  const value = setting.parse(text)
  return value === undefined ? yield* isBad(setting, text) : value
})

const required = Effect.fnUntraced(function* <A>(setting: Setting<A>): Effect.fn.Return<A, StartFault> {
  const value = yield* optional(setting)
  if (value !== undefined) return value
  return yield* badSetting(`${setting.name} is missing; it must be ${setting.form}`)
})

/** What both ways of starting need. */
export interface ServerConfig {
  readonly environment: "test" | "live"
  readonly store: StoreSetting
  /** Address that both listeners are at. Absent: all of this machine. */
  readonly host: string | undefined
  readonly port: number
  readonly approvalPort: number
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

/** What the development server reads; the rest it makes. */
export type DevConfig = Pick<ServerConfig, "store" | "port" | "approvalPort" | "rateLimit" | "logLevel"> & {
  readonly host: string
  readonly dataDir: string
}

const readPorts = Effect.gen(function* () {
  const ports = yield* allOf({ port: required(PORT), approvalPort: required(APPROVAL_PORT) })
  return ports.port === ports.approvalPort ? yield* isBad(APPROVAL_PORT) : ports
})

const isLocalhost = (url: URL): boolean => url.hostname === "localhost" || url.hostname.endsWith(".localhost")

const readApproval = Effect.fnUntraced(function* (environment: "test" | "live") {
  const approvalBaseUrl = yield* required(APPROVAL_BASE_URL)
  const approval = new URL(approvalBaseUrl)
  const isSecure = approval.protocol === "https:" || (environment === "test" && isLocalhost(approval))
  if (!isSecure) return yield* isBad(APPROVAL_BASE_URL)
  const rpId = (yield* optional(RP_ID)) ?? approval.hostname
  const isOwn = approval.hostname === rpId || (rpId.includes(".") && approval.hostname.endsWith(`.${rpId}`))
  return isOwn ? { approvalBaseUrl, rpId } : yield* isBad(RP_ID)
})

const readOrigins = Effect.gen(function* () {
  // Which of them is good enough depends on the environment; a missing one is told anyway.
  const environment = (yield* Effect.result(required(ENVIRONMENT))).pipe(
    Result.getOrElse(() => "test" as const)
  )
  const { approval, baseUrl } = yield* allOf({
    baseUrl: Effect.flatMap(required(BASE_URL), (url) =>
      environment === "live" && !url.startsWith("https:") ? Effect.fail(isBad(BASE_URL)) : Effect.succeed(url)
    ),
    approval: readApproval(environment)
  })
  return approval.approvalBaseUrl === baseUrl ? yield* isBad(APPROVAL_BASE_URL) : { baseUrl, ...approval }
})

/** The environment is asked for only where it matters. */
const readLoopback = Effect.gen(function* () {
  if ((yield* required(WEBHOOK_ALLOW_LOOPBACK)) === "false") return false
  return (yield* required(ENVIRONMENT)) === "test" ? true : yield* isBad(WEBHOOK_ALLOW_LOOPBACK)
})

/** Settings of `svc serve`; fails with all that are missing or bad (part 9). */
export const serverConfig: Effect.Effect<ServerConfig, StartFault> = Effect.map(
  allOf({
    environment: required(ENVIRONMENT),
    store: required(SERVED_STORE),
    origins: readOrigins,
    masterKey: required(MASTER_KEY),
    masterKeyPrevious: optional(MASTER_KEY_PREVIOUS),
    host: optional(HOST),
    ports: readPorts,
    rateLimit: required(RATE_LIMIT),
    trustedProxies: Effect.map(optional(TRUSTED_PROXIES), (proxies) => proxies ?? NO_PROXIES),
    webhookLoopback: readLoopback,
    logLevel: required(LOG_LEVEL)
  }),
  ({ origins, ports, ...others }) => ({ ...others, ...origins, ...ports })
)

/** Settings of the commands that work on the store alone. */
export const storeConfig: Effect.Effect<Exclude<StoreSetting, "memory">, StartFault> = required(LASTING_STORE)
export const environmentConfig: Effect.Effect<"test" | "live", StartFault> = required(ENVIRONMENT)
export const masterKeyConfig = allOf({
  current: required(MASTER_KEY),
  previous: optional(MASTER_KEY_PREVIOUS)
})

/** Whether this deployment lets addresses of the machine stand for hosts out there, as `svc serve` will. */
export const loopbackConfig = readLoopback

/** Settings of `svc listen`, all of which have something in their place. */
export const listenConfig = allOf({
  apiKey: optional(API_KEY),
  baseUrl: optional(SERVER_URL),
  secret: optional(WEBHOOK_SECRET),
  dataDir: required(DATA_DIR)
})

/** Setting of `svc webhook verify`, unless its options name another place. */
export const webhookSecretConfig = required(WEBHOOK_SECRET)

/** The variable of that name as a webhook secret. */
export const webhookSecretIn = (name: string) => required({ ...WEBHOOK_SECRET, name })

/** A Postgres server. */
export const serverStoreConfig = required(SERVER_STORE)

/** Settings of `svc worker`. */
export const workerConfig = allOf({
  store: serverStoreConfig,
  masterKeys: masterKeyConfig,
  webhookLoopback: readLoopback,
  logLevel: required(LOG_LEVEL)
})

/** Settings of the development server. */
export const devConfig: Effect.Effect<DevConfig, StartFault> = Effect.map(
  allOf({
    dataDir: required(DATA_DIR),
    store: optional(STORE),
    host: required(DEV_HOST_SETTING),
    ports: readPorts,
    rateLimit: required(RATE_LIMIT),
    logLevel: required(LOG_LEVEL)
  }),
  ({ ports, store, ...others }) => ({
    ...others,
    ...ports,
    store: store ?? { pglite: join(others.dataDir, DEV_DATABASE) }
  })
)

const SERVER_SETTINGS: ReadonlyArray<Setting<unknown>> = [
  ENVIRONMENT,
  SERVED_STORE,
  BASE_URL,
  APPROVAL_BASE_URL,
  MASTER_KEY,
  MASTER_KEY_PREVIOUS,
  RP_ID,
  HOST,
  PORT,
  APPROVAL_PORT,
  RATE_LIMIT,
  TRUSTED_PROXIES,
  WEBHOOK_ALLOW_LOOPBACK,
  LOG_LEVEL
]

const DEV_SETTINGS: ReadonlyArray<Setting<unknown>> = [
  DEV_HOST_SETTING,
  PORT,
  APPROVAL_PORT,
  DEV_STORE,
  DATA_DIR,
  RATE_LIMIT,
  LOG_LEVEL
]

/** What commands read, to be told in their help. */
export const SETTINGS_OF = {
  serve: SERVER_SETTINGS,
  worker: [SERVER_STORE, MASTER_KEY, MASTER_KEY_PREVIOUS, WEBHOOK_ALLOW_LOOPBACK, LOG_LEVEL],
  migrate: [SERVER_STORE],
  listen: [API_KEY, SERVER_URL, WEBHOOK_SECRET, DATA_DIR],
  webhookSecret: [WEBHOOK_SECRET],
  store: [LASTING_STORE],
  storeAndEnvironment: [LASTING_STORE, ENVIRONMENT],
  organization: [LASTING_STORE, ENVIRONMENT, WEBHOOK_ALLOW_LOOPBACK],
  storeAndMasterKey: [LASTING_STORE, MASTER_KEY, MASTER_KEY_PREVIOUS]
} as const satisfies Readonly<Record<string, ReadonlyArray<Setting<unknown>>>>

const OPTIONAL = new Set<Setting<unknown>>([
  MASTER_KEY_PREVIOUS,
  RP_ID,
  TRUSTED_PROXIES,
  HOST,
  API_KEY,
  SERVER_URL,
  WEBHOOK_SECRET
])

const namesOf = (settings: ReadonlyArray<Setting<unknown>>): ReadonlyArray<string> =>
  settings.map(({ name }) => name)

const KNOWN = [...new Set([...Object.values(SETTINGS_OF).flatMap(namesOf), ...namesOf(DEV_SETTINGS)])]

/** Variables of the tests of this repository. */
const OF_TESTS = /^SVC_TEST_/u

/** A variable that looks like a setting and is none would narrow nothing, in silence. */
const unknownWarning = (name: string): string => {
  const meant = nearestOf(name, KNOWN)
  return `${name} is no setting${meant === undefined ? "; see --help" : `; was ${meant} meant?`}`
}

/** What `svc serve` reads and the development server does not, since it makes it. */
const MADE_BY_DEV = new Set(namesOf(SERVER_SETTINGS).filter((name) => !namesOf(DEV_SETTINGS).includes(name)))

/** Warnings of variables that are set and have no effect, by name alone. */
export const settingWarnings = (
  env: Readonly<Record<string, string | undefined>>,
  command: "svc" | "dev"
): ReadonlyArray<string> => {
  const names = Object.keys(env).filter(
    (name) => name.startsWith("SVC_") && !OF_TESTS.test(name) && env[name]
  )
  return names.flatMap((name) => {
    if (!KNOWN.includes(name)) return unknownWarning(name)
    return command === "dev" && MADE_BY_DEV.has(name)
      ? `${name} has no effect on the development server, which sets that itself`
      : []
  })
}

/** Tells them once, on the standard error. */
export const warnOfSettings = (command: "svc" | "dev"): Effect.Effect<void> =>
  Effect.forEach(settingWarnings(process.env, command), (line) => Console.error(`warning: ${line}`), {
    discard: true
  })

/** What a command's `--help` prints. */
export const helpOf = (usage: string, settings: ReadonlyArray<Setting<unknown>>): string => {
  const entries = settings.map((setting) => {
    const { byDefault, form, meaning, name } = setting
    const otherwise = OPTIONAL.has(setting) ? "Optional." : "Required."
    return `  ${name}\n      ${meaning}\n      ${form}. ${byDefault === undefined ? otherwise : `Default ${byDefault}.`}`
  })
  return `${usage}\n\nSettings are environment variables:\n\n${entries.join("\n")}\n\nExit codes: 0 done, or stopped by a signal; 64 the command or an option is not known or bad; 75 a port or the store is in use or out of reach; 78 a setting is missing or bad, or the database refuses what it says; 141 nobody reads the output any more.\n`
}

/** What the development server's `--help` prints. */
export const DEV_HELP = helpOf(
  "The development server: the API, the approval pages and the worker in the test environment, with everything made on first start. Not for production.",
  DEV_SETTINGS
)
