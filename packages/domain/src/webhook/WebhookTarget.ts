import { Result } from "effect"

/** Longest target, in code points as given and in characters as it is sent (part 8). */
export const WEBHOOK_TARGET_MAX_CHARACTERS = 2048
/** Longest host name, in characters (RFC 1035 section 2.3.4, without the root). */
const HOST_MAX_CHARACTERS = 253
export const HTTPS_PORT = 443
export const FIRST_UNPRIVILEGED_PORT = 1024
export const MAX_PORT = 65_535

/** C0 controls, space, DEL and backslash: what URL parsers strip, rewrite or disagree on. */
const FORBIDDEN = /[\u0000-\u0020\u007f\\]/
/** Schemes other than http and https, which show that the text is a URL of another kind. */
const OTHER_SCHEME = /^(?!https?:)[a-z][a-z0-9+.-]*:/i
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

/** What is wrong with the text of a target. */
export type TargetFormFault =
  | "too_long"
  | "forbidden_character"
  | "not_a_url"
  | "not_https"
  | "user_info"
  | "fragment"
  | "port"
  | "ip_literal"
  | "single_label"
  | "host"

/** Whether the host's text alone shows that it is this machine. */
export const isLoopbackHost = ({ hostname }: URL): boolean =>
  hostname === "localhost" || LOOPBACK_LITERAL.test(hostname)

interface TargetOptions {
  readonly loopbackAllowed: boolean
}

const PORT = /:(\d+)$/
/** An address in the form in which WHATWG URL serializes it. */
const ADDRESS = /^(?:\d+\.\d+\.\d+\.\d+|\[.*\])$/

/** Which fault to name when the host as written is not the host that the URL parser reads. */
const authorityFault = (authority: string, url: URL | null): TargetFormFault => {
  if (authority === "") return "not_a_url"
  if (authority.includes("@")) return "user_info"
  if (authority.startsWith("[") || ADDRESS.test(url?.hostname ?? "")) return "ip_literal"
  return url === null && Number(PORT.exec(authority)?.[1]) > MAX_PORT ? "port" : "host"
}

const schemeFault = ({ protocol }: URL, isLoopback: boolean): TargetFormFault | undefined =>
  protocol === "https:" || isLoopback ? undefined : "not_https"

const nameFault = (host: string): TargetFormFault | undefined => {
  if (isDomainName(host)) return undefined
  if (ADDRESS.test(host)) return "ip_literal"
  return host.includes(".") ? "host" : "single_label"
}

/**
 * Reads the target of a webhook endpoint (part 8, target guard), as far as its text tells: the URL, or the first thing that
 * is wrong with it.
 *
 * HTTPS to a host name, without user info, on port 443 or from 1024. An address in place of the name is refused in
 * every spelling, since a name is what its certificate and each look-up are checked against. So is a fragment: it
 * would never be sent, and a target that differs from what was registered is refused rather than corrected.
 *
 * Where loopback is allowed, so are `localhost`, and 127.0.0.0/8 and `::1` in their one canonical spelling, over http
 * too. What a name resolves to is checked at every attempt, not here.
 */
export const readTarget = (
  text: string,
  { loopbackAllowed }: TargetOptions
): Result.Result<URL, TargetFormFault> => {
  if ([...text].length > WEBHOOK_TARGET_MAX_CHARACTERS) return Result.fail("too_long")
  if (FORBIDDEN.test(text)) return Result.fail("forbidden_character")
  if (OTHER_SCHEME.test(text)) return Result.fail("not_https")
  const authority = AUTHORITY.exec(text)?.[1] ?? ""
  const host = PLAIN_AUTHORITY.exec(authority)?.groups?.host?.toLowerCase()
  const url = URL.parse(text)
  // The parsed host differs from the written one, as with an address in disguise.
  if (url === null || url.hostname !== host) return Result.fail(authorityFault(authority, url))
  if (text.includes("#")) return Result.fail("fragment")
  const isLoopback = loopbackAllowed && isLoopbackHost(url)
  const fault =
    schemeFault(url, isLoopback) ??
    (isAllowedPort(url) ? undefined : "port") ??
    (isLoopback ? undefined : nameFault(host)) ??
    (url.href.length > WEBHOOK_TARGET_MAX_CHARACTERS ? "too_long" : undefined)
  return fault === undefined ? Result.succeed(url) : Result.fail(fault)
}

/** As `readTarget`, where it does not matter why a target is refused. */
export const parseTarget = (text: string, options: TargetOptions): URL | undefined =>
  Result.getOrUndefined(readTarget(text, options))
