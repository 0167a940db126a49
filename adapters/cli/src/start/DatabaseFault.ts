import { isSqlError } from "effect/sql/SqlError"
import { badSetting, EXIT_TEMPORARY, StartFault } from "./StartFault.ts"

/** Which database a fault is about; nothing of it is secret. */
export interface DatabasePlace {
  readonly host: string
  readonly port: number
  readonly database: string | undefined
}

/** What is known of an error on the way to a database or in it. */
interface Known {
  /** The system's code, Node's, or the SQLSTATE of the server. */
  readonly code: string | undefined
  /** What the server or the client says. */
  readonly message: string
  /** Whether it is one of ours, whose message is for operators. */
  readonly isOwn?: boolean
}

/** Longest that a server's own words are repeated, in characters. */
const MAX_WORDS = 200

/** Causes within causes that are looked through. */
const MAX_DEPTH = 8

/** The innermost error that says something: the outer ones only say where it came up. */
const knownOf = (fault: unknown): Known => {
  let known: Known = { code: undefined, message: "" }
  let error = fault
  for (let depth = 0; depth < MAX_DEPTH && typeof error === "object" && error !== null; depth++) {
    const { _tag: tag, cause, code, message, reason } = error as Readonly<Record<string, unknown>>
    if (typeof tag === "string" && OWN_WORDS.has(tag))
      return { code: undefined, message: String(message), isOwn: true }
    known = {
      code: typeof code === "string" ? code : known.code,
      message: typeof message === "string" && message !== "" ? message : known.message
    }
    error = isSqlError(error) ? reason : cause
  }
  return known
}

const CERTIFICATE_CODES = [
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"
]

/** What to do about an error of the connection, by its code. */
const CONNECTION_WORDS: Readonly<Record<string, string>> = {
  ENOTFOUND: "its host name cannot be resolved",
  EAI_AGAIN: "its host name cannot be resolved now",
  ECONNREFUSED: "nothing accepts connections there",
  ECONNRESET: "it closed the connection",
  EPIPE: "it closed the connection",
  ETIMEDOUT: "it does not answer",
  EHOSTUNREACH: "there is no way to its host",
  ENETUNREACH: "there is no way to its host",
  ENOENT: "there is no such socket",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host name",
  CERT_HAS_EXPIRED: "its certificate has expired",
  CERT_NOT_YET_VALID: "its certificate is not valid yet",
  "57P03": "it is starting up or shutting down",
  "53300": "it has no connection left for this role"
}

/** What of it goes by without anybody changing a setting. */
const PASSING = new Set([
  "EAI_AGAIN",
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "57P03",
  "53300"
])

/** Words of the client that come with no code, and what they mean. */
const CLIENT_WORDS: ReadonlyArray<readonly [RegExp, string, "passing" | "lasting"]> = [
  [/timed out/iu, "it does not answer", "passing"],
  [/connection closed|socket error/iu, "it closed the connection", "passing"],
  [/does not support TLS/iu, "it offers no TLS, which sslmode asks for", "lasting"],
  [/requested password authentication/iu, "it asks for a password, and SVC_STORE has none", "lasting"],
  [/without proving its identity|SCRAM server/iu, "it does not prove that it knows the password", "lasting"],
  [
    /unsupported SASL|is not supported/iu,
    "it asks for a kind of authentication other than a password",
    "lasting"
  ]
]

const POOLER =
  "a connection pooler there refuses the settings that every session must have, synchronous_commit among them: name the server itself, not PgBouncer (each process keeps a pool of its own, of 20 connections at most)"

/** Faults of ours that say what is the case in their own words. */
const OWN_WORDS = new Set(["HistoryUnacknowledged"])

/** What the server said, on one line. */
const quoted = (message: string): string => {
  const line = message.replaceAll(/[\s\p{Cc}]+/gu, " ").trim()
  return line.length > MAX_WORDS ? `${line.slice(0, MAX_WORDS)}...` : line
}

const SQLSTATE = /^[0-9A-Z]{5}$/u

/** SQLSTATE classes and codes that only another setting, or another right, would change. */
const isLastingState = (code: string): boolean => /^(?:28|3D|3F|42|0A|22)/u.test(code)

const wordsOf = ({ code, isOwn = false, message }: Known): string => {
  if (isOwn) return message
  if (/unsupported startup parameter/iu.test(message)) return POOLER
  const words = code === undefined ? undefined : CONNECTION_WORDS[code]
  if (words !== undefined) return words
  if (code !== undefined && CERTIFICATE_CODES.includes(code)) {
    return `its certificate is of an authority that is not trusted (${code}): name the file of that authority's certificate as sslrootcert`
  }
  if (code !== undefined && SQLSTATE.test(code)) return quoted(message)
  const client = CLIENT_WORDS.find(([pattern]) => pattern.test(message))
  if (client !== undefined) return client[1]
  return code === undefined ? "it cannot be reached, or refuses" : `it cannot be used (${code})`
}

/** Whether it may be otherwise in a moment, with the settings as they are. */
export const isPassing = (fault: unknown): boolean => {
  const { code, message } = knownOf(fault)
  if (code !== undefined) return PASSING.has(code)
  return CLIENT_WORDS.some(([pattern, , lasts]) => lasts === "passing" && pattern.test(message))
}

const isLasting = (known: Known): boolean => {
  const { code, message } = known
  if (/unsupported startup parameter/iu.test(message)) return true
  if (code === undefined) {
    return CLIENT_WORDS.some(([pattern, , lasts]) => lasts === "lasting" && pattern.test(message))
  }
  if (SQLSTATE.test(code)) return isLastingState(code)
  return CERTIFICATE_CODES.includes(code) || /^(?:ERR_TLS|CERT_)/u.test(code)
}

/** The database in words: never its URL, which may hold a password. */
export const nameOf = ({ database, host, port }: DatabasePlace): string =>
  `the database${database === undefined ? "" : ` ${database}`} on ${host.includes(":") ? `[${host}]` : host}:${port}`

/**
 * What an error on the way to a database, or in it, means for a start: 78 where a setting or a right must be changed, 75
 * where it may be otherwise in a moment.
 */
export const databaseFault = (fault: unknown, place: DatabasePlace | undefined): StartFault => {
  const known = knownOf(fault)
  const line = `${place === undefined ? "the database" : nameOf(place)}: ${wordsOf(known)}`
  return isLasting(known) ? badSetting(line) : new StartFault({ line, exitCode: EXIT_TEMPORARY })
}
