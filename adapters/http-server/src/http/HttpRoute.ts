import type { Effect } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Refused } from "./ProblemResponse.ts"
import type { PathParameters, Route } from "./RouteTable.ts"

/** A request that a route serves. */
export interface RoutedRequest {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly params: PathParameters
}

/** A route with what serves it. A handler says for itself which of its steps a client that disconnects does not interrupt. */
export interface HttpRoute<R> extends Route {
  readonly handle: (routed: RoutedRequest) => Effect.Effect<HttpServerResponse.HttpServerResponse, Refused, R>
}

/** The services that any of some routes requires. */
export type RouteServices<Route> = Route extends HttpRoute<infer R> ? R : never

export const httpRoute = <R>(
  method: "GET" | "POST" | "PUT" | "DELETE",
  path: `/${string}`,
  handle: HttpRoute<R>["handle"]
): HttpRoute<R> => ({ method, path, handle })
