import type { KeyedRoute } from "../request/KeyedRoute.ts"

type PathOf<Route> = Route extends `${string} ${infer Path}` ? WithColons<Path> : never

type WithColons<Path> = Path extends `${infer Before}{${infer Name}}${infer After}`
  ? `${Before}:${Name}${WithColons<After>}`
  : Path

/** The path of a route, its parameters written as an HttpApi endpoint declares them: `:mandate_id` for `{mandate_id}`. */
export const pathOf = <Route extends KeyedRoute>(route: Route): PathOf<Route> =>
  route.slice(route.indexOf("/")).replace(/\{(\w+)\}/g, ":$1") as PathOf<Route>
