import { didYouMean } from "@svc/protocol/DidYouMean"

/** The highest TCP port. */
const MAX_PORT = 65_535

const isPort = (text: string): boolean =>
  /^\d{1,5}$/u.test(text) && Number(text) >= 1 && Number(text) <= MAX_PORT

const SCHEMES = ["postgres:", "postgresql:"]

/** From `require` on, the server's certificate is fully verified. */
const SSL_MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]

/** Modes in which a server may decline encryption, so that verifying its certificate would prove nothing. */
const UNVERIFIED = ["disable", "allow", "prefer"]

/** Parts of the URL, by the parameter that means the same. */
const PARTS = {
  host: "hostname",
  port: "port",
  user: "username",
  password: "password",
  dbname: "pathname"
} as const

/** The supported parameters. Any other is an error, since ignoring one could weaken security in silence. */
const PARAMETERS = [
  ...Object.keys(PARTS),
  "application_name",
  "connect_timeout",
  "options",
  "ssl",
  "sslmode",
  "sslrootcert"
]

/** Parameters of libpq that choose among several hosts. */
const MULTI_HOST = ["target_session_attrs", "load_balance_hosts"]

const SEVERAL_HOSTS =
  "it may name one host alone, without target_session_attrs: give the one address that leads to the server that takes writes (a virtual IP, a DNS name that follows it, or a proxy)"

const DEFAULT_PORT = 5432

/** The address of a Postgres server and how to connect to it. */
export interface PostgresAddress {
  /** The URL without the parameters that other members hold. It may hold a password. */
  readonly url: string
  readonly host: string
  readonly port: number
  /** Absent: the database named like the user. */
  readonly database: string | undefined
  /** File with the certificates of trusted authorities, or `system` for those of the operating system. */
  readonly rootCertificate: string | undefined
  readonly applicationName: string | undefined
  /** 0: no timeout. */
  readonly connectTimeoutSeconds: number | undefined
}

const isDecodable = (part: string): boolean => {
  try {
    return !decodeURIComponent(part).includes("\0")
  } catch {
    return false
  }
}

/** Whether the authority of the URL, or its host parameter, lists several hosts. */
const namesSeveralHosts = (text: string): boolean => {
  const authority = /^[a-z]+:\/\/([^/?#]*)/iu.exec(text)?.[1] ?? ""
  const hosts = authority.slice(authority.lastIndexOf("@") + 1)
  return hosts.includes(",") || /[?&]host=[^&#]*(?:,|%2c)/iu.test(text)
}

/** Does not quote unknown names: after an unescaped question mark in a password they would be part of it. */
const unknownFault = (names: ReadonlyArray<string>): string | undefined => {
  if (names.some((name) => MULTI_HOST.includes(name))) return SEVERAL_HOSTS
  const unknown = names.filter((name) => !PARAMETERS.includes(name))
  if (unknown.length === 0) return undefined
  const meant = unknown.flatMap((name) => didYouMean(name, PARAMETERS) ?? [])
  const guess = meant.length === 0 ? "" : ` (was ${[...new Set(meant)].join(", ")} meant?)`
  return `it has a parameter that is not known${guess}; known are ${PARAMETERS.join(", ")}`
}

/** A parameter that is repeated, or that a part of the URL contradicts. */
const repeatedFault = (url: URL, names: ReadonlyArray<string>): string | undefined => {
  const repeated = PARAMETERS.find((name) => names.indexOf(name) !== names.lastIndexOf(name))
  if (repeated !== undefined) return `it says ${repeated} twice`
  const both = Object.entries(PARTS).find(
    ([name, part]) => names.includes(name) && !["", "/"].includes(url[part])
  )
  return both === undefined ? undefined : `it says ${both[0]} twice, before the question mark and after it`
}

const encryptionFault = (parameters: URLSearchParams): string | undefined => {
  const [ssl, mode] = [parameters.get("ssl"), parameters.get("sslmode")]
  if (ssl !== null && ssl !== "true" && ssl !== "false") return "its ssl must be true or false"
  if (mode !== null && !SSL_MODES.includes(mode)) return `its sslmode must be one of ${SSL_MODES.join(", ")}`
  const mayBeUnencrypted = mode === null ? ssl === "false" : UNVERIFIED.includes(mode)
  if (mode !== null && ssl !== null && (ssl === "true") === mayBeUnencrypted) {
    return "its ssl and its sslmode contradict each other"
  }
  const certificate = parameters.get("sslrootcert")
  if (certificate === "") return "its sslrootcert must name a file, or be system"
  return certificate !== null && mayBeUnencrypted
    ? "its sslrootcert says to verify the server, which its sslmode does not do"
    : undefined
}

/**
 * What is wrong with the URL of a Postgres server; `undefined` if it is valid. Never quotes the URL, since it may hold a
 * password.
 */
export const postgresUrlFault = (text: string): string | undefined => {
  if (namesSeveralHosts(text)) return SEVERAL_HOSTS
  const url = URL.parse(text)
  if (url === null)
    return "it is no URL (a port above 65535, or a special character that is not percent-encoded)"
  if (!SCHEMES.includes(url.protocol)) return "its scheme is another"
  const parameters = url.searchParams
  if (url.hostname === "" && !parameters.get("host")) return "it names no host"
  if (url.hash !== "" || text.includes("#")) return "a # in it must be written %23"
  if (![url.hostname, url.username, url.password, url.pathname, url.search].every(isDecodable)) {
    return "a % in it must be written %25 where two hexadecimal digits of a character do not follow"
  }
  const names = [...parameters.keys()]
  const fault = unknownFault(names) ?? repeatedFault(url, names)
  if (fault !== undefined) return fault
  if (![...(url.port === "" ? [] : [url.port]), ...parameters.getAll("port")].every(isPort)) {
    return `its port must be 1 to ${MAX_PORT}`
  }
  if (!parameters.getAll("connect_timeout").every((seconds) => /^\d{1,6}$/u.test(seconds))) {
    return "its connect_timeout must be whole seconds"
  }
  return encryptionFault(parameters)
}

/** The effective mode: `sslrootcert` alone implies verification, and `ssl=true` means `require`. */
const sslModeOf = (parameters: URLSearchParams): string | undefined => {
  const mode = parameters.get("sslmode")
  if (mode !== null) return mode
  if (parameters.get("sslrootcert") !== null) return "verify-full"
  const ssl = parameters.get("ssl")
  if (ssl === null) return undefined
  return ssl === "true" ? "require" : "disable"
}

/** Reads a URL that {@link postgresUrlFault} accepts. */
export const postgresAddressOf = (text: string): PostgresAddress => {
  const url = new URL(text)
  const { searchParams: parameters } = url
  const connect = parameters.get("connect_timeout")
  const address = {
    host: parameters.get("host") ?? decodeURIComponent(url.hostname).replace(/^\[|\]$/gu, ""),
    port: Number(parameters.get("port") ?? (url.port || DEFAULT_PORT)),
    database: parameters.get("dbname") ?? (decodeURIComponent(url.pathname.slice(1)) || undefined),
    rootCertificate: parameters.get("sslrootcert") ?? undefined,
    applicationName: parameters.get("application_name") ?? undefined,
    connectTimeoutSeconds: connect === null ? undefined : Number(connect)
  }
  const mode = sslModeOf(parameters)
  const before = parameters.toString()
  for (const name of ["ssl", "sslrootcert"]) parameters.delete(name)
  if (mode !== undefined) parameters.set("sslmode", mode)
  return { ...address, url: parameters.toString() === before ? text : url.href }
}
