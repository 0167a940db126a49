import type { Environment } from "../mandate/JournalFact.ts"

/** C0 controls, space, DEL and backslash, which URL parsers strip, rewrite or interpret differently. */
const FORBIDDEN = /[\u0000-\u0020\u007f\\]/
/** Written as itself or as an escape, which URL parsers decode before they fold full-width letters and dots. */
const NOT_ASCII = /[^\u0021-\u007e]|%[89a-f]/i
const AUTHORITY = /^(https?):\/\/([^/?#]*)/i

/** Whether a deployment allows `http://localhost` as a return origin: only in the test environment (part 6). */
export const allowsLocalhostReturn = (environment: Environment): boolean => environment === "test"

/** Whether an origin, as WHATWG URL serializes it, may be registered as a return origin. */
export const isRegistrableReturnOrigin = (origin: string, localhostAllowed: boolean): boolean => {
  const url = URL.parse(origin)
  if (url === null || url.origin !== origin) return false
  return url.protocol === "https:" || (localhostAllowed && isLocalhost(url))
}

const isLocalhost = (url: URL): boolean => url.protocol === "http:" && url.hostname === "localhost"

/**
 * Parses a `return_url` whose origin is registered, exactly in scheme, host and port (part 6). Absent when it is not
 * allowed.
 */
export const parseReturnUrl = (
  text: string,
  settings: { readonly returnOrigins: ReadonlyArray<string>; readonly localhostAllowed: boolean }
): URL | undefined => {
  if (FORBIDDEN.test(text)) return undefined
  const authority = AUTHORITY.exec(text)?.[2]
  if (authority === undefined || authority === "") return undefined
  if (authority.includes("@") || NOT_ASCII.test(authority)) return undefined
  const url = URL.parse(text)
  if (url === null || url.hostname.endsWith(".")) return undefined
  if (url.protocol !== "https:" && !(settings.localhostAllowed && isLocalhost(url))) return undefined
  return settings.returnOrigins.includes(url.origin) ? url : undefined
}

/** The leading `&` keeps `URLSearchParams` from dropping a question mark that begins the name. */
const decodedName = (parameter: string): string =>
  new URLSearchParams(`&${parameter}`).keys().next().value ?? ""

/**
 * Where the browser goes after approve or decline: the `return_url` with `return_state` and `approval_session_id` in
 * its query. Parameters of those names are replaced; others and the fragment stay as they are (part 6).
 */
export const redirectTo = (
  returnUrl: string,
  parameters: { readonly return_state: string; readonly approval_session_id: string }
): string => {
  const url = new URL(returnUrl)
  const kept = url.search
    .slice(1)
    .split("&")
    .filter((parameter) => parameter !== "" && !Object.hasOwn(parameters, decodedName(parameter)))
  url.search = `?${[...kept, new URLSearchParams(parameters).toString()].join("&")}`
  return url.href
}
