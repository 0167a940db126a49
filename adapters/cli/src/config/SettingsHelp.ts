import { ARCHIVE_SETTINGS } from "./ArchiveSettings.ts"
import { OPEN_TELEMETRY_SETTINGS } from "./OpenTelemetrySettings.ts"
import type { Setting } from "./Setting.ts"
import {
  API_KEY,
  APPROVAL_BASE_URL,
  APPROVAL_PORT,
  ASSERTION_RETENTION_DAYS,
  BASE_URL,
  COMPARED_STORE,
  DATA_DIR,
  DEV_HOST_SETTING,
  DEV_STORE,
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
  STORE_PARTITIONS,
  TRUSTED_PROXIES,
  WEBHOOK_ALLOW_LOOPBACK,
  WEBHOOK_RETENTION_DAYS,
  WEBHOOK_SECRET
} from "./Settings.ts"

export const SERVER_SETTINGS: ReadonlyArray<Setting<unknown>> = [
  ENVIRONMENT,
  SERVED_STORE,
  STORE_PARTITIONS,
  BASE_URL,
  APPROVAL_BASE_URL,
  MASTER_KEY,
  MASTER_KEY_PREVIOUS,
  RP_ID,
  HOST,
  PORT,
  APPROVAL_PORT,
  METRICS_PORT,
  RATE_LIMIT,
  TRUSTED_PROXIES,
  WEBHOOK_ALLOW_LOOPBACK,
  WEBHOOK_RETENTION_DAYS,
  ASSERTION_RETENTION_DAYS,
  LOG_LEVEL,
  ...OPEN_TELEMETRY_SETTINGS
]

export const DEV_SETTINGS: ReadonlyArray<Setting<unknown>> = [
  DEV_HOST_SETTING,
  PORT,
  APPROVAL_PORT,
  DEV_STORE,
  DATA_DIR,
  RATE_LIMIT,
  WEBHOOK_RETENTION_DAYS,
  ASSERTION_RETENTION_DAYS,
  LOG_LEVEL
]

/** The settings that commands read, as listed in their help. */
export const SETTINGS_OF = {
  serve: SERVER_SETTINGS,
  worker: [
    SERVER_STORE,
    STORE_PARTITIONS,
    MASTER_KEY,
    MASTER_KEY_PREVIOUS,
    WEBHOOK_ALLOW_LOOPBACK,
    WEBHOOK_RETENTION_DAYS,
    ASSERTION_RETENTION_DAYS,
    HOST,
    METRICS_PORT,
    LOG_LEVEL,
    ...OPEN_TELEMETRY_SETTINGS
  ],
  migrate: [SERVER_STORE, STORE_PARTITIONS],
  listen: [API_KEY, SERVER_URL, WEBHOOK_SECRET, DATA_DIR],
  webhookSecret: [WEBHOOK_SECRET],
  store: [LASTING_STORE],
  doctor: [...SERVER_SETTINGS, OTHER_STORE],
  storeAndOther: [SERVER_STORE, COMPARED_STORE],
  storeAndEnvironment: [LASTING_STORE, ENVIRONMENT],
  organization: [LASTING_STORE, ENVIRONMENT, WEBHOOK_ALLOW_LOOPBACK],
  storeAndMasterKey: [LASTING_STORE, MASTER_KEY, MASTER_KEY_PREVIOUS],
  archive: [LASTING_STORE, MASTER_KEY, MASTER_KEY_PREVIOUS, ...ARCHIVE_SETTINGS]
} as const satisfies Readonly<Record<string, ReadonlyArray<Setting<unknown>>>>

/** Begins the list of settings in the help of a command. */
export const SETTINGS_HEADING = "Settings are environment variables:"

/** Longest line of what is wrapped, in characters. */
const LINE_WIDTH = 120

/** A text in lines that each begin with the indentation, broken at spaces. */
const wrapped = (text: string, indentation = ""): string => {
  const lines: Array<string> = []
  let line = ""
  for (const word of text.split(" ")) {
    const longer = line === "" ? indentation + word : `${line} ${word}`
    if (line !== "" && longer.length > LINE_WIDTH) {
      lines.push(line)
      line = indentation + word
    } else line = longer
  }
  return [...lines, line].join("\n")
}

const ENTRY_INDENTATION = " ".repeat(6)

const EXIT_CODES =
  "Exit codes: 0 done, or stopped by a signal; 64 unknown or invalid command or option; 75 a port or the store is in use or cannot be reached; 78 missing or invalid setting, or refused by the database; 141 the output was closed."

/** What a command's `--help` prints. */
export const helpOf = (usage: string, settings: ReadonlyArray<Setting<unknown>>): string => {
  const entries = settings.map((setting) => {
    const { byDefault, fileName, form, meaning, name } = setting
    const file = fileName === undefined ? "" : `${fileName} may name a file that holds it.`
    const requirement = setting.isOptional === true ? "Optional." : "Required."
    const value = `${form}. ${byDefault === undefined ? requirement : `Default ${byDefault}.`}`
    const said = [meaning, value, file].filter((text) => text !== "")
    return [`  ${name}`, ...said.map((text) => wrapped(text, ENTRY_INDENTATION))].join("\n")
  })
  const list = entries.length === 0 ? "" : `${SETTINGS_HEADING}\n\n${entries.join("\n")}\n\n`
  return `${usage}\n\n${list}${wrapped(EXIT_CODES)}\n`
}

/** What the development server's `--help` prints. */
export const DEV_HELP = helpOf(
  "The development server: the API, the approval pages and the worker in the test environment, with keys and organizations created on first start. Not for production.",
  DEV_SETTINGS
)
