import type { IncomingMessage, ServerResponse } from "node:http"
import { toNodeHandler } from "./node.ts"
import { partsOf, type Service } from "./Service.ts"

interface FastifyReplyLike {
  readonly raw: ServerResponse
  readonly hijack: () => unknown
}

/** What is used of a Fastify 5 instance. */
export interface FastifyLike {
  readonly removeAllContentTypeParsers: () => unknown
  readonly addContentTypeParser: (
    type: string,
    parser: (request: unknown, payload: unknown, done: (error: Error | null, body?: unknown) => void) => void
  ) => unknown
  readonly all: (
    path: string,
    handler: (request: { readonly raw: IncomingMessage }, reply: FastifyReplyLike) => void
  ) => unknown
}

/**
 * A plugin for Fastify 5. It serves everything below the paths of `baseUrl` and `approvalUrl`; Fastify's body parsers stay as
 * they are outside of it.
 *
 * @example
 * ```ts
 * import fastify from "fastify"
 * import { svcFastify } from "svc/fastify"
 *
 * const app = fastify({ requestTimeout: 30_000 })
 * app.register(svcFastify(service))
 * ```
 */
export const svcFastify = (service: Service): ((fastify: FastifyLike) => Promise<void>) => {
  const { api, approval } = partsOf(service, "svcFastify").mounts
  return async (fastify) => {
    const handle = toNodeHandler(service)
    fastify.removeAllContentTypeParsers()
    fastify.addContentTypeParser("*", (_request, _payload, done) => done(null))
    for (const path of new Set([api.path, approval.path])) {
      for (const pattern of path === "" ? ["/*"] : [path, `${path}/*`]) {
        fastify.all(pattern, (request, reply) => {
          reply.hijack()
          handle(request.raw, reply.raw)
        })
      }
    }
  }
}
