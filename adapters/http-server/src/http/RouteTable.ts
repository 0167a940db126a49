import { FindMyWay } from "effect/http"

/** A route in the syntax of the router, with parameters as `:name`. */
export interface Route {
  readonly method: string
  readonly path: `/${string}`
}

/**
 * Paths match exactly, including case and slashes (part 1). The longest parameter is a percent-encoded subject reference of
 * 255 code points, each of up to 4 bytes with 3 characters per byte.
 */
const ROUTER_CONFIG = {
  caseSensitive: true,
  ignoreTrailingSlash: false,
  ignoreDuplicateSlashes: false,
  maxParamLength: 4096
} as const

/** The values of a path's parameters by name, percent-decoded. */
export type PathParameters = Readonly<Record<string, string | undefined>>

/** The match of a method and a path. `template` has parameters as `{name}`. */
export type RouteMatch<A> =
  | { readonly _tag: "Route"; readonly template: string; readonly route: A; readonly params: PathParameters }
  | { readonly _tag: "MethodNotAllowed"; readonly template: string; readonly allow: string }
  | { readonly _tag: "NotFound" }

const NOT_FOUND: RouteMatch<never> = { _tag: "NotFound" }

/** The routes of a listener, which distinguish an unknown path from a method that is not allowed. */
export interface RouteTable<A> {
  readonly find: (method: string, url: string) => RouteMatch<A>
}

/** `/v1/mandates/:mandate_id` as `/v1/mandates/{mandate_id}`. */
export const templateOf = (path: string): string => path.replaceAll(/:(\w+)/gu, "{$1}")

const segmentsOf = (path: string): ReadonlyArray<string> => path.split("/")

/** Matches any number of segments at the end of a template. */
const WILDCARD = "*"

/** Intermediaries remove the segments `.` and `..`, so a parameter with such a value must be escaped. */
const isDotSegment = (url: string, start: number, end: number): boolean =>
  end - start > 0 && end - start <= 2 && url.charAt(start) === "." && url.charAt(end - 1) === "."

/** A route as it is looked up. */
interface Entry<A> {
  readonly route: A
  readonly template: string
  readonly segments: ReadonlyArray<string>
}

/**
 * Whether the literal segments of a template were sent literally: the router also matches their percent-encoded forms. It is
 * asked for each request, so that no segment is cut out of the URL.
 */
const matchesTemplate = ({ segments }: Entry<unknown>, url: string): boolean => {
  const query = url.indexOf("?")
  const end = query === -1 ? url.length : query
  let start = 0
  for (const segment of segments) {
    if (segment === WILDCARD) return true
    if (start > end) return false
    const slash = url.indexOf("/", start)
    const stop = slash === -1 || slash > end ? end : slash
    const matches = segment.startsWith("{")
      ? !isDotSegment(url, start, stop)
      : stop - start === segment.length && url.startsWith(segment, start)
    if (!matches) return false
    start = stop + 1
  }
  return start > end
}

/** Builds the table. HEAD is allowed wherever GET is. */
export const makeRouteTable = <A extends Route>(routes: ReadonlyArray<A>): RouteTable<A> => {
  const finder = FindMyWay.make<Entry<A>>(ROUTER_CONFIG)
  const methods = new Set<string>()
  for (const route of routes) {
    methods.add(route.method)
    const template = templateOf(route.path)
    finder.on(route.method, route.path, { route, template, segments: segmentsOf(template) })
  }
  const lookUp = (method: string, url: string) => {
    const found = finder.find(method, url)
    if (found === undefined || !matchesTemplate(found.handler, url)) return undefined
    // An empty parameter would make a path with a trailing slash match.
    for (const name in found.params) if (found.params[name] === "") return undefined
    return found
  }
  const allowed = (url: string): ReadonlyArray<string> =>
    [...methods].filter((method) => lookUp(method, url) !== undefined)
  return {
    find: (method, url) => {
      const found = lookUp(method === "HEAD" ? "GET" : method, url)
      if (found !== undefined) {
        const { route, template } = found.handler
        return { _tag: "Route", template, route, params: found.params }
      }
      const others = allowed(url)
      if (others.length === 0) return NOT_FOUND
      const template = lookUp(others[0]!, url)!.handler.template
      const allow = others.flatMap((other) => (other === "GET" ? ["GET", "HEAD"] : [other])).join(", ")
      return { _tag: "MethodNotAllowed", template, allow }
    }
  }
}
