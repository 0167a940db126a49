import { type HostAnswer, NoWritableHost, SeveralPrimaries } from "@svc/store-postgres/connection/HostAnswer"
import { nameOfHost, type ServerHost } from "@svc/store-postgres/connection/PostgresUrl"
import { isSqlError } from "effect/sql/SqlError"
import { schemaGrants } from "./SchemaGrants.ts"
import { configurationFault, type StartFault, temporaryFault } from "./StartFault.ts"

/** Which database a fault is about, without secrets. */
export interface DatabasePlace {
  readonly host: string
  readonly port: number
  readonly database: string | undefined
  /** URL with the name of the role, and perhaps a password, which is never printed. */
  readonly url?: string
  /** All hosts where it may be. */
  readonly hosts?: ReadonlyArray<ServerHost>
}

/** What is known of an error of a connection or a database. */
interface ErrorFacts {
  /** A system error code, a Node error code, or an SQLSTATE. */
  readonly code: string | undefined
  /** The message of the server or the client. */
  readonly message: string
  /** Whether the message was written for operators and may be printed as it is. */
  readonly isForOperators?: boolean
}

/** Longest excerpt of a server's message that is printed, in characters. */
const MAX_QUOTED_CHARACTERS = 200

/** How many nested causes are searched. */
const MAX_CAUSE_DEPTH = 8

/** The facts of the innermost cause that has any; the outer ones only say where it surfaced. */
const errorFacts = (fault: unknown): ErrorFacts => {
  let known: ErrorFacts = { code: undefined, message: "" }
  let error = fault
  for (let depth = 0; depth < MAX_CAUSE_DEPTH && typeof error === "object" && error !== null; depth++) {
    const { _tag: tag, cause, code, message, reason } = error as Readonly<Record<string, unknown>>
    if (typeof tag === "string" && OPERATOR_ERRORS.has(tag))
      return { code: undefined, message: String(message), isForOperators: true }
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

/** What an error of the connection means, by its code. */
const CONNECTION_MESSAGES: Readonly<Record<string, string>> = {
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

/** Codes of errors that may pass without a change of settings. */
const TRANSIENT = new Set([
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

/** What errors of the client without a code mean, by their message. */
const CLIENT_MESSAGES: ReadonlyArray<readonly [RegExp, string, "transient" | "permanent"]> = [
  [/timed out/iu, "it does not answer", "transient"],
  [/connection closed|socket error/iu, "it closed the connection", "transient"],
  [/does not support TLS/iu, "it offers no TLS, which sslmode asks for", "permanent"],
  [/requested password authentication/iu, "it asks for a password, and SVC_STORE has none", "permanent"],
  [
    /without proving its identity|SCRAM server/iu,
    "it does not prove that it knows the password",
    "permanent"
  ],
  [
    /unsupported SASL|is not supported/iu,
    "it asks for a kind of authentication other than a password",
    "permanent"
  ]
]

const POOLER_MESSAGE =
  "a connection pooler there refuses the settings that every session must have, synchronous_commit among them: name the server itself, not PgBouncer (each process keeps a pool of its own, of 20 connections at most)"

/** Tags of errors whose message is written for operators. */
const OPERATOR_ERRORS = new Set(["HistoryUnacknowledged"])

/** A message of the server, cut and on one line. */
const quoted = (message: string): string => {
  const line = message.replaceAll(/[\s\p{Cc}]+/gu, " ").trim()
  return line.length > MAX_QUOTED_CHARACTERS ? `${line.slice(0, MAX_QUOTED_CHARACTERS)}...` : line
}

const SQLSTATE = /^[0-9A-Z]{5}$/u

/** SQLSTATE classes and codes that need another setting or privilege. */
const isPermanentState = (code: string): boolean => /^(?:28|3D|3F|42|0A|22)/u.test(code)

const messageOf = ({ code, isForOperators = false, message }: ErrorFacts): string => {
  if (isForOperators) return message
  if (/unsupported startup parameter/iu.test(message)) return POOLER_MESSAGE
  const meaning = code === undefined ? undefined : CONNECTION_MESSAGES[code]
  if (meaning !== undefined) return meaning
  if (code !== undefined && CERTIFICATE_CODES.includes(code)) {
    return `its certificate is of an authority that is not trusted (${code}): name the file of that authority's certificate as sslrootcert`
  }
  if (code !== undefined && SQLSTATE.test(code)) return quoted(message)
  const client = CLIENT_MESSAGES.find(([pattern]) => pattern.test(message))
  if (client !== undefined) return client[1]
  return code === undefined ? "it cannot be reached, or refuses" : `it cannot be used (${code})`
}

/** Whether the same attempt may succeed in a moment, with the same settings. */
export const isTransient = (fault: unknown): boolean => {
  const search = searchFault(fault)
  if (search instanceof NoWritableHost) return search.answers.some(mayTakeWritesSoon)
  if (search !== undefined) return true
  const { code, message } = errorFacts(fault)
  if (code !== undefined) return TRANSIENT.has(code)
  return CLIENT_MESSAGES.some(([pattern, , duration]) => duration === "transient" && pattern.test(message))
}

const isPermanent = (facts: ErrorFacts): boolean => {
  const { code, message } = facts
  if (/unsupported startup parameter/iu.test(message)) return true
  if (code === undefined) {
    return CLIENT_MESSAGES.some(([pattern, , duration]) => duration === "permanent" && pattern.test(message))
  }
  if (SQLSTATE.test(code)) return isPermanentState(code)
  return CERTIFICATE_CODES.includes(code) || /^(?:ERR_TLS|CERT_)/u.test(code)
}

/** The database in words; its URL may hold a password and is never printed. */
export const describeDatabase = ({ database, host, hosts, port }: DatabasePlace): string =>
  `the database${database === undefined ? "" : ` ${database}`} on ${(hosts ?? [{ host, port }]).map(nameOfHost).join(", ")}`

/** The failure to find the host that takes writes, if it is one. */
const searchFault = (fault: unknown): NoWritableHost | SeveralPrimaries | undefined => {
  let error = fault
  for (let depth = 0; depth < MAX_CAUSE_DEPTH && typeof error === "object" && error !== null; depth++) {
    if (error instanceof NoWritableHost || error instanceof SeveralPrimaries) return error
    error = isSqlError(error) ? error.reason : (error as { readonly cause?: unknown }).cause
  }
  return undefined
}

/** What a host of several answered, in words. */
export const describeAnswer = (answer: HostAnswer): string => {
  switch (answer.kind) {
    case "writable":
      return "it takes writes"
    case "standby":
      return "it is a standby"
    case "read_only":
      return "its sessions are read-only"
    case "failed":
      return messageOf(errorFacts(answer.fault))
  }
}

const mayTakeWritesSoon = (answer: HostAnswer): boolean =>
  answer.kind === "failed" ? isTransient(answer.fault) : answer.kind !== "read_only"

const describeSearch = (fault: NoWritableHost | SeveralPrimaries): string =>
  fault instanceof SeveralPrimaries
    ? fault.message
    : `none takes writes (${fault.answers.map((answer) => `${nameOfHost(answer)}: ${describeAnswer(answer)}`).join("; ")})`

/** Name of the role that connects, if the URL has it. */
const roleOf = (url: string | undefined): string | undefined => {
  const name = url === undefined ? undefined : URL.parse(url)?.username
  if (name === undefined || name === "") return undefined
  try {
    return decodeURIComponent(name)
  } catch {
    return undefined
  }
}

/** SQLSTATE insufficient_privilege. */
const PRIVILEGE_LACKING = "42501"

/** What is to be done where a role may not do what it tried. A refused connection, whose database is quoted, is another matter. */
const privilegeRemedy = ({ code, message }: ErrorFacts, place: DatabasePlace | undefined): string => {
  if (code !== PRIVILEGE_LACKING) return ""
  if (/^must be owner of|^permission denied for database (?!")/u.test(message)) {
    return "; run svc migrate as the role that owns the schema"
  }
  return /^permission denied for (?:schema|table|function)/u.test(message)
    ? `; let the role that owns the schema run: ${schemaGrants({ role: roleOf(place?.url) })} svc migrate itself runs as the owner`
    : ""
}

/** What an error of a connection or a database means for a start: 78 if a setting or privilege must change, else 75. */
export const databaseFault = (fault: unknown, place: DatabasePlace | undefined): StartFault => {
  const search = searchFault(fault)
  const where = place === undefined ? "the database" : describeDatabase(place)
  if (search !== undefined) {
    const line = `${where}: ${describeSearch(search)}`
    const isLasting = search instanceof NoWritableHost && !search.answers.some(mayTakeWritesSoon)
    return isLasting ? configurationFault(line) : temporaryFault(line)
  }
  const facts = errorFacts(fault)
  const line = `${where}: ${messageOf(facts)}${privilegeRemedy(facts, place)}`
  return isPermanent(facts) ? configurationFault(line) : temporaryFault(line)
}
