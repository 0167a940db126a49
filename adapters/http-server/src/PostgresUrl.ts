const SCHEMES = ["postgres:", "postgresql:"]

/** How far a connection insists on encryption. */
const SSL_MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]

const MAX_PORT = 65_535

const isDecodable = (part: string): boolean => {
  try {
    return !decodeURIComponent(part).includes("\0")
  } catch {
    return false
  }
}

const isPort = (text: string): boolean =>
  /^\d{1,5}$/u.test(text) && Number(text) >= 1 && Number(text) <= MAX_PORT

/**
 * What keeps the URL of a Postgres server from being used, in a few words that quote nothing of it, since it may hold a
 * password. `undefined` when it is sound, whether or not there is such a server.
 */
export const postgresUrlFault = (text: string): string | undefined => {
  const url = URL.parse(text)
  if (url === null)
    return "it is no URL (a port above 65535, or a special character that is not percent-encoded)"
  if (!SCHEMES.includes(url.protocol)) return "its scheme is another"
  if (url.hostname === "") return "it names no host"
  if (url.hash !== "" || text.includes("#")) return "a # in it must be written %23"
  if (![url.hostname, url.username, url.password, url.pathname, url.search].every(isDecodable)) {
    return "a % in it must be written %25 where two hexadecimal digits of a character do not follow"
  }
  const all = (name: string) => url.searchParams.getAll(name)
  if (![...(url.port === "" ? [] : [url.port]), ...all("port")].every(isPort)) {
    return `its port must be 1 to ${MAX_PORT}`
  }
  if (!all("sslmode").every((mode) => SSL_MODES.includes(mode))) {
    return `its sslmode must be one of ${SSL_MODES.join(", ")}`
  }
  return all("connect_timeout").every((seconds) => /^\d{1,6}$/u.test(seconds))
    ? undefined
    : "its connect_timeout must be whole seconds"
}
