import type { IncomingMessage, ServerResponse } from "node:http"
import { toNodeHandler } from "./node.ts"
import { partsOf, type Service } from "./Service.ts"

/**
 * Middleware for Express 5, in front of `express.json()` and other body parsers. What is not below the paths of the service
 * goes on to the next handler.
 *
 * @example
 * ```ts
 * import express from "express"
 * import { svcExpress } from "svc/express"
 *
 * const app = express()
 * app.use(svcExpress(service))
 * app.use(express.json())
 * ```
 */
export const svcExpress = (
  service: Service
): ((request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void) => {
  partsOf(service, "svcExpress")
  return toNodeHandler(service)
}
