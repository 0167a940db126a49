import { isIP } from "node:net"
import {
  ASSERTION_RETENTION_DAYS as DEFAULT_ASSERTION_RETENTION_DAYS,
  WEBHOOK_RETENTION_DAYS as DEFAULT_WEBHOOK_RETENTION_DAYS,
  MAX_RETENTION_DAYS,
  MIN_RETENTION_DAYS
} from "@svc/domain/workers/CleaningWorker"
import { DEFAULT_RATE } from "@svc/http-server/gate/RateLimit"
import { parseTrustedProxies } from "@svc/http-server/http/ClientAddress"
import { MAX_PARTITIONS } from "@svc/store-postgres/MaxPartitions"
import { MASTER_KEY_FORM, parseMasterKeySetting } from "./MasterKeySetting.ts"
import { parsePort } from "./Port.ts"
import type { Setting } from "./Setting.ts"
import {
  LOG_LEVELS,
  oneOfWords,
  parseApiKey,
  parseLogLevel,
  parseOrigin,
  parsePartitions,
  parseRate,
  parseRetentionDays,
  parseWebhookSecret
} from "./SettingParsers.ts"
import { parseStore, STORE_FORM, storeUrlFault } from "./StoreSetting.ts"

export const ENVIRONMENT = {
  name: "SVC_ENVIRONMENT",
  meaning: "The environment that this deployment serves; API keys of the other are refused.",
  form: "test or live",
  parse: oneOfWords("test", "live")
} as const satisfies Setting<unknown>

const URL_PARAMETERS =
  "Parameters of a server's URL: sslmode (from require on, the certificate is verified), ssl, sslrootcert, connect_timeout, target_session_attrs, load_balance_hosts, application_name, options, host, port, user, password, dbname. It may list several hosts, separated by commas."

export const STORE = {
  name: "SVC_STORE",
  fileName: "SVC_STORE_FILE",
  meaning: `Where the data is stored: in memory, lost when the process ends; in a folder; on a Postgres server. ${URL_PARAMETERS}`,
  form: STORE_FORM,
  parse: parseStore,
  faultOf: storeUrlFault
} as const satisfies Setting<unknown>

export const STORE_PARTITIONS = {
  name: "SVC_STORE_PARTITIONS",
  meaning:
    "Into how many partitions by organization the large tables of a Postgres server are divided. Chosen when the schema is made, by default none; a start that names another number is refused.",
  form: `a number of 1 to ${MAX_PARTITIONS}, or none`,
  isOptional: true,
  parse: parsePartitions
} as const satisfies Setting<unknown>

export const PORT = {
  name: "SVC_PORT",
  meaning: "Port of the API.",
  form: "a port number of 1 to 65535",
  byDefault: "8080",
  parse: parsePort
} as const satisfies Setting<unknown>

/** By default nobody but this machine can reach the development server. */
const DEV_HOST = "127.0.0.1"

export const HOST = {
  name: "SVC_HOST",
  meaning: "Address that all listeners bind to. By default all addresses of this machine.",
  form: "an IP address such as 127.0.0.1 or ::, or localhost",
  isOptional: true,
  parse: (text: string) => (isIP(text) !== 0 || text === "localhost" ? text : undefined)
} as const satisfies Setting<unknown>

export const DEV_HOST_SETTING = {
  ...HOST,
  meaning: "Address that all listeners bind to.",
  byDefault: DEV_HOST
} as const satisfies Setting<unknown>

export const APPROVAL_PORT = {
  name: "SVC_APPROVAL_PORT",
  meaning: "Port of the approval pages.",
  form: "a port number of 1 to 65535, other than SVC_PORT",
  byDefault: "8081",
  parse: parsePort
} as const satisfies Setting<unknown>

export const METRICS_PORT = {
  name: "SVC_METRICS_PORT",
  meaning: "Port of GET /metrics, for Prometheus. By default nothing is measured.",
  form: "a port number of 1 to 65535, other than SVC_PORT and SVC_APPROVAL_PORT",
  isOptional: true,
  parse: parsePort
} as const satisfies Setting<unknown>

export const BASE_URL = {
  name: "SVC_BASE_URL",
  meaning: "Origin at which callers reach the API.",
  form: "an origin such as https://api.example.com (https in the live environment)",
  parse: parseOrigin
} as const satisfies Setting<unknown>

export const APPROVAL_BASE_URL = {
  name: "SVC_APPROVAL_BASE_URL",
  meaning: "Origin at which end users reach the approval pages.",
  form: "an origin such as https://approve.example.com, other than SVC_BASE_URL (http for localhost only, and not in the live environment)",
  parse: parseOrigin
} as const satisfies Setting<unknown>

export const RP_ID = {
  name: "SVC_RP_ID",
  meaning: "Relying party ID of the passkeys. By default the host of SVC_APPROVAL_BASE_URL.",
  form: "the host of SVC_APPROVAL_BASE_URL or a parent domain of it",
  isOptional: true,
  parse: (text: string) => (/^[a-z0-9.-]+$/u.test(text) ? text : undefined)
} as const satisfies Setting<unknown>

export const MASTER_KEY = {
  name: "SVC_MASTER_KEY",
  fileName: "SVC_MASTER_KEY_FILE",
  meaning: "Master key, under which secrets in the store are sealed.",
  form: MASTER_KEY_FORM,
  parse: parseMasterKeySetting
} as const satisfies Setting<unknown>

export const MASTER_KEY_PREVIOUS = {
  name: "SVC_MASTER_KEY_PREVIOUS",
  fileName: "SVC_MASTER_KEY_PREVIOUS_FILE",
  meaning: "Previous master key; it only opens what was sealed under it.",
  form: MASTER_KEY_FORM,
  isOptional: true,
  parse: parseMasterKeySetting
} as const satisfies Setting<unknown>

export const RATE_LIMIT = {
  name: "SVC_RATE_LIMIT",
  meaning:
    "Requests that one API key may make to this process: per second, and in a burst (by default twice the rate).",
  form: "off, or rate[:burst] such as 100:200",
  byDefault: `${DEFAULT_RATE.rate}:${DEFAULT_RATE.burst}`,
  parse: parseRate
} as const satisfies Setting<unknown>

export const TRUSTED_PROXIES = {
  name: "SVC_TRUSTED_PROXIES",
  meaning:
    "Reverse proxies in front of this process; the client's address is the rightmost one in X-Forwarded-For that is not theirs.",
  form: "addresses and CIDR ranges with commas between them, such as 10.0.0.0/8,2001:db8::7",
  isOptional: true,
  parse: parseTrustedProxies
} as const satisfies Setting<unknown>

export const WEBHOOK_ALLOW_LOOPBACK = {
  name: "SVC_WEBHOOK_ALLOW_LOOPBACK",
  meaning: "Whether webhooks may be sent to loopback addresses, over http too. In the test environment only.",
  form: "true or false (false in the live environment)",
  byDefault: "false",
  parse: oneOfWords("true", "false")
} as const satisfies Setting<unknown>

const RETENTION_FORM = `a whole number of days from ${MIN_RETENTION_DAYS} to ${MAX_RETENTION_DAYS}`

export const WEBHOOK_RETENTION_DAYS = {
  name: "SVC_WEBHOOK_RETENTION_DAYS",
  meaning: "How long webhook deliveries are kept after they were delivered or exhausted.",
  form: RETENTION_FORM,
  byDefault: String(DEFAULT_WEBHOOK_RETENTION_DAYS),
  parse: parseRetentionDays
} as const satisfies Setting<unknown>

export const ASSERTION_RETENTION_DAYS = {
  name: "SVC_ASSERTION_RETENTION_DAYS",
  meaning:
    "How long the identifiers of identity assertions (jti) are kept after they could be used again, in case the store's clock is set back.",
  form: RETENTION_FORM,
  byDefault: String(DEFAULT_ASSERTION_RETENTION_DAYS),
  parse: parseRetentionDays
} as const satisfies Setting<unknown>

export const LOG_LEVEL = {
  name: "SVC_LOG_LEVEL",
  meaning: "Lowest level that is logged.",
  form: `one of ${Object.keys(LOG_LEVELS).join(", ")}`,
  byDefault: "info",
  parse: parseLogLevel
} as const satisfies Setting<unknown>

export const DATA_DIR = {
  name: "SVC_DATA_DIR",
  meaning: "Folder of the development server, for dev.json, its master key and its database.",
  form: "a path",
  byDefault: ".data",
  parse: (text: string) => text
} as const satisfies Setting<unknown>

export const API_KEY = {
  name: "SVC_API_KEY",
  meaning: "API key for the requests. By default that of dev.json, which is sent to its own server only.",
  form: "an API key, svc_test_... or svc_live_...",
  isOptional: true,
  parse: parseApiKey
} as const satisfies Setting<unknown>

export const SERVER_URL = {
  ...BASE_URL,
  meaning: "Origin of the server's API. By default that of dev.json.",
  form: "an origin such as http://localhost:8080",
  isOptional: true
} as const satisfies Setting<unknown>

export const WEBHOOK_SECRET = {
  name: "SVC_WEBHOOK_SECRET",
  meaning: "Signing secret of the webhooks.",
  form: "svc_wh_ and 32 bytes as unpadded base64url",
  isOptional: true,
  parse: parseWebhookSecret
} as const satisfies Setting<unknown>

/** A Postgres server, the one store that several processes can share. */
export const SERVER_STORE = {
  ...STORE,
  meaning: `The Postgres server where the data is stored. ${URL_PARAMETERS}`,
  form: "a postgres:// URL",
  parse: (text: string) => {
    const store = parseStore(text)
    return store !== undefined && store !== "memory" && "postgres" in store ? store : undefined
  },
  faultOf: (text: string) =>
    parseStore(text) === undefined
      ? storeUrlFault(text)
      : "a folder or memory is opened by one process alone, which brings its schema up to date and works on it by itself"
} as const satisfies Setting<unknown>

/** Another database, to compare the store with. */
export const COMPARED_STORE = {
  name: "SVC_OTHER_STORE",
  meaning: `Another database of this deployment on a Postgres server, such as a lost primary, which is read and never written. ${URL_PARAMETERS}`,
  form: "a postgres:// URL",
  parse: (text: string) => {
    const store = parseStore(text)
    return store !== undefined && store !== "memory" && "postgres" in store ? store : undefined
  },
  faultOf: storeUrlFault
} as const satisfies Setting<unknown>

/** The same where it may be left out. */
export const OTHER_STORE = { ...COMPARED_STORE, isOptional: true } as const satisfies Setting<unknown>

/** A store that outlives the process. */
export const LASTING_STORE = {
  ...STORE,
  meaning: `Where the data is stored: in a folder, or on a Postgres server. ${URL_PARAMETERS}`,
  form: "pglite:<folder> or a postgres:// URL",
  parse: (text: string) => {
    const store = parseStore(text)
    return store === "memory" ? undefined : store
  },
  faultOf: (text: string) => (text === "memory" ? "memory ends with the command" : storeUrlFault(text))
} as const satisfies Setting<unknown>

/** `svc serve` refuses memory: no command could create an organization there, so every request would be refused. */
export const SERVED_STORE = {
  ...LASTING_STORE,
  faultOf: (text: string) =>
    text === "memory"
      ? "no command can make an organization in the memory of another process; npm start makes one in its own"
      : storeUrlFault(text)
} as const satisfies Setting<unknown>

/** Folder of the development server's database within `SVC_DATA_DIR`. */
export const DEV_DATABASE = "pglite"

/** The default is computed, since it depends on `SVC_DATA_DIR`. */
export const DEV_STORE = { ...STORE, byDefault: `pglite:{SVC_DATA_DIR}/${DEV_DATABASE}` } as const
