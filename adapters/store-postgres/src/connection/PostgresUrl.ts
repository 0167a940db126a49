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
  "load_balance_hosts",
  "options",
  "ssl",
  "sslmode",
  "sslrootcert",
  "target_session_attrs"
]

/** Values of `target_session_attrs` that mean a server that takes writes. No other one is of use to this store. */
const WRITABLE_ATTRIBUTES = ["read-write", "primary"]

/** Most hosts that a URL may list. */
export const MAX_HOSTS = 16

const DEFAULT_PORT = 5432

/** A host where a server may be. */
export interface ServerHost {
  /** A name, an address, or the folder of a socket. */
  readonly host: string
  readonly port: number
}

/** The address of a Postgres server and how to connect to it. `host` and `port` are the first that it lists. */
export interface PostgresAddress extends ServerHost {
  /** The URL with the first host alone, without the parameters that other members hold. It may hold a password. */
  readonly url: string
  /** All that it lists, in order. */
  readonly hosts: readonly [ServerHost, ...ReadonlyArray<ServerHost>]
  /** Whether the one that takes writes is to be found: there are several, or the URL asks for it. */
  readonly isSought: boolean
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

/** The parts of the URL around its hosts, and what stands between the commas there. */
const authorityOf = (text: string) => {
  const [, scheme = "", authority = "", rest = ""] = /^([a-z]+:\/\/)([^/?#]*)(.*)$/isu.exec(text) ?? []
  const user = authority.slice(0, authority.lastIndexOf("@") + 1)
  return { before: `${scheme}${user}`, places: authority.slice(user.length).split(","), rest }
}

/** The URL as a list of URLs that name one host each, in its order. */
const oneHostUrls = (text: string): ReadonlyArray<string> => {
  const { before, places, rest } = authorityOf(text)
  if (places.length > 1) return places.map((place) => `${before}${place}${rest}`)
  const url = URL.parse(text)
  const hosts = url?.searchParams.get("host")?.split(",") ?? []
  if (url === null || hosts.length < 2) return [text]
  const ports = url.searchParams.get("port")?.split(",") ?? []
  return hosts.map((host, at) => {
    const one = new URL(url)
    one.searchParams.set("host", host)
    const port = ports.length === 1 ? ports[0] : ports[at]
    if (port === undefined || port === "") one.searchParams.delete("port")
    else one.searchParams.set("port", port)
    return one.href
  })
}

/** How many ports the `port` parameter has where the `host` parameter lists several hosts, and that is not one or as many. */
const portsFault = (text: string): string | undefined => {
  const parameters = URL.parse(text)?.searchParams
  const hosts = parameters?.get("host")?.split(",").length ?? 1
  const ports = parameters?.get("port")?.split(",").length ?? 1
  return ports === 1 || ports === hosts ? undefined : `it lists ${hosts} hosts and ${ports} ports`
}

/** What is wrong with the hosts as a list. */
const listFault = (text: string, urls: ReadonlyArray<string>): string | undefined => {
  if (urls.length > MAX_HOSTS) return `it lists ${urls.length} hosts, and at most ${MAX_HOSTS} are tried`
  const ports = portsFault(text)
  if (ports !== undefined || urls.length === 1) return ports
  const { places } = authorityOf(text)
  const named = places.length > 1 ? places : (URL.parse(text)?.searchParams.get("host") ?? "").split(",")
  return named.some((place) => /^(?::|$)/u.test(place)) ? "its list of hosts has an empty place" : undefined
}

const repeatedHostFault = (urls: ReadonlyArray<string>): string | undefined => {
  const names = urls.map((url) => nameOfHost(hostIn(new URL(url))))
  return new Set(names).size < names.length ? "its list of hosts names one twice" : undefined
}

/** `host:port`, with an IPv6 address in brackets. */
export const nameOfHost = ({ host, port }: ServerHost): string =>
  `${host.includes(":") ? `[${host}]` : host}:${port}`

const hostIn = (url: URL): ServerHost => ({
  host: url.searchParams.get("host") ?? decoded(url.hostname).replace(/^\[|\]$/gu, ""),
  port: Number(url.searchParams.get("port") ?? (url.port || DEFAULT_PORT))
})

const decoded = (part: string): string => (isDecodable(part) ? decodeURIComponent(part) : part)

/** Does not quote unknown names: after an unescaped question mark in a password they would be part of it. */
const unknownFault = (names: ReadonlyArray<string>): string | undefined => {
  const unknown = names.filter((name) => !PARAMETERS.includes(name))
  if (unknown.length === 0) return undefined
  const meant = unknown.flatMap((name) => didYouMean(name, PARAMETERS) ?? [])
  const guess = meant.length === 0 ? "" : ` (was ${[...new Set(meant)].join(", ")} meant?)`
  return `it has a parameter that is not known${guess}; known are ${PARAMETERS.join(", ")}`
}

const choiceFault = (parameters: URLSearchParams): string | undefined => {
  if (!parameters.getAll("target_session_attrs").every((value) => WRITABLE_ATTRIBUTES.includes(value))) {
    return `its target_session_attrs must be ${WRITABLE_ATTRIBUTES.join(" or ")}, since a server that takes no writes is of no use`
  }
  return parameters.getAll("load_balance_hosts").every((value) => value === "disable")
    ? undefined
    : "its load_balance_hosts must be disable, since every connection goes to the one host that takes writes"
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

const oneHostFault = (text: string): string | undefined => {
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
  return choiceFault(parameters) ?? encryptionFault(parameters)
}

/**
 * What is wrong with the URL of a Postgres server; `undefined` if it is valid. Never quotes the URL, since it may hold a
 * password.
 */
export const postgresUrlFault = (text: string): string | undefined => {
  const urls = oneHostUrls(text)
  const list = listFault(text, urls)
  if (list !== undefined) return list
  for (const url of urls) {
    const fault = oneHostFault(url)
    if (fault !== undefined) return fault
  }
  return repeatedHostFault(urls)
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

/** Parameters that are read here, so that the client need not. */
const READ_HERE = ["ssl", "sslrootcert", "target_session_attrs", "load_balance_hosts"]

/** Reads a URL that {@link postgresUrlFault} accepts. */
export const postgresAddressOf = (text: string): PostgresAddress => {
  const [first = text, ...others] = oneHostUrls(text)
  const url = new URL(first)
  const { searchParams: parameters } = url
  const connect = parameters.get("connect_timeout")
  const hosts = [hostIn(url), ...others.map((other) => hostIn(new URL(other)))] as const
  const address = {
    ...hosts[0],
    hosts,
    isSought: hosts.length > 1 || parameters.has("target_session_attrs"),
    database: parameters.get("dbname") ?? (decodeURIComponent(url.pathname.slice(1)) || undefined),
    rootCertificate: parameters.get("sslrootcert") ?? undefined,
    applicationName: parameters.get("application_name") ?? undefined,
    connectTimeoutSeconds: connect === null ? undefined : Number(connect)
  }
  const mode = sslModeOf(parameters)
  const before = parameters.toString()
  for (const name of READ_HERE) parameters.delete(name)
  if (mode !== undefined) parameters.set("sslmode", mode)
  return { ...address, url: parameters.toString() === before ? first : url.href }
}
