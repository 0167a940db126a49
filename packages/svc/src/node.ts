import type { IncomingMessage, ServerResponse } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Scope } from "effect"
import { isPathOf, type Service, ServiceParts } from "./Service.ts"

/** A request handler of `node:http`; hosts that chain handlers get their `next` called for what is not the service's. */
export type NodeHandler = (
  request: IncomingMessage & { readonly originalUrl?: string },
  response: ServerResponse,
  next?: (error?: unknown) => void
) => void

/**
 * A handler for `node:http` and whatever hands on its requests. Mount it in front of body parsers: it reads bodies itself.
 *
 * The host's server keeps to its own bounds: set `requestTimeout` (30 s), `headersTimeout` and `server.setTimeout` (40 s),
 * without which slow clients hold connections.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http"
 * import { toNodeHandler } from "svc/node"
 *
 * createServer({ requestTimeout: 30_000 }, toNodeHandler(service)).listen(3000)
 * ```
 */
export const toNodeHandler = (service: Service): NodeHandler => {
  const { app, runtime } = service[ServiceParts]
  const made = runtime.runPromise(
    Effect.flatMap(Scope.make(), (scope) => NodeHttpServer.makeHandler(app, { scope }))
  )
  // A failure to open the store is thrown again for every request, and by `ready`.
  made.catch(() => undefined)
  return (request, response, next) => {
    const target = request.originalUrl ?? request.url ?? ""
    if (next !== undefined && !isPathOf(service, target, request.headers.host)) return next()
    made.then(
      (handle) => handle(request, response),
      (fault) => (next === undefined ? response.writeHead(503, { "retry-after": "1" }).end() : next(fault))
    )
  }
}
