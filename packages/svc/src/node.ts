import type { IncomingMessage, ServerResponse } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Scope } from "effect"
import { notOpenResponse } from "./NotOpen.ts"
import { isPathOf, partsOf, type Service, type ServiceParts } from "./Service.ts"

/** A request handler of `node:http`; hosts that chain handlers get their `next` called for what is not the service's. */
export type NodeHandler = (
  request: IncomingMessage & { readonly originalUrl?: string },
  response: ServerResponse,
  next?: (error?: unknown) => void
) => void

type Handle = (request: IncomingMessage, response: ServerResponse) => void

/** The handler with the open services, made by the first request that finds them open. */
const makeHandle = ({ app, runtime }: Service[typeof ServiceParts]): (() => Promise<Handle>) => {
  let made: Handle | undefined
  return async () => {
    const opened = await runtime.opened()
    made ??= await opened.runPromise(
      Effect.flatMap(Scope.make(), (scope) => NodeHttpServer.makeHandler(app, { scope }))
    )
    return made
  }
}

/** Resolves when a response has been sent, or its client has left, which may have been before. */
const sent = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    if (response.writableFinished || response.destroyed) return resolve()
    response.once("finish", resolve)
    response.once("close", resolve)
  })

const refuse = async (answer: Response, response: ServerResponse): Promise<void> => {
  const text = await answer.text()
  // The host may have answered meanwhile, when it took too long for example.
  if (response.headersSent || response.writableEnded || response.destroyed) return
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(text)
}

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
 * const server = createServer({ requestTimeout: 30_000 }, toNodeHandler(service))
 * server.setTimeout(40_000)
 * ```
 */
export const toNodeHandler = (service: Service): NodeHandler => {
  const parts = partsOf(service, "toNodeHandler")
  const { baseUrl, runtime } = parts
  const handleOf = makeHandle(parts)
  return (request, response, next) => {
    const target = request.originalUrl ?? request.url ?? ""
    if (next !== undefined && !isPathOf(service, target, request.headers.host)) return next()
    runtime.keep(sent(response))
    handleOf().then(
      (handle) => handle(request, response),
      (fault: unknown) => refuse(notOpenResponse(fault, baseUrl), response)
    )
  }
}
