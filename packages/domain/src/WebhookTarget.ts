/** Longest target, in code points as given and in characters as it is sent (part 8). */
export const WEBHOOK_TARGET_MAX_CHARACTERS = 2048
/** Longest host name, in characters (RFC 1035 section 2.3.4, without the root). */
const HOST_MAX_CHARACTERS = 253
const HTTPS_PORT = 443
const FIRST_UNPRIVILEGED_PORT = 1024

/** C0 controls, space, DEL and backslash: what URL parsers strip, rewrite or disagree on. */
const FORBIDDEN = /[\u0000-\u0020\u007f\\]/
const AUTHORITY = /^https?:\/\/([^/?#]*)/i
/** What a host and a port are written with: no user info, no escapes, nothing other than ASCII. */
const PLAIN_AUTHORITY = /^(?<host>[a-z0-9._-]+|\[[0-9a-f:]+\])(?::\d*)?$/i
const LABEL = /^[a-z0-9_-]{1,63}$/
/** No top-level domain starts with a digit, while the last part of every numeric spelling of an address does. */
const TOP_LABEL = /^[a-z][a-z0-9-]*$/
/** As WHATWG URL serializes them. */
const LOOPBACK_LITERAL = /^(127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/

/** A name with at least two labels, without the dot of the root. */
const isDomainName = (host: string): boolean => {
  const labels = host.split(".")
  return (
    host.length <= HOST_MAX_CHARACTERS &&
    labels.length >= 2 &&
    labels.every((label) => LABEL.test(label)) &&
    TOP_LABEL.test(labels.at(-1) ?? "")
  )
}

/** The default port of http is not among the allowed ones. */
const isAllowedPort = ({ protocol, port }: URL): boolean => {
  if (port === "") return protocol === "https:"
  return Number(port) === HTTPS_PORT || Number(port) >= FIRST_UNPRIVILEGED_PORT
}

/** Whether the host says by itself that it is this machine. */
export const isLoopbackHost = ({ hostname }: URL): boolean =>
  hostname === "localhost" || LOOPBACK_LITERAL.test(hostname)

/**
 * Parses the target of a webhook endpoint (part 8, target guard), as far as its text tells. Absent when it is refused.
 *
 * HTTPS to a host name, without user info, on port 443 or from 1024. An address in place of the name is refused in
 * every spelling, since a name is what its certificate and each look-up are checked against. So is a fragment: it
 * would never be sent, and a target that differs from what was registered is refused rather than mended.
 *
 * Where loopback is allowed, so are `localhost`, and 127.0.0.0/8 and `::1` in their one canonical spelling, over http
 * too. What a name resolves to is checked at every attempt, not here.
 */
export const parseTarget = (
  text: string,
  { loopbackAllowed }: { readonly loopbackAllowed: boolean }
): URL | undefined => {
  if ([...text].length > WEBHOOK_TARGET_MAX_CHARACTERS || FORBIDDEN.test(text)) return undefined
  const authority = AUTHORITY.exec(text)?.[1] ?? ""
  const host = PLAIN_AUTHORITY.exec(authority)?.groups?.host?.toLowerCase()
  const url = URL.parse(text)
  if (url === null || host === undefined || text.includes("#")) return undefined
  // Another host, or another spelling of one, than what was written: an address in disguise.
  if (url.hostname !== host || !isAllowedPort(url)) return undefined
  if (url.href.length > WEBHOOK_TARGET_MAX_CHARACTERS) return undefined
  if (loopbackAllowed && isLoopbackHost(url)) return url
  return url.protocol === "https:" && isDomainName(host) ? url : undefined
}
