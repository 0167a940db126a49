import { FindMyWay } from "effect/http"

/** A route as the router knows it: parameters are written `:name`. */
export interface Route {
  readonly method: string
  readonly path: `/${string}`
}

/**
 * Paths are exact (part 1): case counts, so do trailing and doubled slashes, and escapes are for parameters. The longest
 * parameter is a percent-encoded subject reference: 255 code points of 4 bytes, 3 characters each.
 */
export const ROUTER_CONFIG = {
  caseSensitive: true,
  ignoreTrailingSlash: false,
  ignoreDuplicateSlashes: false,
  maxParamLength: 4096
} as const

/** What a method and a path lead to. `template` writes parameters `{name}`. */
export type RouteMatch =
  | { readonly _tag: "Route"; readonly template: string }
  | { readonly _tag: "OtherMethods"; readonly template: string; readonly allow: string }
  | { readonly _tag: "Nowhere" }

const NOWHERE: RouteMatch = { _tag: "Nowhere" }

/** Which routes a listener has, to tell an unknown path from an unknown method before anything else. */
export interface RouteTable {
  readonly find: (method: string, url: string) => RouteMatch
}

/** `/v1/mandates/:mandate_id` as `/v1/mandates/{mandate_id}`. */
export const templateOf = (path: string): string => path.replaceAll(/:(\w+)/gu, "{$1}")

const segmentsOf = (path: string): ReadonlyArray<string> => path.split("/")

/** What others on the way take out, and a parameter that is called so must therefore escape. */
const DOT_SEGMENTS = new Set([".", ".."])

/** Whatever path is left, as the last segment of a template. */
const REST = "*"

/** Whether a segment is sent as the template has it: the router reads escapes before it compares, and these are for parameters. */
const isSpelled = (segment: string, sent: string | undefined): boolean =>
  segment === REST ||
  (segment.startsWith("{") ? sent !== undefined && !DOT_SEGMENTS.has(sent) : segment === sent)

const spells = (template: string, url: string): boolean => {
  const segments = segmentsOf(template)
  const sent = segmentsOf(url.split("?")[0]!)
  return (
    (segments.at(-1) === REST || sent.length === segments.length) &&
    segments.every((segment, index) => isSpelled(segment, sent[index]))
  )
}

/** Builds the table. HEAD is answered wherever GET is. */
export const makeRouteTable = (routes: ReadonlyArray<Route>): RouteTable => {
  const finder = FindMyWay.make<string>(ROUTER_CONFIG)
  const methods = new Set<string>()
  for (const route of routes) {
    methods.add(route.method)
    finder.on(route.method, route.path, templateOf(route.path))
  }
  const lookUp = (method: string, url: string) => {
    const found = finder.find(method, url)
    if (found === undefined || !spells(found.handler, url)) return undefined
    // An empty one would be another path, which ends in its slash.
    return Object.values(found.params).includes("") ? undefined : found
  }
  const allowed = (url: string): ReadonlyArray<string> =>
    [...methods].filter((method) => lookUp(method, url) !== undefined)
  return {
    find: (method, url) => {
      const found = lookUp(method === "HEAD" ? "GET" : method, url)
      if (found !== undefined) return { _tag: "Route", template: found.handler }
      const others = allowed(url)
      if (others.length === 0) return NOWHERE
      const template = lookUp(others[0]!, url)!.handler
      const allow = others.flatMap((other) => (other === "GET" ? ["GET", "HEAD"] : [other])).join(", ")
      return { _tag: "OtherMethods", template, allow }
    }
  }
}
